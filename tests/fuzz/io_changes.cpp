// What changes descriptors, or closes them, while others may wait. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

// Not the numbers that somebody polls, nor instances that somebody waits in: docs/compatibility.md.
// Nor a terminal whose other side is read: the kernel says EIO, and a moment later the end of file.
bool may_close(Model& m, int slot) {
  // Whoever waits at this side when it is closed keeps it open until he is done.
  if (m.file(slot).kind == Kind::Terminal &&
      (m.waits_anywhere(m.slots[slot].file) ||
       (m.file(slot).peer >= 0 && m.waits_anywhere(m.file(slot).peer))))
    return false;
  // An entry of an epoll instance stays in the kernel's as long as a call on the closed number
  // waits.
  for (const File& f : m.files)
    for (const Entry& e : f.entries)
      if (e.file == m.slots[slot].file && m.waits_anywhere(e.file)) return false;
  // Who holds two files whose numbers are closed closes both as he comes back: one after the other.
  for (Worker* w : m.steps.workers()) {
    int seen = 0;
    bool holds = false;
    for (const Hold& h : w->op.holds) {
      if (h.use == Use::Number) continue;
      const File& f = m.files[static_cast<size_t>(h.which)];
      bool goes = f.slots == (h.which == m.slots[slot].file);
      holds = holds || h.which == m.slots[slot].file;
      seen += goes && f.peer >= 0 && m.watched(f.peer);
    }
    if (holds && seen > 1) return false;
  }
  return m.slots[slot].pinned == 0 &&
         (m.file(slot).kind != Kind::Epoll || !m.watched(m.slots[slot].file)) && m.wakes_one(slot);
}

namespace {

std::optional<Op> closes(Model& m) {
  int s = m.pick([&](int i) { return may_close(m, i); });
  if (s < 0 || (m.free_slots() > 4 && !m.random.one_in(3))) return {};
  bool reset = m.file(s).kind == Kind::Tcp && (m.random.one_in(3) || m.is_choked_tcp(s));
  // Who waits there would be the last one, and linger.
  bool lingers = m.file(s).kind == Kind::Tcp && !reset && !m.file(s).choked &&
                 !m.waits_anywhere(m.slots[s].file) && m.random.one_in(3);
  bool range = !reset && !lingers && m.random.one_in(4);
  Op op;
  op.text = text_of("%s s%d",
                    reset     ? "reset"
                    : lingers ? "close after its bytes"
                    : range   ? "close_range"
                              : "close",
                    s);
  op.may_wait = false;
  op.ends = lingers;  // until the other end has acknowledged them, which takes up to 40 ms
  op.run = [fd = m.slots[s].fd, reset, lingers, range] {
    linger off{1, lingers ? 20 : 0};
    if (reset || lingers) setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off);
    auto number = static_cast<unsigned>(fd);
    return answer(range ? close_range(number, number, 0) : close(fd));
  };
  op.after = [&m, s] { m.close_slot(s); };
  return op;
}

std::optional<Op> shuts(Model& m) {
  int s =
      m.pick_kind({Kind::Local, Kind::Tcp, Kind::Datagram, Kind::Packet, Kind::Udp, Kind::Listener},
                  [&](int i) { return m.wakes_one(i); });
  if (s < 0) return {};
  if (m.file(s).kind == Kind::Listener && !m.random.one_in(4)) return {};
  // A sender on a local socket is told by nobody; it looks again after 25 ms, later after 0.8 s.
  if (m.file(s).kind != Kind::Tcp &&
      (m.file(s).out != 0 || (m.peer(s) != nullptr && m.peer(s)->out != 0)))
    return {};
  static const int kHows[] = {SHUT_RD, SHUT_WR, SHUT_WR, SHUT_RDWR};
  static const char* const kNames[] = {"in", "out", "both"};
  int how = m.random.of(kHows);
  if (how != SHUT_WR && m.is_choked_tcp(s)) return {};
  Op op;
  op.after = [&m, file = m.slots[s].file, how] {
    if (how != SHUT_WR) m.files[static_cast<size_t>(file)].deaf = true;
  };
  op.text = text_of("shutdown s%d %s", s, kNames[how]);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, how] { return answer(shutdown(fd, how)); };
  return op;
}

std::optional<Op> duplicates(Model& m) {
  if (m.free_slots() < 1 || m.edges) return {};
  int s = m.pick([](int) { return true; });
  if (s < 0) return {};
  bool by_fcntl = m.random.one_in(3);
  Op op;
  op.text = text_of("%s s%d", by_fcntl ? "F_DUPFD" : "dup", s);
  op.may_wait = false;
  auto made = std::make_shared<int>(-1);
  op.run = [fd = m.slots[s].fd, by_fcntl, made] {
    *made = by_fcntl ? fcntl(fd, F_DUPFD, 20) : dup(fd);
    return *made >= 0 ? std::string("ok") : answer(-1);
  };
  op.after = [&m, made, file = m.slots[s].file] {
    if (*made >= 0) printf("    s%d\n", m.put(*made, file));
  };
  return op;
}

