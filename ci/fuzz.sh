#!/usr/bin/env bash
# Feeds every reader of a table's files, and the integrity check, with bytes that nobody wrote, a bounded lot each.
# A panic, an endless loop, much memory or a round trip that loses something fails it; the input that did it stays
# beneath ci/fuzz/artifacts. What a run by time tried stays beneath ci/fuzz/corpus, so the next one goes on from there.
#
# Usage: ci/fuzz.sh [SECONDS_FOR_EACH_TARGET [TARGET...]]
# Without seconds each target gets a fixed number of inputs that follow from a fixed seed, the same each time: what CI
# runs must not fail by chance.
#
# Plain cargo on a stable compiler builds it, with the flags that cargo-fuzz would give; libFuzzer is compiled from the
# sources in its crate, so a C++ compiler must be there.
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# > 0)); then
  bound=("-max_total_time=$1")
  corpora=ci/fuzz/corpus
  shift
else
  bound=(-seed=1 -runs=1500)
  # What an earlier run found would make this one try other inputs.
  corpora="$(mktemp -d)"
  trap 'rm -rf "$corpora"' EXIT
fi
targets=("$@")
if ((${#targets[@]} == 0)); then
  targets=(snapshot schema tag manifest manifest_list index_manifest binary_row deletion_vectors data_file inspect)
fi

# Coverage is counted at every edge, and what is compared is told, in our code and in the libraries alike. The target is
# named so that build scripts and macros, which have no fuzzer to link with, are built without these flags. They
# replace those of .cargo/config.toml; the readers need none.
host="$(rustc -vV | sed -n 's/^host: //p')"
flags="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
RUSTFLAGS="$flags" CARGO_INCREMENTAL=0 cargo build --quiet --locked --bins --target "$host" \
  --manifest-path ci/fuzz/Cargo.toml --target-dir ci/fuzz/target

# seed TARGET PATTERN...: every file of the fixtures with such a name, under the name of its content.
fixtures=models/tests/fixtures
seed() {
  local corpus="$corpora/$1" pattern
  mkdir -p "$corpus" "ci/fuzz/artifacts/$1"
  shift
  for pattern in "$@"; do
    find "$fixtures" -type f -path "$pattern" -size -17 -print0
  done | while IFS= read -r -d '' file; do
    cp "$file" "$corpus/seed-$(cksum <"$file" | tr ' ' -)"
  done
}

for target in "${targets[@]}"; do
  case "$target" in
    snapshot) seed "$target" '*/snapshot/snapshot-*' ;;
    tag) seed "$target" '*/tag/tag-*' '*/snapshot/snapshot-1' ;;
    schema) seed "$target" '*/schema/schema-*' ;;
    manifest) seed "$target" '*/manifest/manifest-[0-9a-f]*' ;;
    manifest_list) seed "$target" '*/manifest/manifest-list-*' ;;
    index_manifest) seed "$target" '*/manifest/index-manifest-*' ;;
    deletion_vectors) seed "$target" '*/index/index-*' ;;
    data_file) seed "$target" '*/types*/bucket-0/data-*' '*/nested*/bucket-0/data-*' '*/pk*/*/data-*' ;;
    *) seed "$target" ;;
  esac
  echo "fuzzing $target, ${bound[*]}"
  log="ci/fuzz/artifacts/$target.log"
  run=("ci/fuzz/target/$host/debug/$target" "-artifact_prefix=ci/fuzz/artifacts/$target/")
  # The crate's allocator bounds allocations: libFuzzer's -malloc_limit_mb does so in builds with a sanitizer only.
  if ! "${run[@]}" "${bound[@]}" -timeout=10 -rss_limit_mb=512 -max_len=16384 -print_final_stats=1 \
    "$corpora/$target" >"$log" 2>&1; then
    tail -n 40 "$log"
    echo "$target failed; the input is in ci/fuzz/artifacts/$target. Once more:"
    echo "  ${run[0]} $(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
    exit 1
  fi
  sed -n 's/^stat::number_of_executed_units: */  inputs tried: /p' "$log"
done
echo "Nothing was found."
