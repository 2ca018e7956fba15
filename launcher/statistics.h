// Reading the statistics page of a converted JVM (runtime/observe/statistics_layout.h). Nothing in
// the page is believed: not the sizes, not the counts, not the names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/statistics_layout.h"
#include "process.h"

namespace wisp {

struct Statistics {
  int pid = 0;
  std::string release;
  uint64_t started_ns = 0;  // CLOCK_REALTIME
  uint64_t started_monotonic_ns = 0;
  stats::Snapshot head{};
  std::vector<stats::CarrierRecord> carriers;
  std::vector<stats::WorkerRecord> workers;
  std::vector<stats::TaskRecord> tasks;  // by id
  std::vector<uint32_t> queued;
  std::unordered_map<uint32_t, uint32_t> queue_of;  // task id -> carrier

  // Since the runtime's start, by the clock that nobody sets.
  uint64_t up_ns() const {
    return head.monotonic_ns > started_monotonic_ns ? head.monotonic_ns - started_monotonic_ns : 0;
  }
};

// From the earlier one, or from the start if that is null.
double seconds_between(const Statistics& now, const Statistics* earlier);

const char* state_word(stats::State state);
const char* wait_word(stats::WaitFor wait);
std::string task_name(const stats::TaskRecord& task);
// Where it is, or what it waits for: "on carrier 0", "in the queue of carrier 1", "lock 0x…, 3.2 s
// more"…
std::string describe(const Statistics& s, const stats::TaskRecord& task);
// The address at an end of the socket that it waits on (TaskRecord::socket_end says which); empty.
std::string socket_text(const stats::TaskRecord& task);
// As Dragonwell counts: -1 it waits, 1 it has been woken and has not run yet, 0 neither.
int park_status(const stats::TaskRecord& task);
uint64_t time_in_state(const Statistics& s, const stats::TaskRecord& task);

// What follows the page's header, on the reader's own copy. False: torn or hostile.
bool parse_snapshot(const char* data, size_t size, Statistics* out);

// Why there is nothing to read, and the exit code that says so.
struct PageError {
  std::string text;
  int exit_code;
};
// Says so on stderr; the exit code.
int refuse(const PageError& error);

class StatisticsPage {
 public:
  // The page of a process; null and the reason in *error.
  static std::unique_ptr<StatisticsPage> open(int pid, PageError* error);
  ~StatisticsPage();
  StatisticsPage(const StatisticsPage&) = delete;

  // A fresh snapshot; nothing and the reason in *error (it has ended, it is stopped).
  std::optional<Statistics> read(PageError* error, int timeout_ms = 3000);
  const Process& process() const { return process_; }

  // Asks for a trace of so many KiB and waits for it. By option it is on already.
  bool trace_on(uint32_t kib, PageError* error);
  void trace_off();  // unless it is on by option

 private:
  StatisticsPage() = default;
  bool traces_ = false;  // it is we who asked for it
  bool wait_for_answer(int timeout_ms, PageError* error);

  Process process_;
  int fd_ = -1;
  stats::PageHeader* header_ = nullptr;
  std::string release_;
  uint64_t started_ns_ = 0, started_monotonic_ns_ = 0;
};

}  // namespace wisp
