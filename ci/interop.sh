#!/usr/bin/env bash
# Proves the reference table against Paimon implementations that we did not write: each writes every kind of table of
# ci/interop/kinds.json, each reads what the others wrote, and every read is compared with the rows that it must
# return. Sets up everything that it needs in a cache directory, once.
#
# Usage: ci/interop.sh [--kinds GLOB] [--without DRIVER]... [--offline] [--save DIRECTORY]
#   --kinds GLOB       only the kinds whose name matches, as `append-*`
#   --without DRIVER   leave out java, pypaimon or paimon-rs
#   --offline          download nothing; what is missing in the cache is an error
#   --save DIRECTORY   keep the tables of the others that ours reads as expected, with the rows expected of them
#
# Environment: LAKESTREAM_INTEROP_CACHE, by default ${XDG_CACHE_HOME:-$HOME/.cache}/lakestream-certify/interop.
# Ends with 1 if a cell that involves ours is wrong, with 2 if something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

java_version=1.4.2
hadoop_version=3.3.6
slf4j_version=1.7.36
pypaimon_version=2.1.0
rust_version=0.4.0
here="ci/interop"
cache="${LAKESTREAM_INTEROP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakestream-certify/interop}"

fail() {
  echo "interop: $1" >&2
  exit 2
}

kinds="*"
offline=false
save=""
without=" "
while (($# > 0)); do
  case "$1" in
    --kinds) kinds="${2:?expected a glob after --kinds}"; shift 2 ;;
    --without) without="$without${2:?expected a driver after --without} "; shift 2 ;;
    --offline) offline=true; shift ;;
    --save) save="${2:?expected a directory after --save}"; shift 2 ;;
    *) fail "expected --kinds, --without, --offline or --save, found $1" ;;
  esac
done

need() { command -v "$1" >/dev/null || fail "expected $1 on the path ($2), found none"; }
wanted() { [[ "$without" != *" $1 "* ]]; }

need python3 "3.9 or newer compares the answers"
need cargo "builds our own driver"
mkdir -p "$cache"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/answers" "$work/tables"
kinds_file="$work/kinds.json"
names="$(python3 "$here/kinds.py" "$here/kinds.json" "$kinds" "$kinds_file")" || fail "found no kinds to try"
names_with_commas="$(paste -sd, - <<<"$names")"

# An artifact of Maven Central, in the cache under its file name.
fetch_jar() { # group, artifact, version
  local jar="$cache/java/$2-$3.jar"
  [[ -f "$jar" ]] && return
  $offline && fail "expected $jar, found none; run once without --offline"
  need mvn "fetches jars by the machine's own settings"
  echo "fetching $2 $3" >&2
  mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.6.1:get \
    "-Dartifact=$1:$2:$3" -Dtransitive=false >&2 || fail "expected $1:$2:$3 on Maven Central, found none"
  mvn --batch-mode --quiet --offline org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    "-Dartifact=$1:$2:$3" "-DoutputDirectory=$cache/java" >&2 || fail "expected to copy $2 $3 to $cache/java"
}

set_up_java() {
  need java "17 or newer runs Java Paimon"
  need javac "17 or newer builds the driver of Java Paimon"
  mkdir -p "$cache/java"
  fetch_jar org.apache.paimon paimon-bundle "$java_version"
  # Paimon's Parquet format needs Hadoop's Configuration, and that a logger.
  fetch_jar org.apache.hadoop hadoop-client-api "$hadoop_version"
  fetch_jar org.apache.hadoop hadoop-client-runtime "$hadoop_version"
  fetch_jar org.slf4j slf4j-api "$slf4j_version"
  class_path="$cache/java/paimon-bundle-$java_version.jar:$cache/java/slf4j-api-$slf4j_version.jar"
  class_path="$class_path:$cache/java/hadoop-client-api-$hadoop_version.jar"
  class_path="$class_path:$cache/java/hadoop-client-runtime-$hadoop_version.jar"
  rm -rf "$cache/java/classes"
  javac -nowarn -d "$cache/java/classes" -cp "$class_path" "$here"/java/*.java
}

set_up_pypaimon() {
  python="$cache/python-$pypaimon_version/bin/python"
  if [[ ! -f "$cache/python-$pypaimon_version/complete" ]]; then
    $offline && fail "expected pypaimon in $cache/python-$pypaimon_version, found none; run once without --offline"
    echo "installing pypaimon $pypaimon_version" >&2
    rm -rf "$cache/python-$pypaimon_version"
    python3 -m venv "$cache/python-$pypaimon_version"
    "$python" -m pip install --quiet "pypaimon==$pypaimon_version"
    touch "$cache/python-$pypaimon_version/complete"
  fi
}

set_up_rust() {
  local options=(--quiet --locked --manifest-path "$here/rust-paimon/Cargo.toml")
  $offline && options+=(--offline)
  echo "building the driver of paimon-rs $rust_version (minutes, the first time)" >&2
  # Its own flags and target directory: our jail is not its business, and its crates are many.
  local hint=""
  $offline && hint="; run once without --offline, or --without paimon-rs"
  RUSTFLAGS="" CARGO_TARGET_DIR="$cache/rust-target" cargo build "${options[@]}" ||
    fail "expected to build the driver of paimon-rs $rust_version, found the errors above$hint"
}

set_up_ours() {
  local options=(--quiet -p models --example table_kinds)
  $offline && options+=(--offline)
  cargo build "${options[@]}" || fail "expected to build our own driver, found the errors above"
}

drive() { # driver, then the driver's command line
  local driver="$1"
  shift
  case "$driver" in
    ours) "${CARGO_TARGET_DIR:-target}/debug/examples/table_kinds" "$@" ;;
    "java-$java_version") java -Xmx1g -cp "$cache/java/classes:$class_path" Driver "$@" ;;
    "pypaimon-$pypaimon_version") "$python" "$here/python/driver.py" "$@" ;;
    "paimon-rs-$rust_version") "$cache/rust-target/debug/rust-paimon" "$@" ;;
  esac
}

drivers=(ours)
set_up_ours
if wanted java; then set_up_java; drivers+=("java-$java_version"); fi
if wanted pypaimon; then set_up_pypaimon; drivers+=("pypaimon-$pypaimon_version"); fi
if wanted paimon-rs; then set_up_rust; drivers+=("paimon-rs-$rust_version"); fi
((${#drivers[@]} > 1)) || fail "expected at least one driver of another implementation, found none"

for writer in "${drivers[@]}"; do
  echo "$writer writes" >&2
  mkdir "$work/tables/$writer"
  drive "$writer" write "$kinds_file" "$names_with_commas" "$work/tables/$writer" \
    >"$work/answers/write-$writer.json" 2>"$work/answers/write-$writer.log" ||
    { tail -5 "$work/answers/write-$writer.log" >&2; fail "the driver $writer ended with an error while writing"; }
done
for reader in "${drivers[@]}"; do
  for writer in "${drivers[@]}"; do
    echo "$reader reads what $writer wrote" >&2
    drive "$reader" read "$work/tables/$writer" "$kinds_file" "$names_with_commas" \
      >"$work/answers/read-$reader-$writer.json" 2>"$work/answers/read-$reader-$writer.log" ||
      { tail -5 "$work/answers/read-$reader-$writer.log" >&2; fail "the driver $reader ended with an error"; }
  done
done

saving=()
[[ -n "$save" ]] && saving=(--save "$save" "$work/tables")
# shellcheck disable=SC2086 # the names are words
python3 "$here/matrix.py" "$kinds_file" "$here/known.json" "$work/answers" "${saving[@]}" $names
