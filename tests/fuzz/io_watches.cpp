// Waits for events: poll, select and epoll. See io_model.h.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "io_ops.h"

namespace fuzz {

sigset_t mask_of(bool keeps_ending) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kTaken);
  sigaddset(&set, for_descriptor());
  if (keeps_ending) sigaddset(&set, kEnding);
  return set;
}

namespace {

// The bits of poll are those of epoll.
std::string names_of(unsigned events) {
  static const struct {
    unsigned bit;
    const char* name;
  } kNames[] = {{EPOLLIN, "in"},           {EPOLLOUT, "out"},
                {EPOLLPRI, "pri"},         {EPOLLERR, "err"},
                {EPOLLHUP, "hup"},         {EPOLLRDHUP, "rdhup"},
                {POLLNVAL, "nval"},        {EPOLLET, "edge"},
                {EPOLLONESHOT, "oneshot"}, {EPOLLEXCLUSIVE, "exclusive"}};
  std::string s;
  for (const auto& n : kNames)
    if ((events & n.bit) != 0) s += (s.empty() ? "" : "|") + std::string(n.name);
  return s.empty() ? "none" : s;
}

unsigned random_events(Model& m) {
  unsigned events = m.random.one_in(4) ? EPOLLOUT : EPOLLIN;
  if (m.random.one_in(5)) events |= EPOLLIN | EPOLLOUT;
  if (m.random.one_in(4)) events |= EPOLLRDHUP;
  if (m.random.one_in(6)) events |= EPOLLPRI;
  return events;
}

int random_timeout(Model& m) {
  static const int kTimeouts[] = {0, 5, -1, -1, -1};
  return m.random.of(kTimeouts);
}

struct Watched {
  int slot, fd;
  unsigned events;
};
// 1 to 4 descriptors and what is waited for; empty: there are none that may be.
std::vector<Watched> random_set(Model& m, int timeout) {
  std::vector<Watched> set;
  std::vector<int> files;
  for (uint32_t left = 1 + m.random.below(4); left != 0; --left) {
    int s = m.pick([&](int i) {
      for (const Watched& w : set)
        if (w.slot == i) return false;
      // Whether a little goes into a TCP socket that is full is a matter of its accounts.
      if ((m.edges && m.file(i).kind == Kind::Epoll) ||
          (m.file(i).kind == Kind::Tcp && m.file(i).choked))
        return false;
      if (timeout == 0) return true;
      std::vector<int> with = files;
      with.push_back(m.slots[i].file);
      return m.may_watch(with);
    });
    if (s < 0) break;
    set.push_back({s, m.slots[s].fd, random_events(m)});
    files.push_back(m.slots[s].file);
  }
  return set;
}

void describe_set(Model& m, Op* op, const std::vector<Watched>& set, int timeout, int mask) {
  for (const Watched& w : set) {
    op->text += text_of(" s%d:%s", w.slot, names_of(w.events).c_str());
    if (timeout == 0) continue;
    op->holds.push_back({Use::Watch, m.slots[w.slot].file});
    op->holds.push_back({Use::Number, w.slot});
  }
  op->text += timeout < 0 ? " for ever" : text_of(" %d ms", timeout);
  if (mask != 0) op->text += mask == 1 ? " keeps ending" : " lets ending through";
  op->may_wait = op->may_leave = timeout != 0;
  op->ends = timeout >= 0;
}

bool all_are_still(Model& m, const std::vector<Watched>& set, const std::vector<int>& files) {
  for (size_t i = 0; i < files.size(); ++i)
    if (!m.is_still(set[i].slot, files[i])) return false;
  return true;
}

std::vector<int> files_of(Model& m, const std::vector<Watched>& set) {
  std::vector<int> files;
  for (const Watched& w : set) files.push_back(m.slots[w.slot].file);
  return files;
}

Op poll_of(Model& m, std::vector<Watched> set, int timeout, bool with_mask, int mask) {
  Op op;
  if (timeout < 0 && mask == 0)
    op.again = [&m, set, timeout, with_mask, files = files_of(m, set)]() -> std::optional<Op> {
      if (!all_are_still(m, set, files)) return {};
      return poll_of(m, set, timeout, with_mask, 0);
    };
  op.text = with_mask ? "ppoll" : "poll";
  describe_set(m, &op, set, timeout, mask);
  if (!op.again && m.random.one_in(6)) {  // ignored, or no descriptor
    set.push_back({-1, m.random.one_in(2) ? -1 : 1 << 20, EPOLLIN});
    op.text += set.back().fd < 0 ? " and -1" : " and none";
  }
  op.run = [set, timeout, with_mask, mask] {
    std::vector<pollfd> fds;
    for (const Watched& w : set) fds.push_back({w.fd, static_cast<short>(w.events), 0});
    timespec t{0, timeout * 1000000l};
    sigset_t signals = mask_of(mask == 1);
    int r = with_mask ? ppoll(fds.data(), fds.size(), timeout < 0 ? nullptr : &t,
                              mask != 0 ? &signals : nullptr)
                      : poll(fds.data(), fds.size(), timeout);
    std::string text = answer(r);
    for (size_t i = 0; r > 0 && i < fds.size(); ++i)
      if (fds[i].revents != 0)
        text += text_of(" s%d:", set[i].slot) + names_of(static_cast<uint16_t>(fds[i].revents));
    return text;
  };
  return op;
}

std::optional<Op> polls(Model& m) {
  int timeout = random_timeout(m);
  std::vector<Watched> set = random_set(m, timeout);
  if (set.empty()) return {};
  bool with_mask = m.random.one_in(3);
  int mask = with_mask && timeout != 0 ? static_cast<int>(m.random.below(3)) : 0;
  return poll_of(m, set, timeout, with_mask, mask);
}

std::optional<Op> selects(Model& m) {
  int timeout = random_timeout(m);
  std::vector<Watched> set = random_set(m, timeout);
  if (set.empty()) return {};
  bool with_mask = m.random.one_in(3);
  int mask = with_mask && timeout != 0 ? static_cast<int>(m.random.below(3)) : 0;
  Op op;
  op.text = with_mask ? "pselect" : "select";
  describe_set(m, &op, set, timeout, mask);
  op.run = [set, timeout, with_mask, mask] {
    fd_set sets[3];
    for (fd_set& s : sets) FD_ZERO(&s);
    static const unsigned kBits[] = {EPOLLIN, EPOLLOUT, EPOLLPRI};
    int most = 0;
    for (const Watched& w : set)
      for (int i = 0; i < 3; ++i)
        if ((w.events & kBits[i]) != 0) FD_SET(w.fd, &sets[i]), most = std::max(most, w.fd + 1);
    timespec t{0, timeout * 1000000l};
    timeval v{0, timeout * 1000l};
    sigset_t signals = mask_of(mask == 1);
    int r = with_mask ? pselect(most, &sets[0], &sets[1], &sets[2], timeout < 0 ? nullptr : &t,
                                mask != 0 ? &signals : nullptr)
                      : select(most, &sets[0], &sets[1], &sets[2], timeout < 0 ? nullptr : &v);
    std::string text = answer(r);
    for (size_t k = 0; r > 0 && k < set.size(); ++k) {
      unsigned events = 0;
      for (int i = 0; i < 3; ++i)
        if (FD_ISSET(set[k].fd, &sets[i])) events |= kBits[i];
      if (events != 0) text += text_of(" s%d:", set[k].slot) + names_of(events);
    }
    return text;
  };
  return op;
}

Op epoll_wait_of(Model& m, int s, int timeout, uint32_t way, int mask, int max) {
  static const char* const kWays[] = {"epoll_wait", "epoll_wait", "epoll_pwait", "epoll_pwait2"};
  Op op;
  if (timeout < 0 && mask == 0 && max == 16)
    op.again = [&m, s, timeout, way, max, file = m.slots[s].file]() -> std::optional<Op> {
      if (!m.is_still(s, file)) return {};
      return epoll_wait_of(m, s, timeout, way, 0, max);
    };
  op.may_leave = timeout != 0;
  op.text = kWays[way] + text_of(" s%d at most %d", s, max);
  if (timeout != 0) op.holds = {{Use::Watch, m.slots[s].file}, {Use::Number, s}};
  op.text += timeout < 0 ? " for ever" : text_of(" %d ms", timeout);
  if (mask != 0) op.text += mask == 1 ? " keeps ending" : " lets ending through";
  op.may_wait = timeout != 0 || m.edges;  // the driver may be no task
  op.ends = timeout >= 0;
  op.run = [fd = m.slots[s].fd, timeout, way, mask, max] {
    epoll_event events[16];
    sigset_t signals = mask_of(mask == 1);
    timespec t{0, timeout * 1000000l};
    const sigset_t* with = mask != 0 ? &signals : nullptr;
    int r = way < 2    ? epoll_wait(fd, events, max, timeout)
            : way == 2 ? epoll_pwait(fd, events, max, timeout, with)
                       : epoll_pwait2(fd, events, max, timeout < 0 ? nullptr : &t, with);
    std::string text = answer(r);
    if (r > 0)
      std::sort(events, events + r,
                [](const epoll_event& a, const epoll_event& b) { return a.data.u64 < b.data.u64; });
    for (int i = 0; i < r; ++i)
      text += text_of(" e%lu:", events[i].data.u64) + names_of(events[i].events);
    return text;
  };
  return op;
}

std::optional<Op> epoll_waits(Model& m) {
  int timeout = random_timeout(m);
  int s = m.pick_kind({Kind::Epoll},
                      [&](int i) { return timeout == 0 || m.may_watch({m.slots[i].file}); });
  if (s < 0) return {};
  uint32_t way = m.random.below(4);
  int mask = way >= 2 && timeout != 0 && !m.edges ? static_cast<int>(m.random.below(3)) : 0;
  int max = m.file(s).entries.size() > 1 || m.random.one_in(2) ? 16 : 1;
  return epoll_wait_of(m, s, timeout, way, mask, max);
}

bool has_entry(Model& m, int epoll, int slot) {
  for (const Entry& e : m.file(epoll).entries)
    if (e.slot == slot && e.file == m.slots[slot].file) return true;
  return false;
}

std::optional<Op> controls(Model& m) {
  int s = m.pick_kind({Kind::Epoll}, [](int) { return true; });
  if (s < 0) return {};
  static const int kCalls[] = {EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_ADD,
                               EPOLL_CTL_MOD, EPOLL_CTL_MOD, EPOLL_CTL_DEL};
  int call = m.random.of(kCalls);
  bool fitting = !m.random.one_in(8);  // ADD of what is not there, the others of what is
  bool waited = m.watched(m.slots[s].file);
  int t = m.pick([&](int i) {
    if (m.edges && m.file(i).kind == Kind::Epoll) return false;
    if (fitting && has_entry(m, s, i) != (call != EPOLL_CTL_ADD)) return false;
    if (!waited || call != EPOLL_CTL_ADD) return true;
    const File& f = m.file(i);
    return f.kind != Kind::Epoll && m.may_watch({m.slots[i].file}) &&
           (f.peer < 0 || !m.watched(f.peer));
  });
  if (t < 0) return {};
  Kind kind = m.file(t).kind;
  unsigned events = random_events(m);
  // One that has been reported says a hang-up again when it is handed over.
  if (m.edges && m.random.one_in(4)) events |= EPOLLONESHOT;
  // One direction alone, and a semaphore's reads: docs/compatibility.md.
  if (m.edges && m.random.one_in(2) && kind != Kind::Epoll && !m.file(t).semaphore) {
    events |= EPOLLET | (kind == Kind::PipeIn || kind == Kind::PipeOut ? 0 : EPOLLIN | EPOLLOUT);
  }
  if (!m.edges && m.random.one_in(8) && call == EPOLL_CTL_ADD)
    events = (events & ~EPOLLONESHOT) | EPOLLEXCLUSIVE;
  unsigned token = ++m.token;
  static const char* const kNames[] = {"", "add", "del", "mod"};
  Op op;
  op.text = text_of("epoll_ctl s%d %s s%d", s, kNames[call], t);
  if (call != EPOLL_CTL_DEL) op.text += text_of(" e%u:", token) + names_of(events);
  op.may_wait = false;
  auto done = std::make_shared<bool>(false);
  op.run = [epoll = m.slots[s].fd, fd = m.slots[t].fd, call, events, token, done] {
    epoll_event e{};
    e.events = events;
    e.data.u64 = token;
    int r = epoll_ctl(epoll, call, fd, &e);
    *done = r == 0;
    return answer(r);
  };
  op.after = [&m, of = m.slots[s].file, entry = Entry{t, m.slots[t].file, events, token}, call,
              done] {
    if (!*done) return;
    std::vector<Entry>& entries = m.files[static_cast<size_t>(of)].entries;
    if (call != EPOLL_CTL_ADD)
      std::erase_if(entries,
                    [&](const Entry& e) { return e.slot == entry.slot && e.file == entry.file; });
    if (call != EPOLL_CTL_DEL) entries.push_back(entry);
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kWatches = {
    {20, polls}, {10, selects}, {30, epoll_waits}, {40, controls}};

}  // namespace fuzz
