// Other processes, as /proc shows them. One descriptor of /proc/PID is kept, so that whatever is
// read later is of the same process even if its number is used again.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wisp {

class Process {
 public:
  Process() = default;
  explicit Process(int pid);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  int pid() const { return pid_; }
  bool exists() const;     // it has not ended (a zombie has)
  bool stopped() const;    // by SIGSTOP or a debugger
  bool permitted() const;  // its descriptors can be looked at: same user, or root
  uid_t user() const;
  std::string read(const char* name) const;  // of /proc/PID/name, at most 1 MiB
  std::vector<std::string> arguments() const;
  // What jps prints: the main class or jar, else the program's name.
  std::string title() const;
  int inner_pid() const;  // in its own pid namespace
  // Opens /proc/PID/fd/N of the first descriptor whose link begins with `link`; -1 and errno.
  int open_descriptor(const std::string& link, int flags) const;
  int directory() const { return directory_; }

 private:
  char state() const;  // as in /proc/PID/stat
  int pid_ = 0;
  int directory_ = -1;
};

// In ascending order; none where /proc cannot be read.
std::vector<int> all_pids();
// 0: not a positive number of a sane size.
int parse_pid(const std::string& text);

}  // namespace wisp
