// Writes for which there is no room. See io_model.h.
//
// How much of a long write fits depends on how it is cut, which is the runtime's business as it is
// the kernel's. So of a direction that is choked by one nothing is read but all of it.
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

namespace {

constexpr char kEnd[] = "~~end of a long write~~";
constexpr long kEndSize = sizeof kEnd - 1;

long send_a_file(int fd, const std::string& bytes) {
  int file = memfd_create("bytes", 0);
  long r = write(file, bytes.data(), bytes.size());
  off_t at = 0;
  if (r == static_cast<long>(bytes.size())) r = sendfile(fd, file, &at, bytes.size());
  int saved = errno;
  close(file);
  errno = saved;
  return r;
}

// Nobody knows how much it has written.
void was_left(Model& m, int file, std::atomic<long>* result) {
  if (result->load() != kNotYet) return;
  result->store(0);
  m.files[static_cast<size_t>(file)].torn = true;
}

std::optional<Op> long_write(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Tcp, Kind::PipeOut}, [&](int i) {
    return m.may_wait_out(i) && m.peer(i) != nullptr && cannot_be_seen_in_parts(m, i) &&
           (m.file(i).kind != Kind::Tcp || !m.peer(i)->deaf);
  });
  if (s < 0) return {};
  int file = m.slots[s].file;
  bool pipe = m.file(s).kind == Kind::PipeOut;
  long size = pipe ? 300000 : m.file(s).kind == Kind::Local ? 900000 : 3000000;
  uint32_t way = m.random.below(pipe ? 3 : 5);
  static const char* const kWays[] = {"write", "writev", "sendfile", "send", "sendmsg"};
  Op op;
  op.text = text_of("long %s s%d", kWays[way], s);
  op.holds = {{Use::Out, file}};
  auto result = std::make_shared<std::atomic<long>>(kNotYet);
  op.run = [fd = m.slots[s].fd, size, way, result, serial = ++m.serial] {
    std::string bytes(static_cast<size_t>(size), static_cast<char>('a' + serial % 26));
    bytes.replace(bytes.size() - kEndSize, kEndSize, kEnd);
    iovec parts[2] = {{bytes.data(), 1000}, {bytes.data() + 1000, bytes.size() - 1000}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    long r = way == 0   ? write(fd, bytes.data(), bytes.size())
             : way == 1 ? writev(fd, parts, 2)
             : way == 2 ? send_a_file(fd, bytes)
             : way == 3 ? send(fd, bytes.data(), bytes.size(), 0)
                        : sendmsg(fd, &message, 0);
    std::string text = answer_in_part(r, size);
    // Whether it has left an error for the next call depends on how it is cut.
    int error;
    socklen_t length = sizeof error;
    if (way == 2) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    result->store(r);
    return text;
  };
  op.may_leave = way != 2;  // it would leave its file open
  op.after = [&m, file, result] { was_left(m, file, result.get()); };
  op.begins = [&m, file, result] {
    File& f = m.files[static_cast<size_t>(file)];
    f.choked = f.takeable = true;
    f.choked_before = 0;
    f.choker = result;
  };
  return op;
}

// As many small messages as there is room for.
std::optional<Op> fill(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Datagram, Kind::Packet}, [&](int i) {
    return m.may_wait_out(i) && m.peer(i) != nullptr && cannot_be_seen_in_parts(m, i);
  });
  if (s < 0) return {};
  int file = m.slots[s].file;
  bool messages = m.file(s).kind == Kind::Datagram || m.file(s).kind == Kind::Packet;
  Op op;
  op.text = text_of("fill s%d", s);
  op.may_wait = false;
  auto result = std::make_shared<std::atomic<long>>(0);
  op.run = [fd = m.slots[s].fd, messages, result, name = m.file(s).name] {
    std::string bytes(4000, 'f');
    long n = 0, r;
    while ((r = send_to(fd, bytes.data(), bytes.size(), MSG_DONTWAIT, name)) > 0) ++n, *result += r;
    return (messages ? text_of("%ld, ", n) : n != 0 ? "some, " : "none, ") + answer(r);
  };
  op.after = [&m, file, result] {
    File& f = m.files[static_cast<size_t>(file)];
    f.choked = true;
    f.takeable = false;
    f.choked_before = 0;
    f.choker = result;
  };
  return op;
}

// One more where there is no room.
std::optional<Op> send_to_full(Model& m) {
  int s = m.pick([&](int i) {
    const File& f = m.file(i);
    return is_socket(f.kind) && f.kind != Kind::Tcp && f.choked && f.out == 0 &&
           !m.watched(m.slots[i].file) && m.peer(i) != nullptr && cannot_be_seen_in_parts(m, i) &&
           f.choker->load() != kNotYet;
  });
  if (s < 0) return {};
  int file = m.slots[s].file;
  Op op;
  op.text = text_of("send to full s%d", s);
  op.holds = {{Use::Out, file}};
  auto result = std::make_shared<std::atomic<long>>(kNotYet);
  op.run = [fd = m.slots[s].fd, result, name = m.file(s).name] {
    char bytes[50] = "more";
    long r = send_to(fd, bytes, sizeof bytes, 0, name);
    std::string text = answer_in_part(r, sizeof bytes);
    result->store(r);
    return text;
  };
  op.may_leave = true;
  op.after = [&m, file, result] { was_left(m, file, result.get()); };
  op.begins = [&m, file, result] {
    File& f = m.files[static_cast<size_t>(file)];
    f.takeable = false;
    f.choked_before += std::max(f.choker->load(), 0l);
    f.choker = result;
  };
  return op;
}

