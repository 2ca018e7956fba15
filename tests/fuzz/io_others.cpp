// Signals, sleeps, children, locks, FIFOs, terminals. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

namespace {

std::optional<Op> sends_signal(Model& m) {
  std::vector<Worker*>& all = m.steps.workers();
  Worker* w = all[m.random.below(static_cast<uint32_t>(all.size()))];
  if (w->state.load() != State::Busy && !m.random.one_in(3)) return {};
  const int kChoices[] = {kEnding, kEnding, restarting(), restarting(), kTaken};
  int signal = m.random.of(kChoices);
  if (signal == kTaken && !w->op.takes_signal && !m.random.one_in(4)) return {};
  // A call that is begun anew takes what its number stands for by then, which others may wait for,
  // and O_NONBLOCK and the time limit as they are by then, which Wisp does not.
  for (const Hold& h : w->op.holds)
    if (signal == restarting() && h.use != Use::Number &&
        m.files[static_cast<size_t>(h.which)].begins_otherwise)
      return {};
  Op op;
  op.text = text_of("signal %s to w%d",
                    signal == kEnding  ? "ending"
                    : signal == kTaken ? "taken"
                                       : "restarting",
                    w->number);
  op.may_wait = false;
  op.stirs = true;
  op.run = [thread = w->thread, signal] { return std::to_string(pthread_kill(thread, signal)); };
  return op;
}

std::optional<Op> signals_process(Model& m) {
  if (!has_kind(m, Kind::SignalQueue)) return {};
  Op op;
  op.text = "signal for descriptors";
  op.may_wait = false;
  op.stirs = true;
  op.run = [] { return answer(kill(getpid(), for_descriptor())); };
  return op;
}

std::optional<Op> masks(Model& m) {
  bool block = m.random.one_in(2);
  Op op;
  op.text = block ? "block ending" : "unblock ending";
  op.run = [block] {
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, kEnding);
    int r = pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, &old);
    return text_of("%d, was %d", r, sigismember(&old, kEnding));
  };
  return op;
}

std::optional<Op> takes_signal(Model& m) {
  uint32_t way = m.random.below(4);
  static const char* const kWays[] = {"sigwait", "sigwaitinfo", "sigtimedwait for ever",
                                      "sigtimedwait 5 ms"};
  Op op;
  op.text = kWays[way];
  op.takes_signal = true;
  op.ends = way == 3;
  op.run = [way] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, kTaken);
    int number = 0;
    siginfo_t info{};
    timespec t{way == 3 ? 0 : 100000, way == 3 ? 5000000 : 0};
    if (way == 0) return text_of("%d, signal %d", sigwait(&set, &number), number);
    int r = way == 1 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &t);
    return answer(r);
  };
  return op;
}

std::optional<Op> sleeps(Model& m) {
  bool brief = m.random.one_in(3);
  uint32_t way = m.random.below(4);
  static const char* const kWays[] = {"nanosleep", "usleep", "clock_nanosleep until", "sleep"};
  if (way == 3 && brief) way = 0;
  Op op;
  op.text = text_of("%s %s", kWays[way], brief ? "5 ms" : "long");
  op.ends = brief;
  op.run = [brief, way] {
    timespec t{brief ? 0 : 1000, brief ? 5000000 : 0}, left{0, 0};
    if (way == 0) {
      int r = nanosleep(&t, &left);
      return answer(r) + (r != 0 && left.tv_sec > 900 ? ", most is left" : "");
    }
    if (way == 1) return answer(usleep(brief ? 5000 : 999999999));
    if (way == 3) return std::string(sleep(1000) > 900 ? "most is left" : "over");
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += t.tv_sec + (now.tv_nsec + t.tv_nsec) / 1000000000;
    now.tv_nsec = (now.tv_nsec + t.tv_nsec) % 1000000000;
    return std::to_string(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, nullptr));
  };
  return op;
}