// Over a number in use, which others may wait at.
std::optional<Op> replaces(Model& m) {
  int to = m.pick([&](int i) { return may_close(m, i) && !m.is_choked_tcp(i); });
  int from = m.pick([&](int i) { return i != to; });
  if (to < 0 || from < 0 || m.edges) return {};
  bool three = m.random.one_in(2);
  Op op;
  op.text = text_of("%s s%d over s%d", three ? "dup3" : "dup2", from, to);
  op.may_wait = false;
  auto done = std::make_shared<bool>(false);
  op.run = [from = m.slots[from].fd, to = m.slots[to].fd, three, done] {
    int r = three ? dup3(from, to, O_CLOEXEC) : dup2(from, to);
    *done = r == to;
    return *done ? std::string("ok") : answer(r);
  };
  op.after = [&m, done, to, fd = m.slots[to].fd, file = m.slots[from].file] {
    if (!*done) return;
    ++m.files[static_cast<size_t>(file)].slots;  // where both are the same file
    m.close_slot(to);
    m.slots[to] = Slot{fd, file, 0};
  };
  return op;
}

std::optional<Op> blocks_or_not(Model& m) {
  // Who waits for a datagram when that changes, and then for no more of them: the kernel says that
  // there are none, the runtime EAGAIN. A read of an inotify or a terminal that a signal ends then
  // is EAGAIN.
  int s = m.pick([&](int i) {
    Kind kind = m.file(i).kind;
    bool looks_again =
        m.is(i, {Kind::Datagram, Kind::Packet, Kind::Udp, Kind::Inotify, Kind::Terminal});
    // Linux looks at it before each part of a sendfile.
    if (m.file(i).choked && m.file(i).out != 0) return false;
    return kind != Kind::Disk && (m.file(i).in == 0 || !looks_again);
  });
  if (s < 0) return {};
  bool on = m.random.one_in(2), by_ioctl = m.random.one_in(2);
  Op op;
  op.begins = [&m, file = m.slots[s].file] {
    if (m.waits_anywhere(file)) m.files[static_cast<size_t>(file)].begins_otherwise = true;
  };
  op.text = text_of("%s s%d O_NONBLOCK %s", by_ioctl ? "FIONBIO" : "F_SETFL", s, on ? "on" : "off");
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, on, by_ioctl] {
    int value = on, flags = fcntl(fd, F_GETFL);
    int r = by_ioctl ? ioctl(fd, FIONBIO, &value)
                     : fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
    return answer(r) + text_of(" was %d, is %d", (flags & O_NONBLOCK) != 0,
                               (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
  };
  return op;
}

std::optional<Op> limits(Model& m) {
  int s =
      m.pick_kind({Kind::Local, Kind::Tcp, Kind::Datagram, Kind::Packet, Kind::Udp, Kind::Listener},
                  [](int) { return true; });
  if (s < 0) return {};
  int option = m.random.one_in(2) ? SO_RCVTIMEO : SO_SNDTIMEO;
  // A long write to a local socket takes a new limit for its next piece, so that it depends on how
  // fast it is read.
  if (option == SO_SNDTIMEO && (m.file(s).out != 0 || m.file(s).choked)) option = SO_RCVTIMEO;
  int ms = m.random.one_in(2) ? 5 : 0;
  Op op;
  op.begins = [&m, file = m.slots[s].file] {
    if (m.waits_anywhere(file)) m.files[static_cast<size_t>(file)].begins_otherwise = true;
  };
  op.after = [&m, file = m.slots[s].file, option, ms] {
    File& f = m.files[static_cast<size_t>(file)];
    (option == SO_RCVTIMEO ? f.ends_in : f.ends_out) = ms != 0;
  };
  op.text = text_of("%s s%d %d ms", option == SO_RCVTIMEO ? "SO_RCVTIMEO" : "SO_SNDTIMEO", s, ms);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, option, ms] {
    timeval t{0, ms * 1000};
    return answer(setsockopt(fd, SOL_SOCKET, option, &t, sizeof t));
  };
  return op;
}

