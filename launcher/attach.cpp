// Implementation of attach.h. The JVM listens on /tmp/.java_pidN (in its own mount namespace, its
// own pid); it starts to when it gets SIGQUIT and finds a file .attach_pidN in its directory or
// /tmp.
#include "attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "clock.h"

namespace wisp {
namespace {

constexpr size_t kMaxAnswer = size_t{256} << 20;

AttachAnswer failure(const std::string& why) { return {false, why}; }

// JDK 8 talks to its own user only, not to root.
class AsUserOf {
 public:
  explicit AsUserOf(const Process& process) : was_(geteuid()), group_(getegid()) {
    struct stat info;
    if (was_ != 0 || fstat(process.directory(), &info) != 0) return;
    if (setegid(info.st_gid) == 0 && seteuid(info.st_uid) == 0) changed_ = true;
  }
  ~AsUserOf() {
    if (changed_ && (seteuid(was_) != 0 || setegid(group_) != 0)) abort();
  }

 private:
  uid_t was_;
  gid_t group_;
  bool changed_ = false;
};

// With -Xrs nobody handles SIGQUIT, and it would end the JVM.
bool handles_quit(const Process& process) {
  std::string status = process.read("status");
  size_t at = status.find("\nSigCgt:");
  if (at == std::string::npos) return false;
  uint64_t caught = strtoull(status.c_str() + at + 8, nullptr, 16);
  return (caught >> (SIGQUIT - 1) & 1) != 0;
}

int connect_to(const std::string& path) {
  struct stat info;
  // A socket of somebody else's in /tmp is none of ours.
  if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode) ||
      (info.st_uid != geteuid() && geteuid() != 0)) {
    return -1;
  }
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    close(fd);
    return -1;
  }
  memcpy(address.sun_path, path.data(), path.size());
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// The socket, made to exist if need be; -1.
int connect_listener(const Process& process, double end) {
  std::string root = fmt::format("/proc/{}/root/tmp/", process.pid());
  int inner = process.inner_pid();
  std::string path = fmt::format("{}.java_pid{}", root, inner);
  int fd = connect_to(path);
  // A stopped one would print a dump on its own stdout when it goes on, long after we have left.
  if (fd >= 0 || !handles_quit(process) || process.stopped()) return fd;
  std::string trigger = fmt::format("/proc/{}/cwd/.attach_pid{}", process.pid(), inner);
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  int file = open(trigger.c_str(), kFlags, 0600);
  if (file < 0) {
    trigger = fmt::format("{}.attach_pid{}", root, inner);
    file = open(trigger.c_str(), kFlags, 0600);
  }
  if (file < 0) return -1;
  close(file);
  kill(process.pid(), SIGQUIT);
  while (fd < 0 && monotonic_seconds() < end && process.exists()) {
    sleep_for(0.02);
    fd = connect_to(path);
  }
  unlink(trigger.c_str());
  return fd;
}

}  // namespace

AttachAnswer attach_thread_dump(const Process& process, int timeout_ms) {
  double end = monotonic_seconds() + timeout_ms / 1e3;
  AsUserOf user(process);
  int fd = connect_listener(process, end);
  if (fd < 0) return failure("the JVM does not listen (stuck, or attaching is disabled)");
  static const char kRequest[] =
      "1\0threaddump\0\0\0";  // with the literal's own end: three arguments
  AttachAnswer answer;
  if (send(fd, kRequest, sizeof kRequest, MSG_NOSIGNAL) != sizeof kRequest) {
    close(fd);
    return failure("the JVM does not listen");
  }
  for (;;) {
    int left = static_cast<int>((end - monotonic_seconds()) * 1000);
    pollfd input{fd, POLLIN, 0};
    if (left <= 0 || poll(&input, 1, left) <= 0) {
      close(fd);
      return failure("the JVM does not answer (stuck at a safepoint, out of memory, or stopped)");
    }
    char buffer[65536];
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0 || answer.text.size() > kMaxAnswer) break;
    answer.text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  size_t line = answer.text.find('\n');
  if (line == std::string::npos || answer.text.compare(0, line, "0") != 0) {
    return failure("the JVM refused: " + answer.text.substr(0, 200));
  }
  answer.text.erase(0, line + 1);
  answer.ok = true;
  return answer;
}

}  // namespace wisp
