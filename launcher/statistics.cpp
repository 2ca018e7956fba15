// Implementation of statistics.h.
#include "statistics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "run_java.h"
#include "text.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#define F_SEAL_SHRINK 2
#endif

namespace wisp {
namespace {

using stats::kHeaderSize;
constexpr int kTraceTimeoutMs = 3000;
constexpr size_t kMaxSnapshot = size_t{1} << 30;

int64_t now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, operation, value, timeout);
}

// Records of a newer runtime are longer, of an older one shorter: the common part counts.
template <typename R>
bool take(const char* data, size_t size, const stats::Section& section, std::vector<R>* out) {
  out->clear();
  if (section.count == 0) return true;
  uint64_t stride = section.record_size;
  if (stride == 0 || stride > 4096 || section.offset > size ||
      section.count > (size - section.offset) / stride) {
    return false;
  }
  out->resize(section.count);
  for (uint32_t i = 0; i < section.count; i++) {
    R& record = (*out)[i];
    memset(static_cast<void*>(&record), 0, sizeof(R));
    memcpy(static_cast<void*>(&record), data + section.offset + i * stride,
           std::min<size_t>(sizeof(R), stride));
  }
  return true;
}

}  // namespace

bool parse_snapshot(const char* data, size_t size, Statistics* out) {
  if (size < sizeof(stats::Snapshot)) return false;
  memcpy(static_cast<void*>(&out->head), data, sizeof(stats::Snapshot));
  const stats::Snapshot& head = out->head;
  if (head.size > size || head.size < sizeof(stats::Snapshot)) return false;
  size = head.size;
  if (!take(data, size, head.carriers, &out->carriers) ||
      !take(data, size, head.workers, &out->workers) ||
      !take(data, size, head.tasks, &out->tasks) || !take(data, size, head.queued, &out->queued)) {
    return false;
  }
  for (const stats::CarrierRecord& carrier : out->carriers) {
    if (carrier.queued_first > out->queued.size() ||
        carrier.queued_count > out->queued.size() - carrier.queued_first) {
      return false;
    }
    for (uint32_t i = 0; i < carrier.queued_count; i++) {
      out->queue_of[out->queued[carrier.queued_first + i]] = carrier.index;
    }
  }
  for (stats::TaskRecord& task : out->tasks) {
    if (task.state > stats::State::Dead) task.state = stats::State::Dead;
    if (task.wait_for > stats::WaitFor::Native) task.wait_for = stats::WaitFor::Nothing;
    task.name[stats::kNameSize - 1] = '\0';
  }
  // A struct that is used again while the list is walked may show up twice.
  std::sort(out->tasks.begin(), out->tasks.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  auto last = std::unique(out->tasks.begin(), out->tasks.end(),
                          [](const auto& a, const auto& b) { return a.id == b.id; });
  out->tasks.erase(last, out->tasks.end());
  return true;
}

const char* state_word(stats::State state) {
  switch (state) {
    case stats::State::Created:
      return "created";
    case stats::State::Ready:
      return "ready";
    case stats::State::Running:
      return "running";
    case stats::State::Parked:
      return "parked";
    case stats::State::Dead:
      break;
  }
  return "dead";
}

const char* wait_word(stats::WaitFor wait) {
  switch (wait) {
    case stats::WaitFor::Nothing:
      break;
    case stats::WaitFor::Lock:
      return "lock";
    case stats::WaitFor::Time:
      return "time";
    case stats::WaitFor::Readable:
      return "readable";
    case stats::WaitFor::Writable:
      return "writable";
    case stats::WaitFor::Native:
      return "native";
  }
  return "nothing";
}

std::string task_name(const stats::TaskRecord& task) {
  return printable(std::string_view(task.name, strnlen(task.name, sizeof task.name)));
}

uint64_t time_in_state(const Statistics& s, const stats::TaskRecord& task) {
  return s.head.monotonic_ns > task.since_ns ? s.head.monotonic_ns - task.since_ns : 0;
}

std::string describe(const Statistics& s, const stats::TaskRecord& task) {
  switch (task.state) {
    case stats::State::Running:
      if (task.handed_off) return fmt::format("native, thread {}", task.worker_tid);
      return task.carrier == stats::kNone ? "running" : fmt::format("on carrier {}", task.carrier);
    case stats::State::Ready: {
      auto queue = s.queue_of.find(task.id);
      if (queue == s.queue_of.end()) return "in the global queue";
      return fmt::format("in the queue of carrier {}", queue->second);
    }
    case stats::State::Parked: {
      std::string text;
      if (task.wait_for == stats::WaitFor::Readable || task.wait_for == stats::WaitFor::Writable) {
        text = fmt::format("fd {} {}", task.wait_fd, wait_word(task.wait_for));
      } else if (task.wait_for == stats::WaitFor::Time) {
        text = "sleep";
      } else {
        text = fmt::format("lock {:#x}", task.wait_address);
      }
      if (task.deadline_ns == stats::kNever) return text;
      uint64_t now = s.head.monotonic_ns;
      uint64_t left = task.deadline_ns > now ? task.deadline_ns - now : 0;
      return fmt::format("{}, {} more", text, duration(left));
    }
    case stats::State::Created:
      return "not started";
    case stats::State::Dead:
      break;
  }
  return "ended";
}

std::unique_ptr<StatisticsPage> StatisticsPage::open(int pid, PageError* error) {
  std::unique_ptr<StatisticsPage> page(new StatisticsPage);
  page->process_ = Process(pid);
  if (!page->process_.exists()) {
    *error = {fmt::format("no process {}", pid), kExitUsage};
    return nullptr;
  }
  std::string link = fmt::format("/memfd:{}", stats::kMemfdName);
  int fd = page->fd_ = page->process_.open_descriptor(link, O_RDWR);
  if (fd < 0) {
    bool denied = errno == EACCES || errno == EPERM;
    *error = denied ? PageError{fmt::format("process {} belongs to another user: only that user or "
                                            "root can look at it",
                                            pid),
                                kExitFailure}
                    : PageError{fmt::format("process {} ({}) is not a JVM that Wisp runs in", pid,
                                            printable(page->process_.title())),
                                kExitFailure};
    return nullptr;
  }
  // Anybody may give a memfd of his that name. The seal makes sure that the mapping stays.
  struct stat info;
  int seals = fcntl(fd, F_GET_SEALS);
  bool ours = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &info) == 0 &&
              S_ISREG(info.st_mode) && info.st_size >= kHeaderSize;
  void* mapping = MAP_FAILED;
  if (ours) mapping = mmap(nullptr, kHeaderSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapping != MAP_FAILED) page->header_ = static_cast<stats::PageHeader*>(mapping);
  stats::PageHeader* h = page->header_;
  if (h == nullptr || __atomic_load_n(&h->magic, __ATOMIC_ACQUIRE) != stats::kMagic) {
    *error = {fmt::format("process {}: its statistics page is damaged", pid), kExitFailure};
    return nullptr;
  }
  if (h->version != stats::kVersion) {
    *error = {fmt::format("process {} runs another version of Wisp (page version {}, this command "
                          "reads {})",
                          pid, h->version, stats::kVersion),
              kExitFailure};
    return nullptr;
  }
  // A forked child that has not executed anything still has its parent's page.
  if (h->pid != page->process_.inner_pid()) {
    *error = {fmt::format("process {} is a child of a converted JVM, not one itself", pid),
              kExitFailure};
    return nullptr;
  }
  page->release_ = printable(std::string_view(h->release, strnlen(h->release, sizeof h->release)));
  page->started_ns_ = h->started_ns;
  return page;
}