int reader_of_choked(Model& m) {
  return m.pick([&](int i) {
    Kind kind = m.file(i).kind;
    File* p = m.peer(i);
    return (is_socket(kind) || kind == Kind::PipeIn) && m.file(i).in == 0 && p != nullptr &&
           p->choked && !m.watched(m.slots[i].file) && !m.watched(m.file(i).peer);
  });
}

// All there is, until who wrote it has ended.
std::optional<Op> drain(Model& m) {
  int s = reader_of_choked(m);
  if (s < 0) return {};
  int from = m.file(s).peer;
  File& f = m.files[static_cast<size_t>(from)];
  Op op;
  op.text = text_of("drain s%d", s);
  op.may_wait = false;
  op.ends = true;
  // Who has closed his last number closes the file as he comes back, before he says how much it
  // was.
  op.run = [fd = m.slots[s].fd, pipe = !is_socket(m.file(s).kind), before = f.choked_before,
            last = f.choker, closed = f.slots == 0, torn = f.torn] {
    std::string bytes(100000, 0);
    long total = 0, r = 0;
    for (int64_t since = now_ns(); now_ns() - since < (torn ? 300000000 : 3000000000);) {
      pollfd p{fd, POLLIN, 0};
      errno = EAGAIN;
      bool over = last->load() != kNotYet;
      r = !pipe                              ? recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT)
          : poll(&p, 1, 0) == 1 && p.revents ? read(fd, bytes.data(), bytes.size())
                                             : -1;
      if (r > 0) {
        total += r;
        since = now_ns();
      } else if (r == 0 || errno != EAGAIN ||
                 (over && !torn && total >= before + std::max(last->load(), 0l))) {
        break;
      } else {
        sleep_ms(1);
      }
    }
    std::string end = answer(r);
    if (closed) return std::string("the rest of a closed file");
    if (torn) return "the rest of a torn write, " + end;
    bool over = last->load() != kNotYet;
    long rest = total - before - (over ? std::max(last->load(), 0l) : 0);
    return text_of("%srest %ld, ", over ? "" : "stuck, ", over ? std::max(rest, -1l) : -1) + end;
  };
  op.after = [&m, from] {
    File& f = m.files[static_cast<size_t>(from)];
    if (f.choker->load() == kNotYet) return;
    f.choked = f.torn = false;
    f.loaded = 0;
  };
  return op;
}

// A long write as a whole, by reads that wait.
std::optional<Op> take(Model& m) {
  int s = reader_of_choked(m);
  if (s < 0) return {};
  int from = m.file(s).peer;
  File& f = m.files[static_cast<size_t>(from)];
  // One that has ended in the middle has no end; of a closed file it may be lost by a reset.
  if (!f.takeable || f.slots == 0 || f.choker->load() != kNotYet) return {};
  static const size_t kSizes[] = {3000, 70000, 1000000};
  size_t size = m.random.of(kSizes);
  Op op;
  op.text = text_of("take s%d by %zu", s, size);
  op.holds = {{Use::In, m.slots[s].file}, {Use::Number, s}};
  auto ended = std::make_shared<bool>(false);
  op.run = [fd = m.slots[s].fd, size, ended] {
    std::string bytes(size, 0), tail;
    uint64_t total = 0, sum = 0;
    for (;;) {
      long r = read(fd, bytes.data(), bytes.size());
      pollfd p{fd, POLLIN, 0};
      if (r < 0 && errno == EAGAIN && poll(&p, 1, -1) == 1) continue;
      if (r <= 0) return "part, " + answer(r);
      total += static_cast<uint64_t>(r);
      for (long i = 0; i < r; ++i) sum += static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
      tail.append(bytes, r > kEndSize ? static_cast<size_t>(r - kEndSize) : 0,
                  static_cast<size_t>(std::min(r, kEndSize)));
      if (tail.size() > kEndSize) tail.erase(0, tail.size() - kEndSize);
      if (tail == kEnd) break;
    }
    *ended = true;
    return text_of("%llu, sum %llx", static_cast<unsigned long long>(total),
                   static_cast<unsigned long long>(sum));
  };
  op.after = [&m, from, ended] {
    if (!*ended) return;
    File& f = m.files[static_cast<size_t>(from)];
    f.choked = false;
    f.loaded = 0;
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kLong = {
    {8, long_write}, {4, fill}, {6, send_to_full}, {8, drain}, {8, take},
};

}  // namespace fuzz
