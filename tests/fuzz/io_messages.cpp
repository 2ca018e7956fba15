// What only sockets do, and what moves bytes between descriptors. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

int identify(const Model& m, int fd) {
  struct stat s;
  int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
  if (fstat(fd, &s) != 0) return -1;
  for (size_t i = 0; i < m.files.size(); ++i) {
    const File& f = m.files[i];
    if (f.identity[0] == s.st_dev && f.identity[1] == s.st_ino &&
        (f.kind == Kind::PipeIn    ? mode == O_RDONLY
         : f.kind == Kind::PipeOut ? mode == O_WRONLY
                                   : is_socket(f.kind) || f.kind == Kind::Listener))
      return static_cast<int>(i);
  }
  return -1;
}

long send_to(int fd, const void* bytes, size_t size, int flags, const std::string& name) {
  if (name.empty()) return send(fd, bytes, size, flags);
  return sendto(fd, bytes, size, flags, reinterpret_cast<const sockaddr*>(name.data()),
                static_cast<socklen_t>(name.size()));
}

namespace {

const auto kSockets = {Kind::Local, Kind::Datagram, Kind::Packet, Kind::Tcp, Kind::Udp};

struct Flag {
  int bit;
  const char* name;
};

std::string names_of(int flags) {
  static const Flag kFlags[] = {{MSG_PEEK, " peek"},       {MSG_DONTWAIT, " dontwait"},
                                {MSG_WAITALL, " waitall"}, {MSG_TRUNC, " trunc"},
                                {MSG_OOB, " oob"},         {MSG_WAITFORONE, " waitforone"},
                                {MSG_CTRUNC, " ctrunc"},   {MSG_EOR, " eor"}};
  std::string s;
  for (const Flag& f : kFlags)
    if ((flags & f.bit) != 0) s += f.name;
  return s;
}

int random_receive_flags(Model& m, Kind kind) {
  int flags = 0;
  if (m.random.one_in(4)) flags |= MSG_PEEK;
  if (m.random.one_in(4)) flags |= MSG_DONTWAIT;
  if (m.random.one_in(4)) flags |= MSG_WAITALL;
  if (m.random.one_in(8) && !is_stream(kind)) flags |= MSG_TRUNC;
  if (m.random.one_in(6) && kind == Kind::Tcp) flags |= MSG_OOB;
  return flags;
}

// A receive that does not wait may go where somebody else does: he waits because nothing is there.
int pick_receiver(Model& m, int flags) {
  return m.pick_kind(kSockets, [&](int i) {
    return (flags & MSG_DONTWAIT) != 0 ? m.peer(i) == nullptr || !m.peer(i)->choked
                                       : m.may_wait_in(i);
  });
}

Op receive_of(Model& m, int s, long size, int flags, bool from) {
  Op op;
  op.text = text_of("%s s%d %ld%s", from ? "recvfrom" : "recv", s, size, names_of(flags).c_str());
  op.may_wait = (flags & MSG_DONTWAIT) == 0;
  op.may_leave = op.may_wait;
  if (op.may_wait) op.holds = {{Use::In, m.slots[s].file}};
  // Of those who peek for a message the kernel wakes one.
  bool wakes_all = (flags & MSG_PEEK) == 0 || is_stream(m.file(s).kind);
  if (op.may_wait && (flags & (MSG_WAITALL | MSG_OOB)) == 0 && wakes_all)
    op.again = [&m, s, size, flags, from, file = m.slots[s].file]() -> std::optional<Op> {
      if (!m.is_still(s, file)) return {};
      return receive_of(m, s, size, flags, from);
    };
  op.run = [fd = m.slots[s].fd, size, flags, from] {
    std::string bytes(static_cast<size_t>(size), 0);
    sockaddr_storage a;
    socklen_t length = sizeof a;
    long r = from ? recvfrom(fd, bytes.data(), bytes.size(), flags, reinterpret_cast<sockaddr*>(&a),
                             &length)
                  : recv(fd, bytes.data(), bytes.size(), flags);
    return answer(r) + checksum(bytes.data(), std::min(r, size));
  };
  return op;
}

std::optional<Op> receive(Model& m) {
  int flags = random_receive_flags(m, Kind::Tcp);
  int s = pick_receiver(m, flags);
  if (s < 0) return {};
  Kind kind = m.file(s).kind;
  if (!is_stream(kind) || kind != Kind::Tcp) flags &= ~MSG_OOB;
  if (kind != Kind::Local && m.random.one_in(6)) flags |= MSG_TRUNC;
  static const long kSizes[] = {0, 1, 5, 100, 5000};
  long size = m.random.of(kSizes);
  if (size == 0 && kind == Kind::Tcp) size = 10;  // waits here: docs/compatibility.md
  return receive_of(m, s, size, flags, m.random.one_in(3));
}

std::optional<Op> send_small(Model& m) {
  int s = m.pick_kind(kSockets, [&](int i) { return m.may_wait_out(i); });
  if (s < 0) return {};
  int flags = MSG_NOSIGNAL * static_cast<int>(m.random.below(2));
  if (m.random.one_in(3)) flags |= MSG_DONTWAIT;
  if (m.file(s).kind == Kind::Tcp && m.random.one_in(5) && !m.has_squad(s)) flags |= MSG_OOB;
  if (m.file(s).kind == Kind::Packet && m.random.one_in(4)) flags |= MSG_EOR;
  static const long kSizes[] = {0, 1, 4, 60, 2000};
  long size = m.random.of(kSizes);
  Op op;
  op.text = text_of("send s%d %ld%s", s, size, names_of(flags).c_str());
  op.may_wait = (flags & MSG_DONTWAIT) == 0;
  if (op.may_wait) op.holds = {{Use::Out, m.slots[s].file}};
  op.begins = adds_load(m, s, size);
  op.run = [fd = m.slots[s].fd, flags, bytes = payload(m, size), name = m.file(s).name] {
    return answer(send_to(fd, bytes.data(), bytes.size(), flags, name));
  };
  return op;
}

std::optional<Op> send_message(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Local, Kind::Datagram, Kind::Packet, Kind::Tcp},
                      [&](int i) { return m.may_wait_out(i); });
  if (s < 0) return {};
  int passed = -1;
  if (m.file(s).kind != Kind::Tcp && !m.edges && m.random.one_in(2))
    passed = m.pick_kind({Kind::PipeIn, Kind::PipeOut, Kind::Tcp, Kind::Local, Kind::Datagram,
                          Kind::Packet, Kind::Udp, Kind::Listener},
                         [&](int i) {
                           int f = m.slots[i].file;
                           return f != m.slots[s].file && f != m.file(s).peer;
                         });
  static const long kSizes[] = {1, 4, 60, 2000};
  long size = m.random.of(kSizes);
  Op op;
  op.text = text_of("sendmsg s%d %ld", s, size);
  if (passed >= 0) op.text += text_of(" with s%d", passed);
  op.holds = {{Use::Out, m.slots[s].file}};
  op.begins = adds_load(m, s, size + 4000 * (passed >= 0));
  op.run = [fd = m.slots[s].fd, bytes = payload(m, size + 2),
            with = passed >= 0 ? m.slots[passed].fd : -1]() mutable {
    iovec parts[2] = {{bytes.data(), 2}, {bytes.data() + 2, bytes.size() - 2}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (with >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(c), &with, sizeof with);
    }
    return answer(sendmsg(fd, &message, 0));
  };
  return op;
}

