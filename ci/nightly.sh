#!/usr/bin/env bash
# A night's campaign within a budget of time, from a clean clone or any other: searches the known bugs from three places,
# tries pairs of crash points, and runs fresh seeds for the rest of the time, first of all those that failed on an earlier
# night. One seed in a hundred is a canary: it has a known bug and must fail, or the campaign does.
#
# Usage: ci/nightly.sh [OUT [RELEASE_BINARY]]
#   OUT             where everything is kept from night to night, by default `nightly`: seeds.jsonl, the seed database, and
#                   for each night a directory with its reports, its matrix of bugs and the bundles of failing seeds
#   RELEASE_BINARY  what to run; without it a release build is made first, which does not count as time
# Environment:
#   NIGHTLY_MINUTES the budget, by default 60
#   NIGHTLY_DATE    the night, by default today's date (UTC); seeds begin where it says, so a night can be run again
# Ends with 0 if everything held, 1 if something was violated or a bug not found, 3 for trouble (a canary passed), 2 if
# time was too short to say, 64 for wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:-nightly}"
minutes="${NIGHTLY_MINUTES:-60}"
night="${NIGHTLY_DATE:-$(date -u +%F)}"
if [[ ! "$minutes" =~ ^[1-9][0-9]*$ ]]; then
  echo "expected NIGHTLY_MINUTES to be a whole number of minutes, at least 1, found $minutes" >&2
  exit 64
fi
if [[ ! "$night" =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]]; then
  echo "expected NIGHTLY_DATE to be a day like 2026-01-31, found $night" >&2
  exit 64
fi
if [[ -n "${2:-}" ]]; then
  binary="$2"
else
  cargo build --release --quiet --locked
  binary="${CARGO_TARGET_DIR:-target}/release/lakestream-certify"
fi
here="$out/$night"
mkdir -p "$here"
build="$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
# Every night begins somewhere else, and the same night always there.
base="$(printf %s "$night" | cksum | cut -d' ' -f1)"
SECONDS=0
budget=$((minutes * 60))
echo "the night of $night: $minutes min, seeds from $base, build $build"

# worse STATUS: what the whole night ends with, by the rule for several statuses: 64, 1, 3, 2, 0.
answer=0
worse() {
  local status
  for status in 64 1 3 2 0; do
    if [[ "$1" == "$status" || "$answer" == "$status" ]]; then
      answer="$status"
      return
    fi
  done
  # None of ours: the process was ended from outside.
  answer=3
}
# A campaign answers Ctrl-C itself and ends as usual, so the shell would go on with the next one.
trap 'worse 2; exit "$answer"' INT

echo
echo "== known bugs, from three places: at most $((budget * 3 / 10)) s; those of ci/not-found-yet.txt are left out"
searched="$("$binary" list defects | awk '/^[^ ]/ { print $1 }' | grep -vxFf ci/not-found-yet.txt | paste -sd, -)"
status=0
"$binary" defects --defect "$searched" --starts 3 --time "$((budget * 3 / 10))s" --record "$here/canaries.json" \
  >"$here/defects.txt" || status=$?
# The searches that found nothing, and everything after the matrix but the table over all starts.
awk '/  (wrong  |not found)  /; /^(seeds to find|not searched|found )/ { told = 1 } told' "$here/defects.txt" | uniq
echo "the matrix: $here/defects.txt (status $status)"
worse "$status"

echo
echo "== pairs of crash points: $((budget / 10)) s"
status=0
"$binary" certify --scenario crash-pairs --from "$base" --time "$((budget / 10))s" --double 5 --quiet \
  --seed-database "$out/seeds.jsonl" --date "$night" --build "$build" --out "$here/crash-pairs" \
  >"$here/crash-pairs.txt" || status=$?
# One scenario cannot exercise every property, so that it is inconclusive says nothing.
if ((status == 2)); then
  status=0
else
  cat "$here/crash-pairs.txt"
fi
echo "$(sed -n 's/^  "seeds": \([0-9]*\),$/\1/p' "$here/crash-pairs/certificate.json") pairs were run (status $status)"
worse "$status"

canaries=()
if grep -q '@' "$here/canaries.json"; then
  canaries=(--canaries "$here/canaries.json")
else
  echo "no bug was found in the time, so no canaries are run"
  worse 2
fi
left=$((budget > SECONDS ? budget - SECONDS : 1))
echo
echo "== fresh seeds, after those that are known: $left s"
status=0
"$binary" certify --from "$base" --time "${left}s" --double 5 "${canaries[@]}" \
  --seed-database "$out/seeds.jsonl" --date "$night" --build "$build" --out "$here/campaign" || status=$?
worse "$status"

echo
"$binary" seeds "$out/seeds.jsonl" || worse $?
echo "the night of $night ends with $answer after $SECONDS s; everything is in $here"
exit "$answer"
