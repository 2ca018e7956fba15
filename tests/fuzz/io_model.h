// What the driver knows of the descriptors: enough to never give two operations that would compete
// for the same bytes, or of which the kernel may do either first. What calls return it does not
// foretell: plain threads do.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "steps.h"

namespace fuzz {

enum class Kind {
  Local,     // AF_UNIX, stream
  Datagram,  // AF_UNIX
  Packet,    // AF_UNIX, SOCK_SEQPACKET
  Tcp,
  Udp,
  Listener,
  PipeIn,
  PipeOut,
  Event,
  Timer,
  Epoll,
  Inotify,
  Terminal,
  Disk,
  Child,  // a pidfd
  SignalQueue,
};

struct Entry {  // of an epoll instance
  int slot, file;
  unsigned events, token;
};

// An open file, as the kernel understands it: what duplicates of a descriptor share.
struct File {
  Kind kind;
  int peer = -1;
  int in = 0, out = 0, watch = 0;  // workers that wait so
  int slots = 0;
  bool connected = true;
  bool local_listener = false;
  bool semaphore = false;
  bool unconnected = false;  // sends by name
  std::string name;          // of its peer, if so
  bool fifo = false;
  bool deaf = false;  // was shut down for what comes in
  bool begins_otherwise =
      false;  // its number, O_NONBLOCK or limit was changed while somebody waited
  bool ends_in = false, ends_out = false;  // SO_RCVTIMEO, SO_SNDTIMEO
  long loaded = 0;  // what small writes have put there, about, since it was emptied
  // A long write stands in it, or as many small ones as it takes: how much fits of it is not
  // compared, so that nothing but all of it is read.
  bool choked = false;
  bool takeable = false;                      // it ends as a long write does
  bool torn = false;                          // its writer has left it
  long choked_before = 0;                     // so much for certain
  std::shared_ptr<std::atomic<long>> choker;  // what the last write returned; kNotYet
  unsigned long identity[2] = {};             // st_dev, st_ino
  std::vector<int> pending, accepted;  // of a listener: files whose other end is not known yet
  std::vector<Entry> entries;          // of an epoll instance
};

struct Slot {
  int fd = -1;
  int file = -1;
  int pinned = 0;  // workers that poll this number
};

constexpr int kSlots = 14;
constexpr long kNotYet = -1000000;
constexpr long kLoad = 30000;  // fits anywhere

struct ChildProcess {
  pid_t pid = 0;
  int command = -1;   // it ends when that is closed
  bool heir = false;  // has all descriptors that there were
};

class Model {
 public:
  Model(uint64_t seed, bool with_edges) : random(seed), edges(with_edges) {
    locks = add_file(Kind::Disk);
    add_file(Kind::Disk);
    waits = add_file(Kind::Child);
    queues = add_file(Kind::Disk);
    add_file(Kind::Disk);
    semaphores = add_file(Kind::Disk);
  }
  Random random;
  Steps steps;
  // Edge-triggered entries are used, and nothing that hands an instance or an entry over to the
  // kernel, which reports once more what is ready (docs/compatibility.md). Else the other way
  // round.
  const bool edges;
  std::vector<File> files;
  Slot slots[kSlots];
  ChildProcess child;
  std::string folder;  // of its own
  // Files that only stand for something else that is waited for: two locks, the child, a FIFO's
  // other end.
  int locks, waits, queues, semaphores, fifo = -1;
  int queue = -1, other_queue = -1;  // of System V and of POSIX
  int semaphore = -1;                // of System V
  std::string fifo_path;
  bool fifo_read = false, fifo_written = false;  // opened, or about to be
  int fifo_reader = -1, fifo_writer = -1;        // the files
  int serial = 0;                                // of what is written
  int names = 0;
  unsigned token = 0;
  int squads = 0;

  int free_slot() const;
  int free_slots() const;
  int add_file(Kind kind) {
    files.push_back(File{});
    files.back().kind = kind;
    return static_cast<int>(files.size()) - 1;
  }
  // What `fd` is from now on; -1 where it is none.
  int put(int fd, int file);
  void close_slot(int slot);  // in the model; the call is the operation's
  File& file(int slot) { return files[static_cast<size_t>(slots[slot].file)]; }
  File* peer(int slot) {
    int p = file(slot).peer;
    return p >= 0 ? &files[static_cast<size_t>(p)] : nullptr;
  }

  // A slot whose file pleases; those whose peer is waited at come first mostly. -1: none.
  int pick(const std::function<bool(int slot)>& pleases);
  // The same, of these kinds.
  int pick_kind(std::initializer_list<Kind> kinds, const std::function<bool(int slot)>& pleases);
  bool is(int slot, std::initializer_list<Kind> kinds);

  // Whether somebody waits for an event of the file, by poll or through an epoll instance.
  bool watched(int file) const;
  // Files that a wait on this epoll instance watches.
  void members(int epoll, std::vector<int>* out) const;
  // Whether a wait for all of these has one cause at a time, and competes with nobody.
  bool may_watch(std::vector<int> files) const;
  bool waits_anywhere(int file) const {
    const File& f = files[static_cast<size_t>(file)];
    return f.in != 0 || f.out != 0 || watched(file);
  }

  // Whether an operation that waits for bytes of the slot, or for room, competes with nobody.
  bool may_wait_in(int slot);
  bool may_wait_out(int slot);
  // Whether it is the other end of a TCP connection that somebody chokes: what becomes of him when
  // it goes away without a reset is up to the kernel's clocks (probes of a closed window).
  bool is_choked_tcp(int slot) {
    return file(slot).kind == Kind::Tcp && peer(slot) != nullptr && peer(slot)->choked;
  }
  // Whether the slot is still what it was when somebody began to wait there, so that another one
  // can do the same.
  bool is_still(int slot, int of) {
    const File& f = files[static_cast<size_t>(of)];
    return slots[slot].file == of && !f.begins_otherwise && !f.ends_in && f.kind != Kind::Terminal;
  }
  // Several wait for bytes at the other end.
  bool has_squad(int slot) { return peer(slot) != nullptr && peer(slot)->in > 1; }
  // Whether an operation on the slot may wake more than one of those who wait at the other end.
  bool wakes_one(int slot);

  void take(const std::vector<Hold>& holds, int by);
};

// One way to go on; nothing where it does not apply.
using Choice = std::optional<Op> (*)(Model&);
struct Weighted {
  int weight;
  Choice choice;
};
extern const std::vector<Weighted> kMaking, kTransfers, kLong, kMessages, kWatches, kChanges,
    kOthers, kChildren, kRare, kSettings;

// The operation, with holds that are given back after it.
Op held(Model& m, Op op);

}  // namespace fuzz