std::optional<Op> receive_message(Model& m) {
  int flags = m.random.one_in(3) ? MSG_PEEK : 0;
  if (m.random.one_in(4)) flags |= MSG_DONTWAIT;
  if (m.random.one_in(4)) flags |= MSG_WAITALL;
  int s = pick_receiver(m, flags);
  if (s < 0) return {};
  static const long kSizes[] = {2, 5, 100, 5000};
  long size = m.random.of(kSizes);
  bool room = !m.random.one_in(4);
  Op op;
  op.text = text_of("recvmsg s%d %ld%s%s", s, size, names_of(flags).c_str(),
                    room ? "" : " without control");
  op.may_wait = (flags & MSG_DONTWAIT) == 0;
  if (op.may_wait) op.holds = {{Use::In, m.slots[s].file}};
  auto passed = std::make_shared<int>(-1);
  op.run = [fd = m.slots[s].fd, size, flags, room, passed] {
    std::string bytes(static_cast<size_t>(size), 0);
    iovec parts[2] = {{bytes.data(), 1}, {bytes.data() + 1, bytes.size() - 1}};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    message.msg_control = room ? control : nullptr;
    message.msg_controllen = room ? sizeof control : 0;
    long r = recvmsg(fd, &message, flags);
    if (r < 0) return answer(r);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    if (c != nullptr && c->cmsg_type == SCM_RIGHTS) memcpy(passed.get(), CMSG_DATA(c), sizeof(int));
    return answer(r) + checksum(bytes.data(), std::min(r, size)) + names_of(message.msg_flags) +
           (*passed >= 0 ? " with a descriptor" : "");
  };
  op.after = [&m, passed] {
    if (*passed < 0) return;
    int file = identify(m, *passed), slot = file >= 0 ? m.put(*passed, file) : -1;
    printf("    s%d is a descriptor of s%d's sort\n", slot, file);
    if (slot < 0) close(*passed);
  };
  return op;
}

