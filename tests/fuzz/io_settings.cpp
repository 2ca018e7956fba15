// What is set on files, mostly while others wait there. See io_model.h.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "io_ops.h"

namespace fuzz {

Op sets_option(const Model& m, int slot, const char* name, int option, int value) {
  Op op;
  op.text = text_of("%s s%d %d", name, slot, value);
  op.may_wait = false;
  op.run = [fd = m.slots[slot].fd, option, value] {
    return answer(setsockopt(fd, SOL_SOCKET, option, &value, sizeof value));
  };
  return op;
}

namespace {

std::optional<Op> low_water(Model& m) {
  // Of who receives on TCP meanwhile the kernel takes the new mark, Wisp the old one.
  int s = m.pick_kind({Kind::Local, Kind::Tcp}, [&](int i) {
    return (m.peer(i) == nullptr || !m.peer(i)->choked) &&
           (m.file(i).kind == Kind::Local || m.file(i).in == 0);
  });
  if (s < 0) return {};
  static const int kMarks[] = {1, 1, 6, 50};
  int mark = m.random.of(kMarks);
  Op op = sets_option(m, s, "SO_RCVLOWAT", SO_RCVLOWAT, mark);
  op.begins = [&m, file = m.slots[s].file] {
    if (m.waits_anywhere(file)) m.files[static_cast<size_t>(file)].begins_otherwise = true;
  };
  return op;
}

// More room lets a writer go on. Less is asked for only where nothing is inside: how many pages
// hold it depends on how it was cut.
std::optional<Op> pipe_sizes(Model& m) {
  int s = m.pick_kind({Kind::PipeIn, Kind::PipeOut}, [&](int i) {
    return !m.file(i).fifo && (m.peer(i) == nullptr || m.peer(i)->slots != 0);
  });
  if (s < 0) return {};
  int writer = m.file(s).kind == Kind::PipeOut ? m.slots[s].file : m.file(s).peer;
  const File& w = m.files[static_cast<size_t>(writer)];
  static const int kSizes[] = {65536, 262144, 1048576};
  int size = m.random.of(kSizes);
  if (size != 1048576 && (w.choked || w.loaded != 0 || w.out != 0)) return {};
  Op op;
  op.text = text_of("F_SETPIPE_SZ s%d %d", s, size);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd, size] { return answer(fcntl(fd, F_SETPIPE_SZ, size)); };
  return op;
}

std::optional<Op> room_to_send(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Datagram, Kind::Packet, Kind::Tcp},
                      [&](int i) { return m.file(i).choked || m.random.one_in(3); });
  if (s < 0) return {};
  Op op;
  op.text = text_of("SO_SNDBUF s%d", s);
  op.may_wait = false;
  op.run = [fd = m.slots[s].fd] {
    int size = 500000;
    return answer(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
  };
  return op;
}

// A peek begins that far behind the first byte, and moves it.
std::optional<Op> peek_offset(Model& m) {
  int s = m.pick_kind({Kind::Local, Kind::Datagram, Kind::Packet},
                      [&](int i) { return m.file(i).in == 0; });
  if (s < 0) return {};
  static const int kOffsets[] = {-1, -1, 0, 3};
  int offset = m.random.of(kOffsets);
  return sets_option(m, s, "SO_PEEK_OFF", SO_PEEK_OFF, offset);
}

// Held back until the last part is there, so that nobody sees them in parts.
std::optional<Op> sends_parts(Model& m) {
  int s = m.pick_kind({Kind::Tcp, Kind::Udp}, [&](int i) { return m.may_wait_out(i); });
  if (s < 0) return {};
  bool tcp = m.file(s).kind == Kind::Tcp, more = m.random.one_in(2);
  if (m.has_squad(s)) return {};
  Op op;
  op.text = text_of("%s s%d", more ? "MSG_MORE" : "cork", s);
  op.holds = {{Use::Out, m.slots[s].file}};
  op.begins = adds_load(m, s, 100);
  op.run = [fd = m.slots[s].fd, tcp, more, bytes = payload(m, 60)] {
    int on = 1, off = 0, level = tcp ? IPPROTO_TCP : IPPROTO_UDP, name = tcp ? TCP_CORK : UDP_CORK;
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    if (!more) setsockopt(fd, level, name, &on, sizeof on);
    std::string text = answer(send(fd, bytes.data(), 20, flags));
    text += ", " + answer(send(fd, bytes.data() + 20, 20, flags));
    text += ", " + answer(send(fd, bytes.data() + 40, 20, MSG_NOSIGNAL));
    if (!more) text += ", " + answer(setsockopt(fd, level, name, &off, sizeof off));
    return text;
  };
  return op;
}

