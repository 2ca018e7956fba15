#!/usr/bin/env bash
# The ways to start Wisp that need no word before `java`, with the real library on JDK 8, 17 and 25 (of
# these what is here, else the newest): the agent, by option and by JAVA_TOOL_OPTIONS, and the home that
# `wisp jdk` makes. Each keeps process id, arguments, standard input and exit code, and runs under Wisp
# once, which the library's own counters prove; the home's java without the flag runs plain.
#   tests/library/starts_test.sh BUILD-FOLDER
# Ends with 77 (skipped) where there is no JDK.
set -euo pipefail
build=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
library=$build/lib/libwisp.so

jdks=$("$root/scripts/list-jdks" 2> /dev/null | awk -F'\t' '
  { newest = $3; of[$1] = $3 }
  END { n = split("8 17 25", majors, " ")
        for (i = 1; i <= n; i++) if (majors[i] in of) { print of[majors[i]]; any = 1 }
        if (!any && newest) print newest }')
[ -n "$jdks" ] || { echo "SKIPPED: no JDK found"; exit 77; }
javac --release 8 -Xlint:-options -d "$scratch" "$root/tests/launcher/Probe.java"
probe=(-cp "$scratch" Probe)

fail() {
  echo "FAILED: $jdk: $*"
  printf '%s\n' "exit code $status, process $pid" "--- stdout" "$(< "$scratch/out")" "--- stderr" "$(< "$scratch/err")"
  exit 1
}

# run [NAME=VALUE...] COMMAND...: of it $status and $pid, its output in the files out and err.
run() {
  status=0
  # shellcheck disable=SC2016  # the inner shell's own
  env -i PATH=/usr/bin:/bin HOME="$scratch" WISP_STATS=1 timeout -k 5 120 \
    bash -c 'echo $$ > "$0"; exec env "$@"' "$scratch/pid" "$@" \
    > "$scratch/out" 2> "$scratch/err" <<< hello || status=$?
  pid=$(< "$scratch/pid")
}
says() { grep -qx -- "$1" "$scratch/out" || fail "no line '$1'"; }
is_under_wisp() {
  [ "$(grep -c '^wisp: tasks=[1-9]' "$scratch/err")" = 1 ] || fail "$1: not under Wisp, or twice"
}
is_plain() { ! grep -q '^wisp:' "$scratch/err" || fail "$1: under Wisp"; }

for jdk in $jdks; do
  status='-' pid='-'
  run WISP_VERBOSE=1 "$jdk/bin/java" "-agentpath:$library=carriers=3" "${probe[@]}" stdin 'a b' ''
  is_under_wisp "agent"
  [ "$status" = 0 ] || fail "agent: exit code $status"
  says "pid=$pid" && says 'arg=a b' && says 'arg=' && says 'stdin=hello'
  grep -q '^wisp: on, 3 carriers' "$scratch/err" || fail "agent: its options did not arrive"

  run "JAVA_TOOL_OPTIONS=-agentpath:$library" "$jdk/bin/java" "${probe[@]}" exit 5
  is_under_wisp "JAVA_TOOL_OPTIONS"
  [ "$status" = 5 ] || fail "JAVA_TOOL_OPTIONS: exit code $status"
  says "pid=$pid" && says 'arg=exit'

  run "$build/bin/wisp" jdk "$jdk" --output "$scratch/home"
  [ "$status" = 0 ] || fail "wisp jdk: exit code $status"
  home=$(< "$scratch/out")
  run "$home/bin/java" -XX:+UseWisp2 "${probe[@]}" exit 6
  is_under_wisp "$home"
  [ "$status" = 6 ] || fail "$home: exit code $status"
  says "pid=$pid" && says "home=$home.*"
  run "$home/bin/java" "${probe[@]}" exit 7
  is_plain "$home"
  [ "$status" = 7 ] || fail "$home, plain: exit code $status"
  says "pid=$pid" && says "home=$home.*"
  rm -rf "$scratch/home"

  # Without these calls a wait could last for ever, or fail that would not on plain threads, so there are no tasks.
  for call in membarrier rt_tgsigqueueinfo ppoll accept4 dup3 waitid; do
    run python3 "$root/tests/refuse.py" "$call=EPERM" "$build/bin/wisp" java --jdk "$jdk" -XX:+UseWisp2 "${probe[@]}" exit 8
    [ "$status" != 125 ] || { echo "no seccomp filters here"; break; }
    [ "$status" = 8 ] || fail "$call refused: exit code $status"
    grep -qxF "wisp: running on plain threads: the kernel refuses $call(2)" "$scratch/err" || fail "$call refused: no word of it"
    ! grep -q '^wisp: tasks=[1-9]' "$scratch/err" || fail "$call refused: under Wisp"
  done
  # Without these there are: what is read and written by pipes arrives.
  if [ "$status" != 125 ]; then
    # shellcheck disable=SC2016  # the inner shell's own
    run bash -o pipefail -c 'echo hello | python3 "$@" | cat' - "$root/tests/refuse.py" preadv2=EPERM,pwritev2=EPERM \
      "$build/bin/wisp" java --jdk "$jdk" -XX:+UseWisp2 "${probe[@]}" stdin
    is_under_wisp "preadv2 and pwritev2 refused"
    [ "$status" = 0 ] || fail "preadv2 and pwritev2 refused: exit code $status"
    says 'arg=stdin' && says 'stdin=hello'
  fi
  echo "$jdk: agent, JAVA_TOOL_OPTIONS and the home's java with and without the flag, needed calls refused"
done
