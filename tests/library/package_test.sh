#!/usr/bin/env bash
# What `make install PREFIX=` and the tar.gz of `make package` leave somewhere else runs a program
# under Wisp where neither a compiler nor anything else is on PATH; these two and the .deb hold the
# same files; and what the installed pages link to is there.
#   tests/library/package_test.sh BUILD-FOLDER
# Ends with 77 (skipped) where there is no JDK.
set -euo pipefail
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jdk=$("$root/scripts/list-jdks" 2>&1 | awk -F'\t' '{ home = $3 } END { print home }')
[ -n "$jdk" ] || { echo "SKIPPED: no JDK found"; exit 77; }

fail() {
  echo "FAILED: $*"
  exit 1
}

cat > "$scratch/Hello.java" <<'JAVA'
public class Hello {
    public static void main(String[] args) throws InterruptedException {
        Thread thread = new Thread(() -> System.out.println("Hello, " + args[0]));
        thread.start();
        thread.join();
    }
}
JAVA
javac --release 8 -Xlint:-options -d "$scratch" "$scratch/Hello.java"
version=$(awk '/^project\(wisp VERSION/ { print $3 }' "$root/CMakeLists.txt")

# runs_from TREE: the command says which it is, and a program runs under the library beside it.
runs_from() {
  local tree=$1 output
  output=$(env -i PATH=/nowhere "$tree/bin/wisp" --version 2>&1) || fail "$tree: --version: $output"
  [[ $output == *"$version"* ]] || fail "$tree: --version says '$output', not $version"
  output=$(env -i PATH=/nowhere WISP_STATS=1 "$tree/bin/wisp" java --jdk "$jdk" -XX:+UseWisp2 \
    -cp "$scratch" Hello you 2>&1) || fail "$tree: exit code $?: $output"
  grep -qx 'Hello, you' <<< "$output" || fail "$tree: $output"
  grep -q '^wisp: tasks=[1-9]' <<< "$output" || fail "$tree: not under Wisp: $output"
}

# links_of TREE: the files that links of its pages name.
links_of() {
  local page target pages=0 links=0
  for page in "$1"/share/doc/wisp/*.md; do
    pages=$((pages + 1))
    while read -r target; do
      links=$((links + 1))
      [ -e "${page%/*}/$target" ] || fail "${page#"$1"/} links to $target, which is not there"
    done < <(grep -oP '\]\(\K[^)#]+' "$page" | grep -v '^[a-z]*:' | sort -u)
  done
  [ "$pages" -gt 3 ] && [ "$links" -gt 5 ] || fail "$pages pages with $links links"
}

# Of what is built: -o all spares a second build in the midst of a test.
make -C "$root" -s -o all install BUILD="$build" PREFIX="$scratch/prefix" > "$scratch/install.log" 2>&1 \
  || { cat "$scratch/install.log"; fail "make install"; }
runs_from "$scratch/prefix"
links_of "$scratch/prefix"

(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$scratch/made" > cpack.log 2>&1) \
  || { cat "$scratch/cpack.log"; exit 1; }
mkdir "$scratch/elsewhere"
tar -xzf "$scratch"/made/*.tar.gz -C "$scratch/elsewhere" --strip-components=1
runs_from "$scratch/elsewhere"

dpkg-deb -x "$scratch"/made/*.deb "$scratch/deb"
diff -r "$scratch/elsewhere" "$scratch/deb/usr"
diff -r "$scratch/elsewhere" "$scratch/prefix"
echo "make install, tar.gz and .deb hold the same files; ran $jdk from the first two"