std::optional<Op> several(Model& m) {
  bool sends = m.random.one_in(2);
  int s = m.pick_kind(kSockets, [&](int i) {
    return sends ? m.file(i).kind != Kind::Udp && m.may_wait_out(i) && cannot_be_seen_in_parts(m, i)
                 : m.may_wait_in(i);
  });
  if (s < 0) return {};
  // What ends a recvmmsg after the first message is for the next call, and Linux keeps a signal as
  // errno 512. So none waits for a second one.
  int flags = sends ? 0 : m.random.one_in(2) ? MSG_WAITFORONE : MSG_DONTWAIT;
  Op op;
  op.text = text_of("%s s%d%s", sends ? "sendmmsg" : "recvmmsg", s, names_of(flags).c_str());
  op.holds = {{sends ? Use::Out : Use::In, m.slots[s].file}};
  if (sends) op.begins = adds_load(m, s, 8000);
  op.run = [fd = m.slots[s].fd, sends, flags, bytes = payload(m, 12)]() mutable {
    iovec parts[2] = {{bytes.data(), 5}, {bytes.data() + 5, 7}};
    mmsghdr both[2] = {};
    for (int i = 0; i < 2; ++i) both[i].msg_hdr.msg_iov = &parts[i], both[i].msg_hdr.msg_iovlen = 1;
    int r = sends ? sendmmsg(fd, both, 2, flags) : recvmmsg(fd, both, 2, flags, nullptr);
    std::string text = answer(r);
    for (int i = 0; i < r; ++i)
      text += text_of(" %u%s", both[i].msg_len,
                      checksum(parts[i].iov_base, std::min(both[i].msg_len, 5u)).c_str());
    return text;
  };
  return op;
}

enum class Way { Splice, Tee, SendFile };

// Bytes from one descriptor to another.
std::optional<Op> move(Model& m) {
  static const Way kWays[] = {Way::Splice, Way::Splice, Way::Tee, Way::SendFile};
  Way way = m.random.of(kWays);
  int to = m.pick_kind({Kind::PipeOut, Kind::Local, Kind::Tcp}, [&](int i) {
    return m.may_wait_out(i) && !m.has_squad(i) &&
           (way != Way::Tee || m.file(i).kind == Kind::PipeOut);
  });
  if (to < 0) return {};
  bool from_pipe = way == Way::Tee || m.file(to).kind != Kind::PipeOut;
  // From a socket to a pipe: who waits for bytes there holds the pipe's lock, and whoever so much
  // as closes the pipe then waits for him, deaf to signals. TCP waits whatever the flags.
  int from = way == Way::SendFile
                 ? m.pick_kind({Kind::Disk}, [](int) { return true; })
                 : m.pick_kind({Kind::PipeIn, Kind::Local, Kind::Tcp}, [&](int i) {
                     return m.may_wait_in(i) && (!from_pipe || m.file(i).kind == Kind::PipeIn) &&
                            (from_pipe || m.file(i).kind != Kind::Tcp) &&
                            m.slots[i].file != m.slots[to].file &&
                            m.file(i).peer != m.slots[to].file;
                   });
  if (from < 0) return {};
  bool from_socket = way == Way::Splice && is_socket(m.file(from).kind);
  static const size_t kSizes[] = {3, 500};
  size_t size = m.random.of(kSizes);
  Op op;
  op.text = text_of("%s s%d to s%d %zu",
                    way == Way::Splice ? "splice"
                    : way == Way::Tee  ? "tee"
                                       : "sendfile",
                    from, to, size);
  op.holds = {{Use::Out, m.slots[to].file}};
  if (way != Way::SendFile) op.holds.push_back({Use::In, m.slots[from].file});
  op.begins = adds_load(m, to, 5000);
  unsigned flags = from_socket ? SPLICE_F_NONBLOCK : 0;
  op.run = [in = m.slots[from].fd, out = m.slots[to].fd, way, size, flags] {
    off_t at = 0;
    return answer(way == Way::Splice ? splice(in, nullptr, out, nullptr, size, flags)
                  : way == Way::Tee  ? tee(in, out, size, 0)
                                     : sendfile(out, in, &at, size));
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kMessages = {
    {24, receive},         {16, send_small}, {12, send_message},
    {16, receive_message}, {10, several},    {12, move},
};

}  // namespace fuzz
