#!/usr/bin/env bash
# Plants each known bug, searches seeds of every scenario until its own property is violated, and replays the printed line
# in another process and in the debug build: the same trace hash, the same verdict. Builds nothing.
# Usage: ci/defects.sh [RELEASE_BINARY [DEBUG_BINARY]]
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
release="${1:-$target/release/lakestream-certify}"
debug="${2:-$target/debug/lakestream-certify}"
most_seeds=1000
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

hash_of() { sed -n 's/.*: trace hash \([0-9a-f]*\).*/\1/p' "$1" | head -1; }

# The scenarios that exercise a property.
exercising() {
  "$release" list scenarios --json | awk -v id="\"$1\"" '
    /"exercises": \[/ { within = 1; has = 0 }
    within && index($1, id) == 1 { has = 1 }
    /\]/ { within = 0 }
    /"name": / && has { gsub(/[",]/, "", $2); print $2 }'
}

missed=0
found_count=0
while read -r defect property; do
  found=""
  seeds_tried=0
  scenarios="$(exercising "$property")"
  # A part of the seeds each, so that all scenarios together stay within the limit.
  count=$(wc -w <<<"$scenarios")
  part=$((most_seeds / (count > 0 ? count : 1)))
  for scenario in $scenarios; do
    status=0
    "$release" run "$scenario" --seeds "0..$part" --defect "$defect" --out "$out/bundles" >"$out/found" 2>&1 || status=$?
    if [[ $status -eq 1 ]] && grep -q "^$property " "$out/found"; then
      found="$scenario"
      break
    fi
    seeds_tried=$((seeds_tried + part))
  done
  if [[ -z "$found" ]]; then
    echo "MISSED    $defect: no $property within $seeds_tried seeds"
    missed=$((missed + 1))
    continue
  fi
  line="$(tail -1 "$out/found")"
  expected="$(hash_of "$out/found")"
  for binary in "$release" "$debug"; do
    status=0
    # shellcheck disable=SC2086 # the line is a command line, to be split into words
    "$binary" ${line#lakestream-certify } >"$out/replayed" 2>&1 || status=$?
    if [[ $status -ne 1 || "$(hash_of "$out/replayed")" != "$expected" ]]; then
      echo "DIFFERENT $defect: $line with $binary ends with $status and hash $(hash_of "$out/replayed"), not $expected"
      missed=$((missed + 1))
    fi
  done
  found_count=$((found_count + 1))
  echo "found     $defect by $property: $line  $expected"
done < <("$release" list defects --json |
  sed -n 's/^ *"id": "\([^"]*\)",*$/\1/p; s/^ *"property": "\([^"]*\)",*$/\1/p' | paste -d ' ' - -)
if ((found_count == 0)); then
  echo "no defect was found"
  exit 1
fi
if ((missed > 0)); then
  echo "$missed defects were missed or did not replay"
  exit 1
fi
echo "$found_count planted bugs were found by their properties and replayed."
