// What is seldom called: queues of messages, wrong calls, vmsplice, UDP without a peer, connections
// for which there is no room. See io_model.h.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

namespace {

struct Message {
  long type;
  char text[20];
};

// System V's (kept by the kernel only) or POSIX's (a descriptor that no model knows). One of each.
std::optional<Op> queue_receives(Model& m) {
  bool posix = m.random.one_in(2);
  int hold = m.queues + posix;
  if (m.files[static_cast<size_t>(hold)].in != 0 || (posix ? m.other_queue : m.queue) < 0)
    return {};
  bool brief = posix && m.random.one_in(4);
  Op op;
  op.text = posix ? brief ? "mq_timedreceive 5 ms" : "mq_receive" : "msgrcv";
  op.holds = {{Use::In, hold}};
  op.may_leave = true;
  op.ends = brief;
  op.run = [id = posix ? m.other_queue : m.queue, posix, brief] {
    Message message{};
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 5000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    long r = brief   ? mq_timedreceive(id, message.text, sizeof message.text, nullptr, &until)
             : posix ? mq_receive(id, message.text, sizeof message.text, nullptr)
                     : msgrcv(id, &message, sizeof message.text, 0, 0);
    return answer(r) + checksum(message.text, r);
  };
  return op;
}

std::optional<Op> queue_sends(Model& m) {
  bool posix = m.random.one_in(2);
  int id = posix ? m.other_queue : m.queue, hold = m.queues + posix;
  // Where nobody takes it, only two have room.
  if (id < 0 || m.files[static_cast<size_t>(hold)].out != 0) return {};
  Op op;
  op.text = posix ? "mq_send" : "msgsnd";
  op.holds = {{Use::Out, hold}};
  op.may_leave = true;
  op.run = [id, posix, bytes = payload(m, 20)] {
    Message message{1, {}};
    memcpy(message.text, bytes.data(), 10);
    return answer(posix ? mq_send(id, message.text, 10, 0) : msgsnd(id, &message, 10, 0));
  };
  return op;
}

// One of System V's counts, which calls take from, add to, or wait to be nothing.
std::optional<Op> counts(Model& m) {
  static const short kChanges[] = {-1, -1, -2, 0, 1, 1, 2};
  short change = m.random.of(kChanges);
  if (m.semaphore < 0) return {};
  if (change <= 0 && m.files[static_cast<size_t>(m.semaphores)].in != 0) return {};
  bool brief = change <= 0 && m.random.one_in(4);
  Op op;
  op.text = text_of("semop %d%s", change, brief ? " 5 ms" : "");
  op.may_wait = op.may_leave = change <= 0;
  op.ends = brief;
  if (change <= 0) op.holds = {{Use::In, m.semaphores}};
  op.run = [id = m.semaphore, change, brief] {
    sembuf b{0, change, 0};
    timespec t{0, 5000000};
    return answer(brief ? semtimedop(id, &b, 1, &t) : semop(id, &b, 1));
  };
  return op;
}

std::string each_of(std::initializer_list<long> results) {
  std::string text;
  for (long r : results) {
    errno = r < 0 ? static_cast<int>(-r) : 0;
    text += (text.empty() ? "" : ", ") + answer(r < 0 ? -1 : r);
  }
  return text;
}
long or_error(long r) { return r < 0 ? -errno : r; }

// None of them waits, or takes something.
std::optional<Op> wrong_calls(Model& m) {
  int s = m.pick([&](int i) { return m.file(i).kind != Kind::Disk; });
  if (s < 0) return {};
  Kind kind = m.file(s).kind;
  bool counts = kind == Kind::Event || kind == Kind::Timer;
  Op op;
  op.text = text_of("wrong calls of s%d", s);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, kind, counts] {
    char c[8] = {};
    sockaddr_storage a{};
    socklen_t length = sizeof a;
    epoll_event event{};
    itimerspec t{};
    std::string text = each_of({or_error(pread(fd, c, 1, 0)), or_error(lseek(fd, 0, SEEK_CUR)),
                                or_error(dup2(fd, -1)), or_error(dup3(fd, fd, 0)),
                                or_error(dup2(fd, fd) - fd), or_error(ftruncate(fd, 0))});
    if (counts) text += "; " + each_of({or_error(read(fd, c, 4)), or_error(write(fd, c, 4))});
    if (kind != Kind::Epoll) text += "; " + each_of({or_error(epoll_wait(fd, &event, 1, 0))});
    if (kind != Kind::Timer)
      text += "; " + each_of({or_error(timerfd_settime(fd, 0, &t, nullptr))});
    if (kind == Kind::Epoll)
      text += "; " + each_of({or_error(read(fd, c, 1)), or_error(write(fd, c, 1)),
                              or_error(epoll_wait(fd, &event, 0, -1)),
                              or_error(epoll_ctl(fd, EPOLL_CTL_ADD, fd, &event))});
    if (kind == Kind::PipeIn) text += "; " + each_of({or_error(write(fd, c, 1))});
    if (kind == Kind::PipeOut) text += "; " + each_of({or_error(read(fd, c, 1))});
    if (!is_socket(kind) && kind != Kind::Listener)
      text += "; " + each_of({or_error(recv(fd, c, 1, 0)), or_error(send(fd, c, 1, 0)),
                              or_error(accept(fd, nullptr, nullptr)), or_error(shutdown(fd, 2)),
                              or_error(connect(fd, reinterpret_cast<sockaddr*>(&a), length))});
    if (is_socket(kind))
      text += "; " + each_of({or_error(accept(fd, nullptr, nullptr)), or_error(shutdown(fd, 7)),
                              or_error(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, c, 1)),
                              or_error(recvmmsg(fd, nullptr, 0, 0, nullptr)),
                              or_error(sendmmsg(fd, nullptr, 0, 0))});
    if (is_stream(kind)) text += "; " + each_of({or_error(read(fd, c, 0))});
    if (is_stream(kind) && getpeername(fd, reinterpret_cast<sockaddr*>(&a), &length) == 0 &&
        length > sizeof a.ss_family)
      text += "; " + each_of({or_error(connect(fd, reinterpret_cast<sockaddr*>(&a), length))});
    return text;
  };
  return op;
}

