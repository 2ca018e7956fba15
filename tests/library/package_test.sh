#!/usr/bin/env bash
# The tar.gz of `make package`, unpacked elsewhere, starts a JVM under Wisp where neither a compiler
# nor anything else is on PATH; and the .deb holds the same files.
#   tests/library/package_test.sh BUILD-FOLDER
# Ends with 77 (skipped) where there is no JDK.
set -euo pipefail
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jdk=$("$(dirname "$0")/../../scripts/list-jdks" 2>&1 | awk -F'\t' '{ home = $3 } END { print home }')
[ -n "$jdk" ] || { echo "SKIPPED: no JDK found"; exit 77; }

(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$scratch/made" > cpack.log 2>&1) \
  || { cat "$scratch/cpack.log"; exit 1; }
mkdir "$scratch/elsewhere"
tar -xzf "$scratch"/made/*.tar.gz -C "$scratch/elsewhere" --strip-components=1
output=$(env -i PATH=/nowhere WISP_STATS=1 \
  "$scratch/elsewhere/bin/wisp" java --jdk "$jdk" -XX:+UseWisp2 -version 2>&1)
grep -q '^wisp: tasks=[1-9]' <<< "$output" \
  || { echo "FAILED: not under Wisp from the unpacked tar.gz:"; echo "$output"; exit 1; }

dpkg-deb -x "$scratch"/made/*.deb "$scratch/deb"
diff -r "$scratch/elsewhere" "$scratch/deb/usr"
echo "tar.gz and .deb hold the same files; ran $jdk from an unpacked tree"
