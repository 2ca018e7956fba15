// Implementation of memory_file.h.
#include "memory_file.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "output.h"

namespace wisp {

std::optional<std::string> in_memory(const std::string& name, std::string_view text) {
  // Without MFD_CLOEXEC: the JVM is to inherit it.
  int file = memfd_create(name.substr(name.rfind('/') + 1).substr(0, 200).c_str(), 0);
  if (file < 0) return std::nullopt;
  // Larger than a file may be (ulimit -f) is an error then, not this command's end.
  auto inherited = signal(SIGXFSZ, SIG_IGN);
  bool written = write_all(file, text);
  signal(SIGXFSZ, inherited);
  if (written) return fmt::format("/proc/self/fd/{}", file);
  int saved = errno;
  close(file);
  errno = saved;
  return std::nullopt;
}

}  // namespace wisp