std::optional<Op> wrong_times(Model&) {
  Op op;
  op.text = "wrong times";
  op.run = [] {
    timespec t{0, 1000000000}, past{-1, 0};
    sigset_t set;
    sigemptyset(&set);
    pollfd p{-1, POLLIN, 0};
    timeval v{-1, 0};
    return each_of({or_error(nanosleep(&t, nullptr)), or_error(nanosleep(&past, nullptr)),
                    or_error(ppoll(&p, 1, &t, nullptr)), or_error(ppoll(&p, 1, &past, nullptr)),
                    or_error(pselect(0, nullptr, nullptr, nullptr, &t, nullptr)),
                    or_error(select(0, nullptr, nullptr, nullptr, &v)),
                    or_error(select(-1, nullptr, nullptr, nullptr, nullptr)),
                    or_error(sigtimedwait(&set, nullptr, &t)), or_error(poll(&p, 1, 0)),
                    -clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr),
                    -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, nullptr),
                    -clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &t, nullptr)});
  };
  return op;
}

// Pages of ours, which nobody writes to any more.
std::optional<Op> gives_pages(Model& m) {
  int s = m.pick_kind({Kind::PipeOut}, [&](int i) { return m.may_wait_out(i) && !m.has_squad(i); });
  if (s < 0) return {};
  bool at_once = m.random.one_in(3);
  Op op;
  op.text = text_of("vmsplice s%d%s", s, at_once ? " at once" : "");
  op.holds = {{Use::Out, m.slots[s].file}};
  op.begins = adds_load(m, s, 4096);
  op.run = [fd = m.slots[s].fd, at_once, bytes = payload(m, 60)] {
    // Within one page: else it takes two places of the pipe's.
    void* page = aligned_alloc(64, 64);
    memcpy(page, bytes.data(), bytes.size());
    iovec part{page, bytes.size()};
    return answer(vmsplice(fd, &part, 1, at_once ? SPLICE_F_NONBLOCK : 0));
  };
  return op;
}

