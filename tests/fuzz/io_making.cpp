// What makes descriptors. See io_model.h.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

namespace {

// Two descriptors made by `make`, which are each other's peers.
Op pair(Model& m, const char* name, Kind one, Kind other, std::function<int(int*)> make) {
  Op op;
  op.text = name;
  op.may_wait = false;
  auto ends = std::make_shared<std::array<int, 2>>();
  op.run = [ends, make] { return answer(make(ends->data())); };
  op.after = [&m, ends, one, other] {
    int a = m.add_file(one), b = m.add_file(other);
    m.files[static_cast<size_t>(a)].peer = b;
    m.files[static_cast<size_t>(b)].peer = a;
    int sa = m.put((*ends)[0], a), sb = m.put((*ends)[1], b);
    printf("    s%d s%d\n", sa, sb);
  };
  return op;
}

Op single(Model& m, const char* name, Kind kind, std::function<int()> make,
          std::function<void(File&)> then = {}) {
  Op op;
  op.text = name;
  op.may_wait = false;
  auto fd = std::make_shared<int>(-1);
  op.run = [fd, make] { return *fd = make(), *fd >= 0 ? std::string("ok") : answer(-1); };
  op.after = [&m, fd, kind, then] {
    if (*fd < 0) return;
    int f = m.add_file(kind);
    if (then) then(m.files[static_cast<size_t>(f)]);
    printf("    s%d\n", m.put(*fd, f));
  };
  return op;
}

std::optional<Op> local_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  static const struct {
    const char* name;
    int type;
    Kind kind;
  } kTypes[] = {{"local stream pair", SOCK_STREAM, Kind::Local},
                {"local stream pair", SOCK_STREAM, Kind::Local},
                {"datagram pair", SOCK_DGRAM, Kind::Datagram},
                {"packet pair", SOCK_SEQPACKET, Kind::Packet}};
  auto t = m.random.of(kTypes);
  return pair(m, t.name, t.kind, t.kind,
              [t](int* ends) { return socketpair(AF_UNIX, t.type, 0, ends); });
}

std::optional<Op> pipe_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  return pair(m, "pipe", Kind::PipeIn, Kind::PipeOut, [](int* ends) { return pipe(ends); });
}

sockaddr_in loopback() {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

int tcp_socket() {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, size = 100000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return fd;
}

int bound(int fd, sockaddr_in* a) {
  socklen_t length = sizeof *a;
  *a = loopback();
  return bind(fd, reinterpret_cast<sockaddr*>(a), length) == 0 &&
                 getsockname(fd, reinterpret_cast<sockaddr*>(a), &length) == 0
             ? fd
             : -1;
}

std::optional<Op> tcp_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  return pair(m, "tcp pair", Kind::Tcp, Kind::Tcp, [](int* ends) {
    sockaddr_in a;
    int listener = bound(tcp_socket(), &a);
    if (listen(listener, 5) != 0) return -1;
    ends[0] = tcp_socket();
    int r = connect(ends[0], reinterpret_cast<sockaddr*>(&a), sizeof a);
    ends[1] = accept(listener, nullptr, nullptr);
    close(listener);
    return r;
  });
}

std::optional<Op> udp_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  return pair(m, "udp pair", Kind::Udp, Kind::Udp, [](int* ends) {
    sockaddr_in a[2];
    for (int i = 0; i < 2; ++i) ends[i] = bound(socket(AF_INET, SOCK_DGRAM, 0), &a[i]);
    return connect(ends[0], reinterpret_cast<sockaddr*>(&a[1]), sizeof a[1]) |
           connect(ends[1], reinterpret_cast<sockaddr*>(&a[0]), sizeof a[0]);
  });
}

std::optional<Op> terminal_pair(Model& m) {
  if (m.free_slots() < 2 || m.child.heir) return {};
  bool raw = !m.random.one_in(3);
  Op op =
      pair(m, raw ? "raw terminal" : "terminal", Kind::Terminal, Kind::Terminal, [raw](int* ends) {
        if (openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) return -1;
        termios t;
        tcgetattr(ends[1], &t);
        if (raw)
          cfmakeraw(&t);
        else  // what is put in or echoed would come in parts
          t.c_lflag &= ~static_cast<tcflag_t>(ECHO), t.c_oflag &= ~tcflag_t{OPOST};
        return tcsetattr(ends[1], TCSANOW, &t);
      });
  op.stirs = true;
  return op;
}