bool StatisticsPage::trace_on(uint32_t kib, PageError* error) {
  if (header_->trace_state.load(std::memory_order_relaxed) == stats::TraceState::ByOption)
    return true;
  uint32_t none = 0;
  traces_ = header_->trace_wanted.compare_exchange_strong(none, kib, std::memory_order_relaxed);
  if (!traces_) {
    *error = {fmt::format("process {} is being traced already (a trace that was killed is "
                          "forgotten after ten seconds)",
                          process_.pid()),
              kExitFailure};
    return false;
  }
  if (!wait_for_answer(kTraceTimeoutMs, error)) return false;
  switch (header_->trace_state.load(std::memory_order_relaxed)) {
    case stats::TraceState::On:
    case stats::TraceState::ByOption:
      return true;
    case stats::TraceState::Refused:
      *error = {fmt::format("process {} has no memory for a trace of {} KiB", process_.pid(), kib),
                kExitFailure};
      break;
    default:
      *error = {fmt::format("process {} runs a version of Wisp ({}) that has no trace",
                            process_.pid(), release_),
                kExitFailure};
  }
  trace_off();
  return false;
}

void StatisticsPage::trace_off() {
  if (!traces_) return;
  traces_ = false;
  header_->trace_wanted.store(0, std::memory_order_relaxed);
  PageError ignored;
  wait_for_answer(kTraceTimeoutMs, &ignored);
}

StatisticsPage::~StatisticsPage() {
  if (header_ != nullptr) trace_off();
  if (header_ != nullptr) munmap(header_, kHeaderSize);
  if (fd_ >= 0) close(fd_);
}

bool StatisticsPage::wait_for_answer(int timeout_ms, PageError* error) {
  uint32_t mine = header_->request.fetch_add(1, std::memory_order_acq_rel) + 1;
  futex(&header_->request, FUTEX_WAKE, 1, nullptr);
  int64_t end = now_ms() + timeout_ms;
  for (;;) {
    uint32_t served = header_->served.load(std::memory_order_acquire);
    // Others ask, too: whatever answer came after our request will do.
    if (static_cast<int32_t>(served - mine) >= 0) return true;
    if (!process_.exists()) {
      *error = {fmt::format("process {} has ended", process_.pid()), kExitFailure};
      return false;
    }
    if (now_ms() >= end) {
      *error = {fmt::format("process {} does not answer (stopped, or starved of processor time)",
                            process_.pid()),
                kExitFailure};
      return false;
    }
    timespec step{0, 100'000'000};
    futex(&header_->served, FUTEX_WAIT, served, &step);
  }
}

std::optional<Statistics> StatisticsPage::read(PageError* error, int timeout_ms) {
  for (int attempt = 0; attempt < 8; attempt++) {
    if (!wait_for_answer(timeout_ms, error)) return std::nullopt;
    uint32_t before = header_->sequence.load(std::memory_order_acquire);
    uint64_t size = header_->snapshot_size.load(std::memory_order_relaxed);
    if ((before & 1) != 0 || size < sizeof(stats::Snapshot)) continue;
    if (size > kMaxSnapshot) break;
    std::vector<char> copy(size);
    size_t have = 0;
    while (have < size) {
      ssize_t n =
          pread(fd_, copy.data() + have, size - have, static_cast<off_t>(kHeaderSize + have));
      if (n <= 0) break;
      have += static_cast<size_t>(n);
    }
    // acquire fence: the copy is complete before the sequence is looked at again.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (have < size || header_->sequence.load(std::memory_order_relaxed) != before) continue;
    Statistics result;
    if (!parse_snapshot(copy.data(), copy.size(), &result)) break;
    result.pid = process_.pid();
    result.release = release_;
    result.started_ns = started_ns_;
    return result;
  }
  *error = {fmt::format("process {}: its statistics page is damaged", process_.pid()),
            kExitFailure};
  return std::nullopt;
}

}  // namespace wisp