// A child that ends when its command pipe is closed.
std::optional<Op> child_begins(Model& m) {
  if (m.child.pid != 0 || m.edges) return {};
  Op op;
  op.text = "child";
  op.may_wait = false;
  op.run = [&m] {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return answer(-1);
    pid_t pid = fork();
    if (pid == 0) {
      char c;
      if (ends[0] > 3) close_range(3, static_cast<unsigned>(ends[0] - 1), 0);
      close_range(static_cast<unsigned>(ends[0] + 1), ~0u, 0);
      while (read(ends[0], &c, 1) < 0) {
      }
      _exit(7);
    }
    close(ends[0]);
    m.child = {pid, ends[1]};
    return std::string(pid > 0 ? "ok" : "none");
  };
  op.stirs = true;
  return op;
}

std::optional<Op> child_ends(Model& m) {
  if (m.child.pid == 0 || m.child.command < 0) return {};
  Op op;
  op.text = "end of the child";
  op.may_wait = false;
  op.stirs = true;
  op.expects = [pid = m.child.pid] {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
           info.si_pid == pid;
  };
  op.run = [&m] {
    close(m.child.command);
    m.child.command = -1;
    return std::string("ok");
  };
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

std::optional<Op> child_waits(Model& m) {
  if (m.child.pid <= 0 || m.files[static_cast<size_t>(m.waits)].in != 0) return {};
  // Its pidfd says HUP once it is waited for.
  for (int i = 0; i < kSlots; ++i)
    if (m.slots[i].file >= 0 && m.file(i).kind == Kind::Child && m.watched(m.slots[i].file))
      return {};
  int by = m.pick_kind({Kind::Child}, [](int) { return true; });
  uint32_t way = m.random.below(by >= 0 ? 6 : 5);
  static const char* const kWays[] = {"waitpid",        "waitpid of any", "waitpid WNOHANG",
                                      "waitid WNOWAIT", "waitid",         "waitid by pidfd"};
  Op op;
  op.text = kWays[way];
  op.may_wait = way != 2;
  if (op.may_wait) op.holds = {{Use::In, m.waits}};
  auto gone = std::make_shared<bool>(false);
  op.run = [way, gone, pid = m.child.pid, fd = by >= 0 ? m.slots[by].fd : -1] {
    int status = 0;
    siginfo_t info{};
    if (way < 3) {
      pid_t r = waitpid(way == 1 ? -1 : pid, &status, way == 2 ? WNOHANG : 0);
      *gone = r > 0;
      return r > 0 ? text_of("it, %x", static_cast<unsigned>(status)) : answer(r);
    }
    int r = waitid(way == 5 ? P_PIDFD : P_PID, static_cast<id_t>(way == 5 ? fd : pid), &info,
                   WEXITED | (way == 3 ? WNOWAIT : 0));
    *gone = r == 0 && way != 3 && info.si_pid == pid;
    return answer(r) + text_of(", code %d status %d", info.si_code, info.si_status);
  };
  op.after = [&m, gone] {
    if (!*gone) return;
    if (m.child.command >= 0) close(m.child.command);
    m.child = ChildProcess{};
  };
  return op;
}

// Of one lock one may wait; whoever gets it then is he.
std::optional<Op> locks(Model& m) {
  int s = m.pick_kind({Kind::Disk}, [](int) { return true; });
  if (s < 0) return {};
  bool whole = m.random.one_in(2);  // flock, else a lock of the open file
  static const int kKinds[] = {F_WRLCK, F_WRLCK, F_RDLCK, F_UNLCK, F_UNLCK};
  int kind = m.random.of(kKinds), waits = m.random.one_in(4) ? 0 : 1;
  int hold = m.locks + (whole ? 0 : 1);
  if (kind == F_UNLCK) waits = 0;
  if (waits != 0 && m.files[static_cast<size_t>(hold)].in != 0) return {};
  Op op;
  op.text = text_of("%s s%d %s%s", whole ? "flock" : "lock", s,
                    kind == F_UNLCK   ? "none"
                    : kind == F_RDLCK ? "shared"
                                      : "exclusive",
                    waits != 0 || kind == F_UNLCK ? "" : " at once");
  op.may_wait = waits != 0;
  if (op.may_wait) op.holds = {{Use::In, hold}};
  op.run = [fd = m.slots[s].fd, whole, kind, waits] {
    if (whole)
      return answer(flock(fd, (kind == F_UNLCK   ? LOCK_UN
                               : kind == F_RDLCK ? LOCK_SH
                                                 : LOCK_EX) |
                                  (waits != 0 ? 0 : LOCK_NB)));
    struct flock l {};
    l.l_type = static_cast<short>(kind);
    return answer(fcntl(fd, waits != 0 ? F_OFD_SETLKW : F_OFD_SETLK, &l));
  };
  return op;
}

std::optional<Op> opens_fifo(Model& m) {
  if (m.fifo < 0 || m.free_slots() < 2) return {};
  bool reads = m.random.one_in(2), at_once = !reads && m.random.one_in(4);
  const File& f = m.files[static_cast<size_t>(m.fifo)];
  if (reads ? m.fifo_read || f.in != 0 : m.fifo_written || f.out != 0) return {};
  Op op;
  op.text = text_of("open the fifo to %s%s", reads ? "read" : "write", at_once ? " at once" : "");
  op.may_wait = !at_once;
  op.holds = {{reads ? Use::In : Use::Out, m.fifo}};
  auto made = std::make_shared<int>(-1);
  op.run = [made, path = m.fifo_path, reads, at_once] {
    *made = open(path.c_str(), (reads ? O_RDONLY : O_WRONLY) | (at_once ? O_NONBLOCK : 0));
    return *made >= 0 ? std::string("ok") : answer(-1);
  };
  op.after = [&m, made, reads] {
    if (*made < 0) return;
    int file = m.add_file(reads ? Kind::PipeIn : Kind::PipeOut);
    (reads ? m.fifo_read : m.fifo_written) = true;
    (reads ? m.fifo_reader : m.fifo_writer) = file;
    if (m.fifo_reader >= 0 && m.fifo_writer >= 0) {
      m.files[static_cast<size_t>(m.fifo_reader)].peer = m.fifo_writer;
      m.files[static_cast<size_t>(m.fifo_writer)].peer = m.fifo_reader;
    }
    int slot = m.put(*made, file);
    printf("    s%d\n", slot);
    if (slot < 0) close(*made);
  };
  return op;
}

std::optional<Op> terminal_control(Model& m) {
  int s = m.pick_kind({Kind::Terminal},
                      [&](int i) { return !m.watched(m.slots[i].file) && m.file(i).out == 0; });
  if (s < 0) return {};
  uint32_t way = m.random.below(2);
  Op op;
  op.text = text_of("%s s%d", way == 0 ? "tcdrain" : "tcflush", s);
  op.stirs = true;
  op.holds = {{Use::Out, m.slots[s].file}};
  op.run = [fd = m.slots[s].fd, way] {
    return answer(way == 0 ? tcdrain(fd) : tcflush(fd, TCIFLUSH));
  };
  return op;
}

std::optional<Op> names(Model& m) {
  if (!has_kind(m, Kind::Inotify)) return {};
  std::string path = m.folder + "/x";
  bool make = m.random.one_in(2);
  Op op;
  op.text = make ? "create a name" : "remove a name";
  op.may_wait = false;
  op.stirs = true;
  op.run = [path, make] {
    int fd = make ? open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600) : unlink(path.c_str());
    std::string text = fd < 0 ? answer(-1) : "ok";
    if (make && fd >= 0) close(fd);
    return text;
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kOthers = {
    {30, sends_signal}, {3, signals_process},  {4, masks},      {6, takes_signal}, {5, sleeps},
    {3, child_begins},  {4, child_ends},       {2, child_file}, {6, child_waits},  {10, locks},
    {10, opens_fifo},   {3, terminal_control}, {3, names},
};

}  // namespace fuzz
