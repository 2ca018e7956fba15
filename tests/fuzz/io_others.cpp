// Signals, sleeps, locks, FIFOs, terminals. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/select.h>
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
  const int kChoices[] = {kEnding,      kEnding, kEnding,   restarting(),
                          restarting(), kTaken,  leaving(), quitting()};
  int signal = m.random.of(kChoices);
  if (signal == kTaken && !w->op.takes_signal && (w->op.squad != 0 || !m.random.one_in(4)))
    return {};
  bool leaves = signal == leaving() || signal == quitting();
  if (leaves && (w->state.load() != State::Busy || !w->op.may_leave)) return {};
  if (signal == kTaken && !w->op.takes_signal) w->odd = true;
  // A call that is begun anew takes what its number stands for by then, which others may wait for,
  // and O_NONBLOCK and the time limit as they are by then, which Wisp does not.
  for (const Hold& h : w->op.holds)
    if (signal == restarting() && h.use != Use::Number &&
        m.files[static_cast<size_t>(h.which)].begins_otherwise)
      return {};
  Op op;
  op.text = text_of("signal %s to w%d",
                    signal == kEnding      ? "ending"
                    : signal == kTaken     ? "taken"
                    : signal == leaving()  ? "leaving"
                    : signal == quitting() ? "quitting"
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
    is_odd_from_now_on();
    int r = pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, &old);
    return text_of("%d, was %d", r, sigismember(&old, kEnding));
  };
  return op;
}

// What others do already, by one more.
std::optional<Op> joins(Model& m) {
  if (m.steps.idle(true) == nullptr) return {};
  std::vector<Worker*> all;
  for (Worker* w : m.steps.workers())
    if (w->state.load() == State::Busy && !w->odd && w->op.again)
      all.insert(all.end(), w->op.text.starts_with("read") ? 1 : 3, w);  // most are reads
  if (all.empty()) return {};
  Worker* w = all[m.random.below(static_cast<uint32_t>(all.size()))];
  std::optional<Op> op = w->op.again();
  if (!op) return {};
  if (w->op.squad == 0) w->op.squad = ++m.squads;
  op->squad = w->op.squad;
  return op;
}

// Until some signal comes.
std::optional<Op> waits_for_handlers(Model& m) {
  static const char* const kWays[] = {"pause", "sigsuspend", "sigsuspend keeps ending",
                                      "ppoll of nothing", "select of nothing"};
  uint32_t way = m.random.below(5);
  Op op;
  op.text = kWays[way];
  op.may_leave = true;
  op.run = [way] {
    sigset_t set = mask_of(way == 2);
    return answer(way == 0   ? pause()
                  : way <= 2 ? sigsuspend(&set)
                  : way == 3 ? ppoll(nullptr, 0, nullptr, &set)
                             : select(0, nullptr, nullptr, nullptr, nullptr));
  };
  return op;
}

std::optional<Op> raises(Model& m) {
  bool ends = m.random.one_in(2), by_kill = m.random.one_in(2);
  Op op;
  op.text = ends ? "raise ending" : "raise restarting";
  op.run = [ends, by_kill] {
    int signal = ends ? kEnding : restarting();
    return answer(by_kill ? pthread_kill(pthread_self(), signal) : raise(signal));
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
  op.may_leave = true;
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
  op.may_leave = true;
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

// Of one lock one may wait; whoever gets it then is he.
std::optional<Op> locks(Model& m) {
  int s = m.pick_kind({Kind::Disk}, [](int) { return true; });
  if (s < 0) return {};
  bool whole = m.random.one_in(2);  // flock, else a lock of the open file, or of the process
  bool own = !whole && m.random.one_in(3);
  static const int kFrom[] = {0, 0, 3, 8};
  int from = m.random.of(kFrom), length = m.random.one_in(2) ? 0 : 5;
  static const int kKinds[] = {F_WRLCK, F_WRLCK, F_RDLCK, F_UNLCK, F_UNLCK};
  int kind = m.random.of(kKinds), waits = m.random.one_in(4) ? 0 : 1;
  int hold = m.locks + (whole ? 0 : 1);
  if (kind == F_UNLCK) waits = 0;
  if (waits != 0 && m.files[static_cast<size_t>(hold)].in != 0) return {};
  Op op;
  op.text = text_of(
      "%s s%d %s%s",
      whole ? "flock" : text_of("%s %d+%d", own ? "own lock" : "lock", from, length).c_str(), s,
      kind == F_UNLCK   ? "none"
      : kind == F_RDLCK ? "shared"
                        : "exclusive",
      waits != 0 || kind == F_UNLCK ? "" : " at once");
  op.may_wait = waits != 0;
  if (op.may_wait) op.holds = {{Use::In, hold}};
  op.may_leave = op.may_wait;
  op.run = [fd = m.slots[s].fd, whole, kind, waits, own, from, length] {
    if (whole)
      return answer(flock(fd, (kind == F_UNLCK   ? LOCK_UN
                               : kind == F_RDLCK ? LOCK_SH
                                                 : LOCK_EX) |
                                  (waits != 0 ? 0 : LOCK_NB)));
    struct flock l {};
    l.l_type = static_cast<short>(kind);
    l.l_start = from;
    l.l_len = length;
    return answer(fcntl(
        fd, own ? (waits != 0 ? F_SETLKW : F_SETLK) : (waits != 0 ? F_OFD_SETLKW : F_OFD_SETLK),
        &l));
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
  op.may_wait = op.may_leave = !at_once;
  op.holds = {{reads ? Use::In : Use::Out, m.fifo}};
  auto made = std::make_shared<int>(-1);
  op.run = [made, path = m.fifo_path, reads, at_once] {
    *made = open(path.c_str(), (reads ? O_RDONLY : O_WRONLY) | (at_once ? O_NONBLOCK : 0));
    return *made >= 0 ? std::string("ok") : answer(-1);
  };
  op.after = [&m, made, reads] {
    if (*made < 0) return;
    int file = m.add_file(reads ? Kind::PipeIn : Kind::PipeOut);
    m.files[static_cast<size_t>(file)].fifo = true;
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
    {38, sends_signal}, {3, signals_process},    {4, masks},  {6, takes_signal},
    {5, sleeps},        {5, waits_for_handlers}, {3, raises}, {10, locks},
    {10, opens_fifo},   {3, terminal_control},   {3, names},  {34, joins},
};

}  // namespace fuzz
