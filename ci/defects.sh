#!/usr/bin/env bash
# Plants known bugs one by one, searches seeds until a property of the bug's own is violated (the `defects` command), and
# replays each hit in other processes, with the release and with the debug build: the same trace hash, the same verdict.
# Builds nothing.
# Usage: ci/defects.sh [RELEASE_BINARY [DEBUG_BINARY]]
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
release="${1:-$target/release/lakestream-certify}"
debug="${2:-$target/debug/lakestream-certify}"
matrix="$(mktemp)"
trap 'rm -f "$matrix" "$matrix.replayed"' EXIT

searched="$("$release" list defects | awk '/^[^ ]/ { print $1 }' | grep -vxFf ci/not-found-yet.txt | paste -sd, -)"
status=0
"$release" defects --json --defect "$searched" >"$matrix" || status=$?

different=0
replayed=0
while read -r defect scenario seed expected; do
  for binary in "$release" "$debug"; do
    ended=0
    "$binary" replay "$scenario@$seed" --defect "$defect" >"$matrix.replayed" 2>&1 || ended=$?
    found="$(sed -n 's/.*: trace hash \([0-9a-f]*\).*/\1/p' "$matrix.replayed" | head -1)"
    if [[ $ended -ne 1 || "$found" != "$expected" ]]; then
      echo "DIFFERENT $defect in $scenario@$seed: $binary ends with $ended and hash $found, not $expected"
      different=$((different + 1))
    fi
  done
  replayed=$((replayed + 1))
done < <(awk '
  # The fields of one search come in alphabetical order, so the trace hash is the last that is wanted.
  $1 == "\"id\":" || $1 == "\"scenario\":" || $1 == "\"seed\":" { gsub(/[",]/, "", $2); field[$1] = $2 }
  $1 == "\"trace_hash\":" && $2 != "null," {
    gsub(/[",]/, "", $2)
    print field["\"id\":"], field["\"scenario\":"], field["\"seed\":"], $2
  }' "$matrix")

if ((replayed == 0)); then
  echo "no bug was found, so nothing was replayed"
  exit 1
fi
if ((different > 0)); then
  echo "$different replays differ"
  exit 1
fi
echo "$replayed planted bugs replayed in release and debug; not found yet: $(grep -v '^#' ci/not-found-yet.txt | paste -sd' ' -)"
exit "$status"
