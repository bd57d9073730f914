#!/usr/bin/env bash
# Feeds every decoder and the integrity check with bytes that nobody wrote, for a bounded time each. A crash, a hang of
# ten seconds, or more than 1 GiB of memory ends it with the input that did it, beneath ci/fuzz/artifacts.
# Usage: ci/fuzz.sh [SECONDS_FOR_EACH_TARGET [TARGET…]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-20}"
shift || true
targets=("$@")
if ((${#targets[@]} == 0)); then
  targets=(snapshot schema manifest manifest_list index_manifest deletion_vectors data_file inspect)
fi

if ! command -v cargo-fuzz >/dev/null; then
  if ! cargo install --quiet --locked cargo-fuzz; then
    echo "Nothing was fuzzed: cargo-fuzz is not there and could not be installed."
    exit 0
  fi
fi

# cargo-fuzz sets RUSTFLAGS, so the switches of .cargo/config.toml do not reach this build. The decoders need none.
fixtures=models/tests/fixtures
for target in "${targets[@]}"; do
  corpus="ci/fuzz/corpus/$target"
  mkdir -p "$corpus"
  case "$target" in
    snapshot) pattern='snapshot-*' ;;
    schema) pattern='schema-*' ;;
    manifest) pattern='manifest-[0-9a-f]*' ;;
    manifest_list) pattern='manifest-list-*' ;;
    data_file) pattern='data-*' ;;
    *) pattern='' ;;
  esac
  if [[ -n "$pattern" ]]; then
    find "$fixtures" -type f -name "$pattern" -exec cp {} "$corpus" \;
  fi
  echo "fuzzing $target for $seconds s"
  # Without a sanitizer the stable compiler builds it: this code has no unsafe block for one to watch.
  cargo fuzz run --fuzz-dir ci/fuzz --sanitizer none "$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1
done
echo "Nothing was found."
