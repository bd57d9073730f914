#!/usr/bin/env bash
# Compares the trace hashes of the same seeds between the release and the debug build, each in a process of its own,
# and with each seed again in a process that ran others before it. Builds nothing.
# Usage: ci/determinism.sh [RELEASE_BINARY [DEBUG_BINARY]]
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
release="${1:-$target/release/lakestream-certify}"
debug="${2:-$target/debug/lakestream-certify}"
for binary in "$release" "$debug"; do
  [[ -x "$binary" ]] || { echo "expected a built binary at $binary, found none" >&2; exit 2; }
done

# Where the bundles of failing seeds go: nobody reads them here.
LAKESTREAM_CERTIFY_OUT="$(mktemp -d)"
export LAKESTREAM_CERTIFY_OUT
trap 'rm -rf "$LAKESTREAM_CERTIFY_OUT"' EXIT

# The trace hash of scenario $2 on seed $3, out of a run of the seeds $4 by binary $1; empty if there is none.
# A violated property or trouble (the second run of a seed differs) is no reason to stop: a hash is compared all the same.
trace_hash() {
  { "$1" run "$2" --json --jobs 1 --max-failures 1000 --seeds "$4" 2>/dev/null || true; } |
    sed -n "s/^{\"seed\":\"$2@$3\",\"trace_hash\":\"\([0-9a-f]*\)\".*/\1/p"
}

compared=0
different=0
compare() { # what, expected, found
  compared=$((compared + 1))
  if [[ -n "$2" && "$2" == "$3" ]]; then
    echo "same      $1  $2"
  else
    different=$((different + 1))
    echo "DIFFERENT $1  ${2:-no hash} and ${3:-no hash}"
  fi
}

for scenario in $("$release" list scenarios | awk '/^[^ ]/ { print $1 }'); do
  for seed in 3 11; do
    alone="$(trace_hash "$release" "$scenario" "$seed" "$seed..$((seed + 1))")"
    compare "$scenario@$seed release, debug" "$alone" \
      "$(trace_hash "$debug" "$scenario" "$seed" "$seed..$((seed + 1))")"
    compare "$scenario@$seed alone, after others" "$alone" \
      "$(trace_hash "$release" "$scenario" "$seed" "$((seed - 3))..$((seed + 1))")"
  done
done
if ((different > 0 || compared == 0)); then
  echo "$different of $compared comparisons differ"
  exit 1
fi
echo "All $compared comparisons of trace hashes agree."