std::optional<Op> asks(Model& m) {
  int s = m.pick([&](int i) {
    return m.file(i).kind != Kind::Disk && (m.peer(i) == nullptr || !m.peer(i)->choked);
  });
  if (s < 0) return {};
  bool socket = is_socket(m.file(s).kind), tcp = m.file(s).kind == Kind::Tcp;
  bool takes_error = socket && m.random.one_in(2) && m.file(s).in + m.file(s).out == 0;
  Op op;
  op.text = text_of("state of s%d%s", s, takes_error ? " and its error" : "");
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, takes_error, tcp] {
    int flags = fcntl(fd, F_GETFL), bytes = 0, error = 0, mark = 0;
    socklen_t length = sizeof error;
    int r = ioctl(fd, FIONREAD, &bytes);
    std::string text = text_of("nonblock %d, ", (flags & O_NONBLOCK) != 0);
    text += r == 0 ? text_of("%d bytes", bytes) : answer(r);
    if (takes_error && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0)
      text += text_of(", error %d", error);
    if (tcp && ioctl(fd, SIOCATMARK, &mark) == 0) text += text_of(", at mark %d", mark);
    return text;
  };
  return op;
}

// Both ends in the order in which they came; of one step either may be told of first.
void match(Model& m, int listener) {
  std::vector<int>&ones = m.files[static_cast<size_t>(listener)].pending,
  &others = m.files[static_cast<size_t>(listener)].accepted;
  if (ones.empty() || others.empty()) return;
  m.files[static_cast<size_t>(ones.front())].peer = others.front();
  m.files[static_cast<size_t>(others.front())].peer = ones.front();
  ones.erase(ones.begin());
  others.erase(others.begin());
}

Op accept_of(Model& m, int s, bool four, int flags) {
  Op op;
  op.text = text_of("%s s%d%s%s", four ? "accept4" : "accept", s,
                    (flags & SOCK_NONBLOCK) != 0 ? " nonblock" : "",
                    (flags & SOCK_CLOEXEC) != 0 ? " cloexec" : "");
  int of = m.slots[s].file;
  op.holds = {{Use::In, of}};
  op.may_leave = true;
  op.again = [&m, s, four, flags, of]() -> std::optional<Op> {
    if (!m.is_still(s, of) || m.free_slots() < 4) return {};
    return accept_of(m, s, four, flags);
  };
  auto made = std::make_shared<int>(-1);
  op.run = [fd = m.slots[s].fd, four, flags, made] {
    *made = four ? accept4(fd, nullptr, nullptr, flags) : accept(fd, nullptr, nullptr);
    return *made >= 0 ? text_of("ok, nonblock %d, cloexec %d",
                                (fcntl(*made, F_GETFL) & O_NONBLOCK) != 0, fcntl(*made, F_GETFD))
                      : answer(-1);
  };
  op.after = [&m, made, of, s] {
    if (*made < 0) return;
    bool local = m.files[static_cast<size_t>(of)].local_listener;
    int file = m.add_file(local ? Kind::Local : Kind::Tcp);
    m.files[static_cast<size_t>(of)].accepted.push_back(file);
    match(m, of);
    int slot = m.put(*made, file);
    printf("    s%d from s%d\n", slot, s);
    if (slot < 0) close(*made);
  };
  return op;
}

std::optional<Op> accepts(Model& m) {
  int s = m.pick_kind({Kind::Listener}, [&](int i) { return m.may_wait_in(i); });
  if (s < 0 || m.free_slots() < 1) return {};
  bool four = m.random.one_in(2);
  int flags = four && m.random.one_in(2) ? SOCK_NONBLOCK : 0;
  if (four && m.random.one_in(2)) flags |= SOCK_CLOEXEC;
  return accept_of(m, s, four, flags);
}

std::optional<Op> connects(Model& m) {
  int s = m.pick_kind({Kind::Listener},
                      [&](int i) { return m.file(i).out == 0 && m.file(i).pending.size() < 5; });
  if (s < 0 || m.free_slots() < 1) return {};
  int of = m.slots[s].file;
  bool local = m.file(s).local_listener;
  Op op;
  op.text = text_of("connect to s%d", s);
  op.holds = {{Use::Out, of}};
  auto made = std::make_shared<int>(-1);
  op.run = [fd = m.slots[s].fd, made] {
    sockaddr_storage a;
    socklen_t length = sizeof a;
    getsockname(fd, reinterpret_cast<sockaddr*>(&a), &length);
    *made = socket(a.ss_family, SOCK_STREAM, 0);
    int size = 100000;
    setsockopt(*made, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    setsockopt(*made, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    int r = connect(*made, reinterpret_cast<sockaddr*>(&a), length);
    std::string text = answer(r);
    if (r != 0) close(*made), *made = -1;
    return text;
  };
  op.after = [&m, made, of, local, s] {
    if (*made < 0) return;
    int file = m.add_file(local ? Kind::Local : Kind::Tcp);
    m.files[static_cast<size_t>(of)].pending.push_back(file);
    match(m, of);
    int slot = m.put(*made, file);
    printf("    s%d to s%d\n", slot, s);
    if (slot < 0) close(*made);
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kChanges = {
    {24, closes}, {14, shuts}, {12, duplicates}, {8, replaces},  {12, blocks_or_not},
    {10, limits}, {12, asks},  {16, accepts},    {16, connects},
};

}  // namespace fuzz
