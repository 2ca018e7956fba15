// Implementation of statistics.h: the page.
#include "statistics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "clock.h"
#include "output.h"
#include "run_java.h"
#include "sealed_file.h"
#include "text.h"

namespace wisp {
namespace {

using stats::kHeaderSize;
constexpr int kTraceTimeoutMs = 3000;
constexpr size_t kMaxSnapshot = size_t{1} << 29;  // two million tasks

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, word, operation, value, timeout);
}

}  // namespace

int refuse(const PageError& error) {
  print_error(fmt::format("wisp: {}\n", error.text));
  return error.exit_code;
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
  if (sealed_size(fd) >= kHeaderSize)
    page->header_ = static_cast<stats::PageHeader*>(map_shared(fd, kHeaderSize, true));
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
  page->started_monotonic_ns_ = h->started_monotonic_ns;
  return page;
}

double seconds_between(const Statistics& now, const Statistics* earlier) {
  uint64_t up = now.up_ns(), before = earlier != nullptr ? earlier->up_ns() : 0;
  return up > before ? static_cast<double>(up - before) / 1e9 : 0;
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
  if (traces_) header_->trace_renewed.fetch_add(1, std::memory_order_relaxed);
  uint32_t mine = header_->request.fetch_add(1, std::memory_order_acq_rel) + 1;
  futex(&header_->request, FUTEX_WAKE, 1, nullptr);
  double end = monotonic_seconds() + timeout_ms / 1e3;
  for (;;) {
    uint32_t served = header_->served.load(std::memory_order_acquire);
    // Others ask, too: whatever answer came after our request will do.
    if (static_cast<int32_t>(served - mine) >= 0) return true;
    if (!process_.exists()) {
      *error = {fmt::format("process {} has ended", process_.pid()), kExitFailure};
      return false;
    }
    if (monotonic_seconds() >= end) {
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
    if (size > kMaxSnapshot || size > sealed_size(fd_) - kHeaderSize) break;
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
    result.started_monotonic_ns = started_monotonic_ns_;
    return result;
  }
  *error = {fmt::format("process {}: its statistics page is damaged", process_.pid()),
            kExitFailure};
  return std::nullopt;
}

}  // namespace wisp
