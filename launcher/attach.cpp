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
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "clock.h"

namespace wisp {
namespace {

constexpr size_t kMaxAnswer = size_t{256} << 20;
constexpr time_t kTriggerSeconds = 300;

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

// A socket of somebody else's in /tmp is none of ours.
bool is_listener(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) &&
         (info.st_uid == geteuid() || geteuid() == 0);
}

int connect_to(const std::string& path) {
  if (!is_listener(path)) return -1;
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

// The file by which the JVM knows what the signal is for. Without it, and also at a second signal,
// it prints a dump on the program's own output: so the file has to be there when the JVM looks,
// which may be long after our time is over (its dispatcher waits for the end of a safepoint), and
// as long as it is there nobody needs to ask again.
class Trigger {
 public:
  Trigger(const Process& process, const std::string& tmp)
      : process_(process), name_(fmt::format(".attach_pid{}", process.inner_pid())) {
    for (const std::string& place : {fmt::format("/proc/{}/cwd", process.pid()), tmp}) {
      // Kept open: the way through /proc ends with the process.
      directory_ = open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
      if (directory_ < 0) continue;
      asked_before_ = fresh();
      if (asked_before_ || make()) return;
      close(directory_);
      directory_ = -1;
    }
  }
  Trigger(const Trigger&) = delete;
  Trigger& operator=(const Trigger&) = delete;
  ~Trigger() {
    if (directory_ < 0) return;
    remove();
    close(directory_);
  }

  bool set() const { return directory_ >= 0; }
  bool asked_before() const { return asked_before_; }
  // Another process takes the file away, when the JVM listens or has ended, or after minutes.
  void leave(const std::string& socket) {
    if (directory_ < 0 || asked_before_) return;
    pid_t child = fork();
    if (child == 0) {
      let_go_of_everything();
      double end = monotonic_seconds() + kTriggerSeconds;
      while (monotonic_seconds() < end && process_.exists() && !is_listener(socket)) sleep_for(0.1);
      remove();
      _exit(0);
    }
    if (child < 0) return;
    close(directory_);
    directory_ = -1;
  }

 private:
  bool fresh() const {
    struct stat info;
    return fstatat(directory_, name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           info.st_uid == geteuid() && time(nullptr) - info.st_mtime < kTriggerSeconds;
  }
  bool make() const {
    int file = openat(directory_, name_.c_str(),
                      O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return false;
    close(file);
    return true;
  }
  void remove() const {
    if (!asked_before_) unlinkat(directory_, name_.c_str(), 0);
  }
  // Whoever waits for the end of our output, or for our terminal, does not wait for the child.
  void let_go_of_everything() const {
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd : {0, 1, 2}) dup2(null, fd);
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < std::min(most, 4096L); fd++) {
      if (fd != directory_ && fd != process_.directory()) close(fd);
    }
  }

  const Process& process_;
  std::string name_;
  int directory_ = -1;
  bool asked_before_ = false;  // by another of us, or by jcmd
};

// The socket, made to exist if need be; -1.
int connect_listener(const Process& process, double end) {
  std::string tmp = fmt::format("/proc/{}/root/tmp/", process.pid());
  std::string path = fmt::format("{}.java_pid{}", tmp, process.inner_pid());
  int fd = connect_to(path);
  if (fd >= 0 || monotonic_seconds() >= end) return fd;
  // A stopped one would start to listen when it goes on, long after we have left.
  if (!handles_quit(process) || process.stopped()) return -1;
  Trigger trigger(process, tmp);
  if (!trigger.set()) return -1;
  if (!trigger.asked_before()) kill(process.pid(), SIGQUIT);
  while (fd < 0 && monotonic_seconds() < end && process.exists()) {
    sleep_for(0.02);
    fd = connect_to(path);
  }
  if (fd < 0 && process.exists()) trigger.leave(path);
  return fd;
}

}  // namespace

AttachAnswer attach_thread_dump(const Process& process, int timeout_ms) {
  double end = monotonic_seconds() + timeout_ms / 1e3;
  AsUserOf user(process);
  int fd = connect_listener(process, end);
  if (fd < 0 && timeout_ms <= 0) return failure("the JVM was not asked: there was no time");
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
