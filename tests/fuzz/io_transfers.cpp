// Reads and writes of few bytes. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

std::string payload(Model& m, long size) {
  std::string s(static_cast<size_t>(size), ' ');
  uint32_t h = static_cast<uint32_t>(++m.serial) * 2654435761u;
  for (char& c : s) c = static_cast<char>('!' + ((h = h * 1664525u + 1013904223u) >> 16) % 90);
  return s;
}

// Of datagrams only a few fit.
std::function<void()> adds_load(Model& m, int slot, long size) {
  File& f = m.file(slot);
  long load = f.kind == Kind::Datagram || f.kind == Kind::Packet ? 4000 : size;
  return
      [&m, file = m.slots[slot].file, load] { m.files[static_cast<size_t>(file)].loaded += load; };
}

// Nobody waits for bytes at the other end who could be woken by a first part of them.
bool cannot_be_seen_in_parts(Model& m, int slot) {
  File* p = m.peer(slot);
  return p == nullptr || (p->in == 0 && !m.watched(m.file(slot).peer));
}

namespace {

const auto kReadable = {Kind::Local,    Kind::Datagram, Kind::Packet, Kind::Tcp,
                        Kind::Udp,      Kind::PipeIn,   Kind::Event,  Kind::Timer,
                        Kind::Terminal, Kind::Inotify,  Kind::Disk,   Kind::SignalQueue};

// What one read brought, without what differs from run to run.
std::string received(Kind kind, const char* bytes, long r) {
  std::string text = answer(r);
  if (kind == Kind::Event || kind == Kind::Timer) {
    uint64_t n;
    memcpy(&n, bytes, sizeof n);
    return r == 8 ? text_of("count %llx", static_cast<unsigned long long>(n)) : text;
  }
  if (kind == Kind::SignalQueue) return r > 0 ? text_of("signal %d", bytes[0]) : text;
  if (kind == Kind::Inotify) return text + (r > 0 ? checksum(bytes + 4, 4) : "");
  return text + checksum(bytes, r);
}

// read, readv, preadv2, RWF_NOWAIT, and a system call that the runtime does not see.
enum class Call { Simple, Vector, Two, TwoAtOnce, Direct };

Call random_call(Model& m, Kind kind, long size) {
  static const Call kCalls[] = {Call::Simple, Call::Simple, Call::Simple,
                                Call::Simple, Call::Simple, Call::Vector,
                                Call::Vector, Call::Two,    Call::TwoAtOnce};
  if (m.random.one_in(10)) return Call::Direct;
  bool whole = size <= 8 || kind == Kind::Inotify || kind == Kind::SignalQueue;
  return whole ? Call::Simple : m.random.of(kCalls);
}

Op read_of(Model& m, int s, long size, Call call) {
  static const char* const kNames[] = {"read", "readv", "preadv2", "preadv2 at once",
                                       "system call read"};
  Kind kind = m.file(s).kind;
  Op op;
  op.text = text_of("%s s%d %ld", kNames[static_cast<int>(call)], s, size);
  op.holds = {{Use::In, m.slots[s].file}};
  op.may_leave = true;
  op.again = [&m, s, size, call, file = m.slots[s].file]() -> std::optional<Op> {
    if (!m.is_still(s, file) || m.file(s).kind == Kind::Disk) return {};
    return read_of(m, s, size, call);
  };
  op.run = [fd = m.slots[s].fd, kind, size, call] {
    std::string bytes(static_cast<size_t>(size), 0);
    iovec parts[2] = {{bytes.data(), 3}, {bytes.data() + 3, bytes.size() - 3}};
    long r = call == Call::Simple   ? read(fd, bytes.data(), bytes.size())
             : call == Call::Direct ? syscall(SYS_read, fd, bytes.data(), bytes.size())
             : call == Call::Vector ? readv(fd, parts, 2)
                                    : preadv2(fd, parts, 2, -1, call == Call::Two ? 0 : RWF_NOWAIT);
    return received(kind, bytes.data(), r);
  };
  return op;
}

std::optional<Op> small_read(Model& m) {
  int s = m.pick_kind(kReadable, [&](int i) { return m.may_wait_in(i); });
  if (s < 0) return {};
  Kind kind = m.file(s).kind;
  static const long kSizes[] = {1, 5, 100, 5000};
  long size = kind == Kind::Event || kind == Kind::Timer           ? 8
              : kind == Kind::Inotify || kind == Kind::SignalQueue ? 500
                                                                   : m.random.of(kSizes);
  return read_of(m, s, size, random_call(m, kind, size));
}

std::optional<Op> small_write(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Datagram, Kind::Packet, Kind::Tcp, Kind::Udp,
                       Kind::PipeOut, Kind::Terminal, Kind::Disk},
                      [&](int i) { return m.may_wait_out(i); });
  if (s < 0) return {};
  static const long kSizes[] = {1, 7, 100, 3000};
  Kind kind = m.file(s).kind;
  long size = kind == Kind::Terminal ? 1 + m.random.below(30) : m.random.of(kSizes);
  Call call = random_call(m, kind, size);
  static const char* const kNames[] = {"write", "writev", "pwritev2", "pwritev2 at once",
                                       "system call write"};
  Op op;
  op.text = text_of("%s s%d %ld", kNames[static_cast<int>(call)], s, size);
  op.holds = {{Use::Out, m.slots[s].file}};
  op.stirs = kind == Kind::Terminal;
  std::string bytes = payload(m, size);
  if (kind == Kind::Terminal && m.random.one_in(2)) bytes.back() = '\n';
  op.begins = adds_load(m, s, size);
  op.run = [fd = m.slots[s].fd, bytes, call]() mutable {
    iovec parts[2] = {{bytes.data(), 3}, {bytes.data() + 3, bytes.size() - 3}};
    return answer(call == Call::Simple   ? write(fd, bytes.data(), bytes.size())
                  : call == Call::Direct ? syscall(SYS_write, fd, bytes.data(), bytes.size())
                  : call == Call::Vector
                      ? writev(fd, parts, 2)
                      : pwritev2(fd, parts, 2, -1, call == Call::Two ? 0 : RWF_NOWAIT));
  };
  return op;
}

