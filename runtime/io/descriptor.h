// The descriptor table: what the runtime knows of each descriptor number, and the two words on
// which tasks wait for it. One record per number, found without a lock, never freed.
//
// A number's LIFE is the time between the calls that change what it stands for (creation, dup2 onto
// it, close). `state` holds the life's count in its upper half, so that whatever was learned in one
// life (flags, a registration, an event on its way) cannot be taken for the next one's. All calls
// that we see end a life; those that we do not see (raw system calls, libc's own) leave a stale
// record, which the creation of the next descriptor of that number through libc cleans.
//
// Readiness words: bit 0 = somebody is parked on it, the rest counts events of that direction. The
// event pump adds 2, takes bit 0 away and unparks. A waiter reads the word, tries its operation
// without blocking, and parks if the word has not moved since. Registered for edges before that, so
// every change to "ready" after the try moves the word. Once in its life, but for one whose events
// are nobody's for long (registration.cpp).
#pragma once
#include <atomic>

#include "platform/clock.h"
#include "platform/compiler.h"

namespace wisp::io {

// What a descriptor is. Unknown: not looked at yet in this life.
enum Kind : uint32_t {
  kUnknown = 0,
  kSocket,    // recv/send with MSG_DONTWAIT
  kStream,    // pipe, FIFO, eventfd, timerfd, inotify...: RWF_NOWAIT, or poll and then read
  kTerminal,  // poll and then read; writes go straight
  kDisk,      // regular file, directory, block device: io/disk
  kStraight,  // nothing to wait for, or nothing to be had but the call itself
};

// Lower half of Descriptor::state.
constexpr uint32_t kKindMask = 0x7;
// In an epoll instance that is the kernel's: see pump_turn_out.
constexpr uint32_t kInKernelSet = 1u << 3;
constexpr uint32_t kNonBlocking = 1u << 4;  // the program set O_NONBLOCK
// We saw its creation and no duplicate of it: nobody but calls that we see changes O_NONBLOCK,
// the timeouts or the registration. Without it, each wait asks the kernel again.
constexpr uint32_t kOwn = 1u << 5;
constexpr uint32_t kTcp = 1u << 6;
constexpr uint32_t kRegistering = 1u << 7;
constexpr uint32_t kRegistered = 1u << 8;
// Short reads of this one may leave data or an end of stream behind without another edge.
constexpr uint32_t kNeverDrained = 1u << 9;
constexpr uint32_t kNoNowait = 1u << 10;  // the kernel knows no RWF_NOWAIT for it
// TCP_FASTOPEN_CONNECT: the first send connects.
constexpr uint32_t kSendConnects = 1u << 11;
constexpr uint32_t kEnded = 1u << 12;  // the pump saw an end or an error on it
// An epoll instance of the program's whose entries may be kept in user space (io/epoll_set).
constexpr uint32_t kEpoll = 1u << 13;
constexpr uint32_t kLowWater = 1u << 14;  // SO_RCVLOWAT was set to more than a byte
constexpr uint32_t kAccepted = 1u << 15;  // from accept: the peer has opened the connection
// Upper 16 bits: how many blocking calls wait in this life (see io/kept.h).
constexpr uint32_t kOneCaller = 1u << 16;
constexpr uint32_t kCallers = 0xffff0000u;

inline uint32_t life_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
inline Kind kind_of(uint64_t state) { return static_cast<Kind>(state & kKindMask); }

// A TCP connection that the program has opened, as far as is known: bytes on it are an answer to
// what it has sent. On one that it has accepted they are the next request.
inline bool is_opened_connection(uint64_t state) { return (state & (kTcp | kAccepted)) == kTcp; }

struct PollNode;
struct EpollSet;

struct alignas(kCacheLine) Descriptor {
  std::atomic<uint64_t> state{0};
  std::atomic<uint32_t> in{0};
  std::atomic<uint32_t> out{0};
  // The value of `in` (with bit 0 set) at which a reader saw a registered TCP stream drained: until
  // the word moves there is nothing to read, and a wait can do without the try.
  std::atomic<uint32_t> drained{0};
  std::atomic<uint32_t> accept_lock{0};     // 0 free, 1 held, 2 held and waited for (io/connection)
  std::atomic<PollNode*> pollers{nullptr};  // waits on several at once (io/poll_chain)
  std::atomic<EpollSet*> epoll{nullptr};    // of this and former lives with kEpoll
  // In which part of the pump it is registered: written before kRegistered is set. And how often in
  // a row it was waited for where another part would have been better (io/registration.cpp).
  std::atomic<uint8_t> part{0}, strays{0};
  std::atomic<uint8_t> replacing{0};  // kReplacing, kReplaced
  // kOutAsked, kInFlight, and in the lower bits how many events in a row came for nobody
  // (registration.cpp).
  std::atomic<uint8_t> marks{0};
  std::atomic<uint32_t> partner{0};  // its number plus 1, 0 = none (io/partners.h)
  // SO_RCVTIMEO and SO_SNDTIMEO in ns, 0 = none; known once registered, but for kAtOnce.
  std::atomic<uint64_t> receive_timeout{0};
  std::atomic<uint64_t> send_timeout{0};
};

static_assert(sizeof(Descriptor) == kCacheLine);

// In Descriptor::replacing: between descriptor_replacing and the end of that life; this life began
// so, without a moment in which the number was closed.
constexpr uint8_t kReplacing = 1, kReplaced = 2;

// In Descriptor::marks. Who waits for room to write has asked for its events (TCP's always come); a
// duplicate that a call of ours goes on with (io/kept.h).
constexpr uint8_t kOutAsked = 0x80, kInFlight = 0x40;
constexpr uint8_t kNobodysEvents = 0x3f;

constexpr uint32_t kMaxDescriptors = 1u << 20;

// A negative limit: the kernel does not wait, and says 0 when asked for it, as it says for none.
constexpr uint64_t kAtOnce = 1;

// The record of a number, or null when nothing has been noted about it yet (or fd is out of range).
Descriptor* descriptor_find(int fd);
// The same, made if need be; null if fd is negative, beyond the table, or without memory.
Descriptor* descriptor_get(int fd);
// Whether a number has stood for one file since this was made. In the kernel a call holds its file
// to its end; one that is made of several steps asks between them.
class SameFile {
 public:
  explicit SameFile(int fd) : d_(descriptor_find(fd)), life_(d_ != nullptr ? life() : 0) {}
  SameFile(const Descriptor* d, uint32_t life) : d_(d), life_(life) {}
  // Before a descriptor gets another file its life ends (close), or it is marked until that life
  // has ended (dup2). seq_cst loads, the mark first: it is taken back after the end of the life.
  bool still() const {
    return d_ == nullptr || ((d_->replacing.load() & kReplacing) == 0 && life() == life_);
  }

