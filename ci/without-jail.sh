#!/usr/bin/env bash
# Builds and tests everything without the two cfgs of .cargo/config.toml: the jail is a bonus, never a need.
# RUSTFLAGS in the environment replaces the flags of the configuration file, as it would in a vendor's build.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="-C debuginfo=0"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/without-jail"
# Planted bugs are searched with the jail: their runs are the same runs.
cargo test --workspace -- --skip every_defect_is_found_by_its_property
# As many seeds as .ci/run takes with the jail: the same seeds reach the same, so this is conclusive if that is.
"$CARGO_TARGET_DIR/debug/lakestream-certify" certify --seeds 200 --out "$(mktemp -d)" --quiet
