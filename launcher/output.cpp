// Implementation of output.h.
#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "run_java.h"

namespace wisp {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int print_output(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return 0;
  if (errno != EPIPE) {
    print_error(fmt::format("wisp: cannot write standard output: {}\n", strerror(errno)));
  }
  return kExitFailure;
}

void print_error(std::string_view lines) { (void)write_all(STDERR_FILENO, lines); }

}  // namespace wisp
