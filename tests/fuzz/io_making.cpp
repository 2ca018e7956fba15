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
Op pair(Model& m, const std::string& name, Kind one, Kind other, std::function<int(int*)> make) {
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

Op single(Model& m, const std::string& name, Kind kind, std::function<int()> make,
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
  bool packets = m.random.one_in(5);
  return pair(m, packets ? "pipe of packets" : "pipe", Kind::PipeIn, Kind::PipeOut,
              [packets](int* ends) { return packets ? pipe2(ends, O_DIRECT) : pipe(ends); });
}

// A socket with a name, and one that says with each message whom it is for, as to a system log.
std::optional<Op> named_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  auto name = std::make_shared<std::string>();
  Op op = pair(m, "named datagrams", Kind::Datagram, Kind::Datagram, [name](int* ends) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;  // an abstract name of the kernel's choice
    socklen_t length = sizeof a.sun_family;
    for (int i = 0; i < 2; ++i) ends[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (bind(ends[0], reinterpret_cast<sockaddr*>(&a), length) != 0) return -1;
    length = sizeof a;
    int r = getsockname(ends[0], reinterpret_cast<sockaddr*>(&a), &length);
    name->assign(reinterpret_cast<char*>(&a), length);
    return r;
  });
  op.after = [&m, name, then = std::move(op.after)] {
    then();
    File& sender = m.files.back();
    sender.unconnected = true;
    sender.name = *name;
  };
  return op;
}

// An address of this machine, with no port.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};
enum class Family { Four, Six, FourInSix };  // the last one is what Java's sockets are
const char* name_of(Family f) {
  return f == Family::Four ? "" : f == Family::Six ? " of IPv6" : " of IPv4 in IPv6";
}
Family any_family(Model& m) {
  static const Family kFamilies[] = {Family::Four, Family::Six, Family::FourInSix};
  return m.random.of(kFamilies);
}
Address loopback(Family family) {
  Address a;
  if (family == Family::Four) {
    auto* four = reinterpret_cast<sockaddr_in*>(&a.storage);
    four->sin_family = AF_INET;
    four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.length = sizeof *four;
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&a.storage);
    six->sin6_family = AF_INET6;
    inet_pton(AF_INET6, family == Family::Six ? "::1" : "::ffff:127.0.0.1", &six->sin6_addr);
    a.length = sizeof *six;
  }
  return a;
}

int tcp_socket(Family family) {
  int fd = socket(family == Family::Four ? AF_INET : AF_INET6, SOCK_STREAM, 0), one = 1,
      size = 100000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  return fd;
}

int bound(int fd, Family family, Address* a) {
  *a = loopback(family);
  return bind(fd, a->get(), a->length) == 0 && getsockname(fd, a->get(), &a->length) == 0 ? fd : -1;
}

std::optional<Op> tcp_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  Family family = any_family(m);
  std::string name = text_of("tcp pair%s", name_of(family));
  return pair(m, name, Kind::Tcp, Kind::Tcp, [family](int* ends) {
    Address a;
    int listener = bound(tcp_socket(family), family, &a);
    if (listen(listener, 5) != 0) return -1;
    ends[0] = tcp_socket(family);
    int r = connect(ends[0], a.get(), a.length);
    ends[1] = accept(listener, nullptr, nullptr);
    close(listener);
    return r;
  });
}

std::optional<Op> udp_pair(Model& m) {
  if (m.free_slots() < 2) return {};
  Family family = any_family(m);
  std::string name = text_of("udp pair%s", name_of(family));
  return pair(m, name, Kind::Udp, Kind::Udp, [family](int* ends) {
    Address a[2];
    int domain = family == Family::Four ? AF_INET : AF_INET6;
    for (int i = 0; i < 2; ++i) ends[i] = bound(socket(domain, SOCK_DGRAM, 0), family, &a[i]);
    return connect(ends[0], a[1].get(), a[1].length) | connect(ends[1], a[0].get(), a[0].length);
  });
}

// Connected to itself: what it sends comes back.
std::optional<Op> own_peer(Model& m) {
  if (m.free_slots() < 1) return {};
  Family family = any_family(m);
  bool tcp = m.random.one_in(2);
  std::string name = text_of("%s%s to itself", tcp ? "tcp" : "udp", name_of(family));
  return single(
      m, name, tcp ? Kind::Tcp : Kind::Udp,
      [family, tcp] {
        Address a;
        int fd = tcp ? tcp_socket(family)
                     : socket(family == Family::Four ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
        return bound(fd, family, &a) < 0 || connect(fd, a.get(), a.length) != 0 ? -1 : fd;
      },
      [&m](File& f) { f.peer = static_cast<int>(&f - m.files.data()); });
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
  Family family = local ? Family::Four : any_family(m);
  std::string name = text_of("%s listener%s", local ? "local" : "tcp", name_of(family));
  return single(
      m, name, Kind::Listener,
      [local, family] {
        Address a;
        int fd = local ? socket(AF_UNIX, SOCK_STREAM, 0) : bound(tcp_socket(family), family, &a);
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
    {12, local_pair}, {8, pipe_pair}, {8, tcp_pair}, {3, udp_pair},   {2, terminal_pair},
    {5, counter},     {3, timer},     {7, instance}, {1, notifier},   {2, signal_queue},
    {2, disk_file},   {4, listener},  {2, fifo},     {3, named_pair}, {2, own_peer},
};

}  // namespace fuzz