std::optional<Op> counter(Model& m) {
  if (m.free_slots() < 1) return {};
  bool semaphore = m.random.one_in(3);
  return single(
      m, semaphore ? "eventfd semaphore" : "eventfd", Kind::Event,
      [semaphore] { return eventfd(0, semaphore ? EFD_SEMAPHORE : 0); },
      [semaphore](File& f) { f.semaphore = semaphore; });
}

std::optional<Op> timer(Model& m) {
  if (m.free_slots() < 1) return {};
  return single(m, "timerfd", Kind::Timer, [] { return timerfd_create(CLOCK_MONOTONIC, 0); });
}

std::optional<Op> instance(Model& m) {
  if (m.free_slots() < 1 || m.child.heir) return {};
  return single(m, "epoll instance", Kind::Epoll, [] { return epoll_create1(0); });
}

std::optional<Op> notifier(Model& m) {
  if (m.free_slots() < 1 || has_kind(m, Kind::Inotify)) return {};
  return single(m, "inotify", Kind::Inotify, [folder = m.folder] {
    int fd = inotify_init1(0);
    inotify_add_watch(fd, folder.c_str(), IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    return fd;
  });
}

std::optional<Op> signal_queue(Model& m) {
  if (m.free_slots() < 1 || has_kind(m, Kind::SignalQueue)) return {};
  return single(m, "signalfd", Kind::SignalQueue, [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, for_descriptor());
    return signalfd(-1, &set, 0);
  });
}

std::optional<Op> disk_file(Model& m) {
  if (m.free_slots() < 1) return {};
  return single(m, "file", Kind::Disk, [folder = m.folder] {
    return open((folder + ".lock").c_str(), O_RDWR | O_CREAT, 0600);
  });
}

std::optional<Op> listener(Model& m) {
  if (m.free_slots() < 1) return {};
  bool local = m.random.one_in(2);
  return single(
      m, local ? "local listener" : "tcp listener", Kind::Listener,
      [local] {
        sockaddr_in a;
        int fd = local ? socket(AF_UNIX, SOCK_STREAM, 0) : bound(tcp_socket(), &a);
        sockaddr_un any{};
        any.sun_family = AF_UNIX;  // an abstract name of the kernel's choice
        if (local && bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any.sun_family) != 0)
          return -1;
        return listen(fd, local ? 1 : 8) == 0 ? fd : -1;
      },
      [local](File& f) { f.local_listener = local; });
}

std::optional<Op> fifo(Model& m) {
  if (m.fifo >= 0) {
    const File& f = m.files[static_cast<size_t>(m.fifo)];
    if (f.in != 0 || f.out != 0 || m.fifo_read != m.fifo_written || !m.fifo_read) return {};
  }
  std::string path = m.folder + text_of(".fifo%d", ++m.names);
  Op op;
  op.text = "mkfifo";
  op.may_wait = false;
  op.run = [path, old = m.fifo_path] {
    if (!old.empty()) unlink(old.c_str());
    return answer(mkfifo(path.c_str(), 0600));
  };
  m.fifo = m.add_file(Kind::PipeIn);
  m.fifo_path = path;
  m.fifo_read = m.fifo_written = false;
  m.fifo_reader = m.fifo_writer = -1;
  return op;
}

}  // namespace

bool has_kind(Model& m, Kind kind) {
  for (int i = 0; i < kSlots; ++i)
    if (m.slots[i].file >= 0 && m.file(i).kind == kind) return true;
  return false;
}

const std::vector<Weighted> kMaking = {
    {12, local_pair}, {8, pipe_pair}, {8, tcp_pair}, {3, udp_pair}, {2, terminal_pair},
    {5, counter},     {3, timer},     {7, instance}, {1, notifier}, {2, signal_queue},
    {2, disk_file},   {4, listener},  {2, fifo},
};

}  // namespace fuzz
