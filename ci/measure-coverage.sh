#!/usr/bin/env bash
# Measures which points of `list coverage` a campaign must have been at, and writes them where the next build reads them.
# To be run, and its change to be looked at, after points, faults or scenarios were added. Builds nothing.
# Usage: ci/measure-coverage.sh [RELEASE_BINARY]
set -euo pipefail
cd "$(dirname "$0")/.."
binary="${1:-${CARGO_TARGET_DIR:-target}/release/lakestream-certify}"
list=harness/src/coverage/required.txt
before="$(mktemp)"
trap 'rm -f "$before"' EXIT
cp "$list" "$before"
"$binary" measure-coverage --write "$list"
diff "$before" "$list" | sed -n 's/^</no longer required:/p; s/^>/now required:/p' || true
echo "$(grep -vc '^#' "$list") of $("$binary" list coverage | grep -c '^[^ ]') points are required; build again to ask for them"
