#!/bin/sh
# Cross-compiles the architecture-specific parts for 64-bit ARM and runs their unit tests under
# qemu-user. Needs g++-aarch64-linux-gnu, qemu-user and googletest (Debian names).
#   tests/aarch64/run.sh [build directory] [ctest arguments...]
# Exit status 77 ("skipped" for ctest) when a tool is missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/build/aarch64}
[ $# -eq 0 ] || shift

for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -f /usr/src/googletest/CMakeLists.txt ] || { echo "skipped: no googletest sources"; exit 77; }

cmake -S "$here" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/aarch64-linux-gnu.cmake" >/dev/null
cmake --build "$build" --parallel "${WISP_JOBS:-2}"
exec ctest --test-dir "$build" --output-on-failure "$@"