std::optional<Op> count_up(Model& m) {
  int s = m.pick_kind({Kind::Event}, [&](int i) { return m.may_wait_out(i); });
  if (s < 0) return {};
  static const uint64_t kCounts[] = {1, 1, 3, 0xfffffffffffffff0u};
  uint64_t count = m.random.of(kCounts);
  Op op;
  op.text = text_of("write s%d count %llx", s, static_cast<unsigned long long>(count));
  op.holds = {{Use::Out, m.slots[s].file}};
  op.run = [fd = m.slots[s].fd, count] { return answer(write(fd, &count, sizeof count)); };
  return op;
}

std::optional<Op> set_timer(Model& m) {
  int s = m.pick_kind({Kind::Timer}, [](int) { return true; });
  if (s < 0) return {};
  static const long kMs[] = {0, 5, 5, 5, 1000000};
  long ms = m.random.of(kMs);
  bool absolute = ms != 0 && m.random.one_in(3);
  Op op;
  op.text = text_of("timer s%d %ld ms%s", s, ms, absolute ? " by the clock" : "");
  op.may_wait = false;
  op.stirs = ms == 5;
  if (ms == 5)
    op.expects = [began = std::make_shared<int64_t>(0)] {
      if (*began == 0) *began = now_ns();
      return now_ns() - *began > 8000000;
    };
  op.run = [fd = m.slots[s].fd, ms, absolute] {
    itimerspec t{{0, 0}, {ms / 1000, ms % 1000 * 1000000}};
    if (absolute) {
      clock_gettime(CLOCK_MONOTONIC, &t.it_value);
      t.it_value.tv_sec += ms / 1000;
      t.it_value.tv_nsec += ms % 1000 * 1000000;
      t.it_value.tv_sec += t.it_value.tv_nsec / 1000000000;
      t.it_value.tv_nsec %= 1000000000;
    }
    return answer(timerfd_settime(fd, absolute ? TFD_TIMER_ABSTIME : 0, &t, nullptr));
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kTransfers = {
    {30, small_read}, {30, small_write}, {6, count_up}, {4, set_timer}};

}  // namespace fuzz
