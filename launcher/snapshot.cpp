// A snapshot's records, checked, and the words for what they say. See statistics.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "statistics.h"
#include "text.h"

namespace wisp {
namespace {

// Up to the last field that kVersion's first release had.
constexpr size_t kLeastCarrier = offsetof(stats::CarrierRecord, io_wait_ns) + sizeof(uint64_t);
constexpr size_t kLeastTask = offsetof(stats::TaskRecord, socket) + stats::kSocketSize;
constexpr uint32_t kMaxCarriers = 1024;
constexpr uint32_t kMaxQueued = 1u << 20;  // more than so many carriers have room for

// Records of a newer runtime are longer: the common part counts. Shorter ones would be a way to
// make much out of little.
template <typename R>
bool take(const char* data, size_t size, const stats::Section& section, size_t least,
          std::vector<R>* out) {
  out->clear();
  if (section.count == 0) return true;
  uint64_t stride = section.record_size;
  if (stride < least || stride > 4096 || section.offset > size ||
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
  if (head.carriers.count > kMaxCarriers || head.queued.count > kMaxQueued ||
      !take(data, size, head.carriers, kLeastCarrier, &out->carriers) ||
      !take(data, size, head.workers, sizeof(stats::WorkerRecord), &out->workers) ||
      !take(data, size, head.tasks, kLeastTask, &out->tasks) ||
      !take(data, size, head.queued, sizeof(uint32_t), &out->queued)) {
    return false;
  }
  size_t queued = 0;
  for (const stats::CarrierRecord& carrier : out->carriers) {
    if (carrier.queued_first > out->queued.size() ||
        carrier.queued_count > out->queued.size() - carrier.queued_first) {
      return false;
    }
    queued += carrier.queued_count;
    if (queued > out->queued.size()) return false;  // their parts are disjoint
    for (uint32_t i = 0; i < carrier.queued_count; i++) {
      out->queue_of[out->queued[carrier.queued_first + i]] = carrier.index;
    }
  }
  for (stats::TaskRecord& task : out->tasks) {
    if (task.state > stats::State::Dead) task.state = stats::State::Dead;
    if (task.wait_for > stats::WaitFor::Native) task.wait_for = stats::WaitFor::Nothing;
    task.name[stats::kNameSize - 1] = '\0';
    if (task.socket_end > stats::SocketEnd::Own) task.socket_end = stats::SocketEnd::None;
    task.socket[stats::kSocketSize - 1] = '\0';
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

std::string socket_text(const stats::TaskRecord& task) {
  return printable(std::string_view(task.socket, strnlen(task.socket, sizeof task.socket)));
}

int park_status(const stats::TaskRecord& task) {
  if (task.state == stats::State::Parked) return -1;
  return task.state == stats::State::Ready && task.times_run != 0 ? 1 : 0;
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
        if (task.socket_end != stats::SocketEnd::None) {
          text += task.socket_end == stats::SocketEnd::Peer ? ", peer " : ", own address ";
          text += socket_text(task);
        }
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

}  // namespace wisp
