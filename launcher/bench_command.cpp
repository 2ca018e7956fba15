// Implementation of bench_command.h.
#include "bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "jdk.h"
#include "output.h"
#include "run_java.h"

namespace fs = std::filesystem;

namespace wisp {
namespace {

// PREFIX/bin/wisp with PREFIX/share/wisp/scripts/bench, or CHECKOUT/build/bin/wisp with
// CHECKOUT/scripts/bench.
std::string harness() {
  std::error_code ignored;
  fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../share/wisp/scripts/bench", "../../scripts/bench"}) {
    fs::path file = (bin / place).lexically_normal();
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return {};
}

}  // namespace

int run_bench_command(int argc, char** argv) {
  std::string script = harness();
  if (script.empty()) {
    print_error(fmt::format(
        "wisp bench: its programs are not here: neither ../share/wisp/scripts/bench nor "
        "../../scripts/bench beside the command; install wisp again\n"));
    return kExitFailure;
  }
  std::optional<std::string> python = find_on_path("python3");
  if (!python) {
    print_error(
        fmt::format("wisp bench: needs Python 3, and there is no python3 on PATH; Debian: apt-get "
                    "install python3\n"));
    return kExitFailure;
  }
  // The harness measures the library beside this command, and says which one it was.
  if (getenv("WISP_HOME") == nullptr) setenv("WISP_LIB", own_library().c_str(), 0);
  setenv("WISP_VERSION", WISP_VERSION, 1);
  std::vector<char*> args = {python->data(), script.data()};
  args.insert(args.end(), argv + 1, argv + argc);
  args.push_back(nullptr);
  execv(python->c_str(), args.data());
  print_error(fmt::format("wisp bench: {}: {}\n", *python, strerror(errno)));
  return kExitFailure;
}

}  // namespace wisp
