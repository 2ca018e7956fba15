// Children that end, stop, go on, and what waits for that. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

namespace {

// R, S, T and so on; 0: there is none any more.
char state_of(pid_t pid) {
  char text[300] = {};
  int fd = open(text_of("/proc/%d/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
  long n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0) close(fd);
  const char* end = n > 0 ? strrchr(text, ')') : nullptr;
  return end != nullptr ? end[2] : 0;
}

bool has_ended(pid_t pid) {
  char state = state_of(pid);
  return state == 0 || state == 'Z' || state == 'X';
}

// It is there, and does nothing any more until its command pipe is closed.
pid_t begin(int in, int command, bool heir, bool by_spawn) {
  if (by_spawn) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    if (!heir) posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    char name[] = "cat", *words[] = {name, nullptr}, *none[] = {nullptr};
    pid_t pid = -1;
    errno = posix_spawn(&pid, "/bin/cat", &actions, nullptr, words, none);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  pid_t pid = fork();
  if (pid != 0) return pid;
  char c;
  close(command);
  if (!heir && in > 3) close_range(3, static_cast<unsigned>(in - 1), 0);
  if (!heir) close_range(static_cast<unsigned>(in + 1), ~0u, 0);
  while (read(in, &c, 1) < 0) {
  }
  _exit(7);
}

std::optional<Op> child_begins(Model& m) {
  if (m.child.pid != 0 || m.edges) return {};
  // Of what the child keeps instances made later are told nothing (docs/compatibility.md); a
  // terminal says first one thing, then another.
  bool heir = m.random.one_in(2) && !has_kind(m, Kind::Epoll) && !has_kind(m, Kind::Terminal);
  bool by_spawn = m.random.one_in(3);
  Op op;
  op.text = text_of("%s%s", by_spawn ? "program" : "child", heir ? " that keeps all" : "");
  op.may_wait = false;
  op.run = [&m, heir, by_spawn] {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return answer(-1);
    pid_t pid = begin(ends[0], ends[1], heir, by_spawn);
    close(ends[0]);
    m.child = {pid, ends[1], heir};
    return std::string(pid > 0 ? "ok" : "none");
  };
  op.stirs = true;
  op.expects = [&m] { return state_of(m.child.pid) == 'S'; };
  return op;
}

// Of all that an heir closes at once nobody is told of two things.
bool may_end(Model& m) {
  if (m.child.pid <= 0) return false;
  if (!m.child.heir) return true;
  for (const File& f : m.files)
    if (f.choked || (f.kind == Kind::Epoll && f.watch != 0)) return false;
  for (Worker* w : m.steps.workers()) {
    int watched = 0;
    for (const Hold& h : w->op.holds) watched += h.use == Use::Watch;
    if (watched > 1) return false;
  }
  return true;
}

std::optional<Op> child_ends(Model& m) {
  if (m.child.command < 0 || !may_end(m)) return {};
  bool by_signal = m.random.one_in(3);
  if (!by_signal && state_of(m.child.pid) == 'T') return {};
  Op op;
  op.text = by_signal ? "death of the child" : "end of the child";
  op.may_wait = false;
  op.stirs = true;
  op.expects = [pid = m.child.pid] { return has_ended(pid); };
  op.run = [&m, by_signal] {
    if (by_signal) kill(m.child.pid, SIGKILL);
    close(m.child.command);
    m.child.command = -1;
    return std::string("ok");
  };
  return op;
}

std::optional<Op> child_stops(Model& m) {
  if (m.child.pid <= 0 || m.child.command < 0) return {};
  bool stops = m.random.one_in(2);
  Op op;
  op.text = stops ? "stop of the child" : "the child goes on";
  op.may_wait = false;
  op.stirs = true;
  op.expects = [pid = m.child.pid, stops] { return state_of(pid) == (stops ? 'T' : 'S'); };
  op.run = [pid = m.child.pid, stops] { return answer(kill(pid, stops ? SIGSTOP : SIGCONT)); };
  return op;
}

std::optional<Op> child_file(Model& m) {
  if (m.child.pid <= 0 || m.free_slots() < 1 || has_kind(m, Kind::Child)) return {};
  Op op;
  op.text = "pidfd";
  op.may_wait = false;
  auto made = std::make_shared<int>(-1);
  op.run = [made, pid = m.child.pid] {
    *made = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    return *made >= 0 ? std::string("ok") : answer(-1);
  };
  op.after = [&m, made] {
    if (*made >= 0) printf("    s%d\n", m.put(*made, m.add_file(Kind::Child)));
  };
  return op;
}

struct Wait {
  const char* name;
  bool by_id;  // waitid
  int flags;
  bool any = false, by_file = false;
};
constexpr Wait kWaits[] = {{"waitpid", false, 0},
                           {"waitpid of any", false, 0, true},
                           {"waitpid WNOHANG", false, WNOHANG | WUNTRACED | WCONTINUED},
                           {"waitpid or stopped", false, WUNTRACED},
                           {"waitpid or goes on", false, WCONTINUED},
                           {"wait4 of any or both", false, WUNTRACED | WCONTINUED, true},
                           {"waitid WNOWAIT", true, WEXITED | WNOWAIT},
                           {"waitid", true, WEXITED},
                           {"waitid stopped", true, WSTOPPED},
                           {"waitid stopped WNOWAIT", true, WSTOPPED | WNOWAIT},
                           {"waitid goes on", true, WCONTINUED},
                           {"waitid of any of all", true, WEXITED | WSTOPPED | WCONTINUED, true},
                           {"waitid WNOHANG", true, WEXITED | WSTOPPED | WNOHANG},
                           {"waitid by pidfd", true, WEXITED, false, true}};

Op wait_of(Model& m, const Wait& w, int fd) {
  Op op;
  op.text = w.name;
  op.may_wait = (w.flags & WNOHANG) == 0;
  op.may_leave = op.may_wait;
  if (op.may_wait) op.holds = {{Use::In, m.waits}};
  if (op.may_wait && !w.by_file)
    op.again = [&m, &w, pid = m.child.pid]() -> std::optional<Op> {
      if (m.child.pid != pid || pid <= 0) return {};
      return wait_of(m, w, -1);
    };
  auto gone = std::make_shared<bool>(false);
  op.run = [&w, gone, pid = m.child.pid, fd] {
    int status = 0;
    siginfo_t info{};
    rusage usage;
    if (!w.by_id) {
      pid_t r = w.any && w.flags != 0 ? wait4(-1, &status, w.flags, &usage)
                                      : waitpid(w.any ? -1 : pid, &status, w.flags);
      *gone = r > 0 && (WIFEXITED(status) || WIFSIGNALED(status));
      return r > 0 ? text_of("it, %x", static_cast<unsigned>(status)) : answer(r);
    }
    int r = waitid(w.by_file ? P_PIDFD
                   : w.any   ? P_ALL
                             : P_PID,
                   static_cast<id_t>(w.by_file ? fd : pid), &info, w.flags);
    *gone = r == 0 && (w.flags & WNOWAIT) == 0 && info.si_pid == pid &&
            (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED);
    return answer(r) + text_of(", code %d status %d", info.si_code, info.si_status);
  };
  op.after = [&m, gone] {
    if (!*gone) return;
    if (m.child.command >= 0) close(m.child.command);
    m.child = ChildProcess{};
  };
  return op;
}

std::optional<Op> child_waits(Model& m) {
  if (m.child.pid <= 0 || m.files[static_cast<size_t>(m.waits)].in != 0) return {};
  // Its pidfd says HUP once it is waited for.
  for (int i = 0; i < kSlots; ++i)
    if (m.slots[i].file >= 0 && m.file(i).kind == Kind::Child && m.watched(m.slots[i].file))
      return {};
  int by = m.pick_kind({Kind::Child}, [](int) { return true; });
  const Wait& w = kWaits[m.random.below(by >= 0 ? 14 : 13)];
  return wait_of(m, w, by >= 0 ? m.slots[by].fd : -1);
}

}  // namespace

const std::vector<Weighted> kChildren = {
    {3, child_begins}, {3, child_ends}, {5, child_stops}, {2, child_file}, {8, child_waits},
};

}  // namespace fuzz