 private:
  uint32_t life() const { return life_of(d_->state.load()); }
  const Descriptor* d_;
  uint32_t life_;
};

// `state` with a kind in it: asks the kernel on the first use in a life. kUnknown: a bad
// descriptor.
uint64_t descriptor_know(int fd, Descriptor* d);

// --- what the program did, called by interpose/ on every thread
// A new descriptor, fresh from the kernel. flags: kOwn, kNonBlocking, kTcp as known.
void descriptor_created(int fd, Kind kind, uint32_t flags);
// Right before the number is closed; calls that wait on it go on with the file (io/kept.h).
struct Closing {
  uint32_t life = 0;           // that begins; 0: nothing is known of the number
  bool in_kernel_set = false;  // kInKernelSet, until now
};
Closing descriptor_closing(int fd);
// Right after it was: ends that life as well if a wait has begun in it, because in between the
// number still stood for the file, and nothing that happens to the file later comes here. Whoever
// closes and then sends a signal (the JDK before 13) relies on it: the signal may come before the
// park.
void descriptor_closed(int fd, Closing closing);
// Right before and right after dup2 puts another file under the number: the life ends after it,
// because in between nobody else can get the number. Not when dup2 is going to fail. `kept` is what
// the first one returned.
int descriptor_replacing(int fd);
void descriptor_replaced(int fd, int kept);
// The description of fd has, or is about to have, another descriptor.
void descriptor_shared(int fd);
void descriptor_set_nonblocking(int fd, bool on);
void descriptor_set_low_water(int fd, bool on);
void descriptor_set_timeout(int fd, bool receive, uint64_t ns);

// What the kernel says of a socket by an option of SOL_SOCKET that is an int, or -errno.
long socket_option(int fd, int option);

// Calls `what` with each number of which `which` says so.
void descriptor_each(bool (*which)(const Descriptor& d), void (*what)(int fd));

// Sets flags in one life; false if that life is over.
bool descriptor_set_flags(Descriptor* d, uint32_t life, uint32_t set, uint32_t clear);

// Moves both words and wakes all who wait for anything of d. Needs a RuntimeEntry.
void descriptor_wake_all(Descriptor* d);

}  // namespace wisp::io