// A connection that is given up, and a socket that could be connected anew.
std::optional<Op> disconnects(Model& m) {
  int s = m.pick_kind({Kind::Tcp}, [&](int i) {
    return !m.waits_anywhere(m.slots[i].file) && !m.file(i).choked && m.peer(i) != nullptr &&
           !m.peer(i)->choked && m.wakes_one(i);
  });
  if (s < 0) return {};
  Op op;
  op.text = text_of("disconnect s%d", s);
  op.may_wait = false;
  op.after = [&m, file = m.slots[s].file] { m.files[static_cast<size_t>(file)].deaf = true; };
  op.run = [fd = m.slots[s].fd] {
    sockaddr a{};
    a.sa_family = AF_UNSPEC;
    return answer(connect(fd, &a, sizeof a));
  };
  return op;
}

std::optional<Op> signal_sets(Model& m) {
  int s = m.pick_kind({Kind::SignalQueue}, [](int) { return true; });
  if (s < 0) return {};
  bool none = m.random.one_in(2);
  Op op;
  op.text = text_of("signalfd s%d for %s", s, none ? "none" : "its own");
  op.may_wait = false;
  op.stirs = true;
  op.run = [fd = m.slots[s].fd, none] {
    sigset_t set;
    sigemptyset(&set);
    if (!none) sigaddset(&set, for_descriptor());
    return signalfd(fd, &set, 0) == fd ? std::string("ok") : answer(-1);
  };
  return op;
}

// A folder that is left, or looked at again.
std::optional<Op> folders(Model& m) {
  int s = m.pick_kind({Kind::Inotify}, [](int) { return true; });
  if (s < 0) return {};
  bool leaves = m.random.one_in(2);
  Op op;
  op.text = text_of("%s the folder s%d", leaves ? "leave" : "watch", s);
  op.may_wait = false;
  op.stirs = true;
  op.run = [fd = m.slots[s].fd, leaves, folder = m.folder] {
    int which =
        inotify_add_watch(fd, folder.c_str(), IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    if (which < 0) return answer(-1);
    return leaves ? answer(inotify_rm_watch(fd, which)) : std::string("ok");
  };
  return op;
}

// Output of a terminal stands still, or goes on; how many bytes a read waits for.
std::optional<Op> terminal_modes(Model& m) {
  bool flow = m.random.one_in(2), stops = m.random.one_in(2);
  int s = m.pick_kind({Kind::Terminal}, [&](int i) {
    return flow ? m.wakes_one(i)
                : !m.waits_anywhere(m.slots[i].file) && m.file(i).peer >= 0 &&
                      !m.waits_anywhere(m.file(i).peer);
  });
  if (s < 0) return {};
  static const unsigned char kLeast[] = {0, 1, 1, 4};
  unsigned char least = m.random.of(kLeast);
  Op op;
  op.text =
      flow ? text_of("tcflow s%d %s", s, stops ? "off" : "on") : text_of("VMIN s%d %d", s, least);
  op.may_wait = false;
  op.stirs = true;
  op.run = [fd = m.slots[s].fd, flow, stops, least] {
    if (flow) return answer(tcflow(fd, stops ? TCOOFF : TCOON));
    termios t;
    if (tcgetattr(fd, &t) != 0) return answer(-1);
    t.c_cc[VMIN] = least;
    return answer(tcsetattr(fd, TCSANOW, &t));
  };
  return op;
}

// Bytes between a pipe and a file on a disk.
std::optional<Op> splices_file(Model& m) {
  int file = m.pick_kind({Kind::Disk}, [](int) { return true; });
  bool to_pipe = m.random.one_in(2);
  int pipe = m.pick_kind({to_pipe ? Kind::PipeOut : Kind::PipeIn}, [&](int i) {
    return to_pipe ? m.may_wait_out(i) && !m.has_squad(i) : m.may_wait_in(i);
  });
  if (file < 0 || pipe < 0) return {};
  Op op;
  op.text = to_pipe ? text_of("splice file s%d to s%d", file, pipe)
                    : text_of("splice s%d to file s%d", pipe, file);
  op.holds = {{to_pipe ? Use::Out : Use::In, m.slots[pipe].file}};
  if (to_pipe) op.begins = adds_load(m, pipe, 4096);
  op.run = [file = m.slots[file].fd, pipe = m.slots[pipe].fd, to_pipe] {
    loff_t at = 0;
    return answer(to_pipe ? splice(file, &at, pipe, nullptr, 100, 0)
                          : splice(pipe, nullptr, file, &at, 100, 0));
  };
  return op;
}

}  // namespace

const std::vector<Weighted> kSettings = {
    {6, pipe_sizes}, {6, room_to_send}, {4, peek_offset}, {6, sends_parts},    {2, disconnects},
    {5, low_water},  {5, signal_sets},  {5, folders},     {5, terminal_modes}, {5, splices_file},
};

}  // namespace fuzz