// A datagram's peer is forgotten, or taken again, or named for one message.
std::optional<Op> peers(Model& m) {
  int s = m.pick_kind({Kind::Udp}, [&](int i) { return m.file(i).out == 0; });
  if (s < 0) return {};
  int other = -1;
  for (int i = 0; i < kSlots; ++i)
    if (m.slots[i].file >= 0 && m.slots[i].file == m.file(s).peer) other = i;
  if (other < 0) return {};
  uint32_t way = m.random.below(4);
  static const char* const kWays[] = {"forget the peer of", "connect again", "sendto from",
                                      "sendto from"};
  Op op;
  op.text = text_of("%s s%d", kWays[way], s);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, to = m.slots[other].fd, way, bytes = payload(m, 30)] {
    sockaddr_storage a{};
    socklen_t length = sizeof a;
    if (way == 0)
      a.ss_family = AF_UNSPEC;
    else if (getsockname(to, reinterpret_cast<sockaddr*>(&a), &length) != 0)
      return answer(-1);
    return answer(way < 2 ? connect(fd, reinterpret_cast<sockaddr*>(&a), length)
                          : sendto(fd, bytes.data(), bytes.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&a), length));
  };
  return op;
}

// As many as the backlog takes, and one more, which has not long to wait.
std::optional<Op> connects_to_full(Model& m) {
  bool local = m.random.one_in(2);
  if (m.child.heir && m.child.pid > 0) return {};
  Op op;
  op.text = local ? "connect to a full local backlog" : "connect to a full tcp backlog";
  op.ends = true;
  op.run = [local] {
    sockaddr_storage a{};
    a.ss_family = local ? AF_UNIX : AF_INET;
    socklen_t length = local ? sizeof a.ss_family : sizeof(sockaddr_in);
    if (!local) reinterpret_cast<sockaddr_in*>(&a)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int type = SOCK_STREAM | SOCK_CLOEXEC, s[4];
    for (int& fd : s) fd = socket(a.ss_family, type, 0);
    bind(s[0], reinterpret_cast<sockaddr*>(&a), length);
    listen(s[0], 0);
    length = sizeof a;
    getsockname(s[0], reinterpret_cast<sockaddr*>(&a), &length);
    std::string text;
    for (int i = 1; i < 4; ++i) {
      timeval t{0, 5000};
      setsockopt(s[i], SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
      text += each_of({or_error(connect(s[i], reinterpret_cast<sockaddr*>(&a), length))}) + " ";
    }
    fcntl(s[0], F_SETFL, O_NONBLOCK);
    for (int fd; (fd = accept4(s[0], nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(fd)) text += "+";
    for (int fd : s) close(fd);
    return text;
  };
  return op;
}

std::optional<Op> urgent_inline(Model& m) {
  int s = m.pick_kind({Kind::Tcp}, [&](int i) { return m.file(i).in == 0; });
  if (s < 0) return {};
  int on = static_cast<int>(m.random.below(2));
  return sets_option(m, s, "SO_OOBINLINE", SO_OOBINLINE, on);
}

std::optional<Op> copies_range(Model& m) {
  int s = m.pick_kind({Kind::Disk}, [](int) { return true; });
  if (s < 0) return {};
  int t = m.pick([](int) { return true; });
  Op op;
  op.text = text_of("copy_file_range s%d to s%d", s, t);
  op.may_wait = false;
  op.run = [in = m.slots[s].fd, out = m.slots[t].fd] {
    off_t from = 0, to = 100;
    return answer(copy_file_range(in, &from, out, &to, 10, 0));
  };
  return op;
}

}  // namespace

void make_queues(Model& m) {
  std::string name = "/io_steps." + m.folder.substr(m.folder.rfind('.') + 1);
  mq_attr attributes{};
  attributes.mq_maxmsg = 2;
  attributes.mq_msgsize = sizeof(Message::text);
  m.other_queue = mq_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attributes);
  mq_unlink(name.c_str());
  m.queue = msgget(IPC_PRIVATE, 0600);
  msqid_ds limits{};
  if (msgctl(m.queue, IPC_STAT, &limits) != 0) return;
  limits.msg_qbytes = 20;
  msgctl(m.queue, IPC_SET, &limits);
  m.semaphore = semget(IPC_PRIVATE, 1, 0600);
}

void remove_queues(Model& m) {
  if (m.other_queue >= 0) mq_close(m.other_queue);
  if (m.queue >= 0) msgctl(m.queue, IPC_RMID, nullptr);
  if (m.semaphore >= 0) semctl(m.semaphore, 0, IPC_RMID);
}

const std::vector<Weighted> kRare = {
    {8, queue_receives}, {8, queue_sends}, {4, wrong_calls},      {2, wrong_times},
    {4, gives_pages},    {5, peers},       {2, connects_to_full}, {2, urgent_inline},
    {1, copies_range},   {5, counts},
};

}  // namespace fuzz
