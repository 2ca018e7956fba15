// Implementation of process.h.
#include "process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "jvm/java_args.h"

namespace wisp {
namespace {

constexpr size_t kMaxFile = 1 << 20;

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string base_name(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> entries(int directory, const char* name) {
  std::vector<std::string> result;
  int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return result;
  DIR* dir = fdopendir(fd);
  if (dir == nullptr) {
    close(fd);
    return result;
  }
  while (dirent* entry = readdir(dir)) {
    if (entry->d_name[0] != '.') result.emplace_back(entry->d_name);
  }
  closedir(dir);
  return result;
}

}  // namespace

Process::Process(int pid) : pid_(pid) {
  std::string path = fmt::format("/proc/{}", pid);
  directory_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

Process::~Process() {
  if (directory_ >= 0) close(directory_);
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_), directory_(std::exchange(other.directory_, -1)) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(directory_, other.directory_);
  return *this;
}

std::string Process::read(const char* name) const {
  std::string text;
  int fd = openat(directory_, name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  ssize_t n;
  while (text.size() < kMaxFile && (n = ::read(fd, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

char Process::state() const {
  if (directory_ < 0) return 'X';
  std::string stat = read("stat");
  size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos || after_name + 2 >= stat.size()) return 'X';
  return stat[after_name + 2];
}

bool Process::exists() const {
  char now = state();
  return now != 'Z' && now != 'X';
}

bool Process::stopped() const {
  char now = state();
  return now == 'T' || now == 't';
}

bool Process::permitted() const {
  int fd = openat(directory_, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  close(fd);
  return true;
}

uid_t Process::user() const {
  struct stat info;
  return fstat(directory_, &info) == 0 ? info.st_uid : static_cast<uid_t>(-1);
}

std::vector<std::string> Process::arguments() const {
  std::vector<std::string> result;
  std::string text = read("cmdline");
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\0', at), text.size());
    result.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return result;
}

std::string Process::title() const {
  std::vector<std::string> args = arguments();
  if (args.empty()) return "?";
  if (base_name(args[0]) != "java") return base_name(args[0]);
  for (size_t i = 1; i < args.size(); i++) {
    if (args[i] == "-jar" || args[i] == "-m" || args[i] == "--module") {
      return i + 1 < args.size() ? base_name(args[i + 1]) : "java";
    }
    if (java_option_takes_value(args[i].c_str())) {
      i++;
    } else if (!starts_with(args[i], "-") && !starts_with(args[i], "@")) {
      return args[i];
    }
  }
  return "java";
}

int Process::inner_pid() const {
  std::string status = read("status");
  size_t line = status.find("\nNSpid:");
  if (line == std::string::npos) return pid_;
  size_t end = std::min(status.find('\n', line + 1), status.size());
  std::string last = status.substr(line, end - line);
  size_t blank = last.find_last_of(" \t");
  return blank == std::string::npos ? pid_ : atoi(last.c_str() + blank + 1);
}

int Process::open_descriptor(const std::string& link, int flags) const {
  if (!permitted()) return -1;
  for (const std::string& name : entries(directory_, "fd")) {
    char target[PATH_MAX];
    std::string path = "fd/" + name;
    ssize_t n = readlinkat(directory_, path.c_str(), target, sizeof target);
    if (n < static_cast<ssize_t>(link.size()) || memcmp(target, link.data(), link.size()) != 0) {
      continue;
    }
    return openat(directory_, path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  errno = ENOENT;
  return -1;
}

std::vector<int> all_pids() {
  std::vector<int> result;
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return result;
  for (const std::string& name : entries(proc, ".")) {
    if (int pid = parse_pid(name); pid > 0) result.push_back(pid);
  }
  close(proc);
  std::sort(result.begin(), result.end());
  return result;
}

int parse_pid(const std::string& text) {
  if (text.empty() || text.size() > 9) return 0;
  for (char c : text) {
    if (c < '0' || c > '9') return 0;
  }
  return atoi(text.c_str());
}

}  // namespace wisp
