// What the fuzzers of the options share: dice, rounds, files without a name, and what has to hold
// whatever was read.
//   WISP_FUZZ_SEED=N the first seed (1); WISP_FUZZ_SECONDS=N for so long instead of 3,000 rounds.
// A failure names its seed; WISP_FUZZ_SEED with it begins there.
#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>

#include "gathered_options.h"

namespace wisp {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  unsigned below(unsigned n) {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<unsigned>((z ^ (z >> 31)) % n);
  }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <typename C>
  auto& of(C& all) {
    return all[below(static_cast<unsigned>(std::size(all)))];
  }

 private:
  uint64_t state_;
};

inline void rounds(const std::function<void(Dice&)>& body) {
  const char* first = getenv("WISP_FUZZ_SEED");
  const char* seconds = getenv("WISP_FUZZ_SECONDS");
  uint64_t seed = first != nullptr ? strtoull(first, nullptr, 10) : 1;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(seconds != nullptr ? atol(seconds) : 0);
  for (uint64_t round = 0;
       seconds != nullptr ? std::chrono::steady_clock::now() < end : round < 3000; ++round) {
    Dice dice(seed + round);
    body(dice);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed + round;
      return;
    }
  }
}

// A file without a name on any disk.
struct File {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  explicit File(const std::string& text) {
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
};

inline void expect_sane(const Gathered& g) {
  const Options& o = g.options;
  EXPECT_TRUE(o.carriers >= 0 && o.carriers <= kMaxCarriers) << o.carriers;
  EXPECT_TRUE(o.sysmon_tick_us >= kMinSysmonTickUs && o.sysmon_tick_us <= kMaxSysmonTickUs);
  EXPECT_TRUE(o.stack_size == 0 ||
              (o.stack_size >= kMinStackSize && o.stack_size <= kMaxStackSize));
  EXPECT_EQ(o.stack_size % 4096, 0u);
  EXPECT_TRUE(o.trace_size == 0 ||
              (o.trace_size >= kMinTraceSize && o.trace_size <= kMaxTraceSize));
  EXPECT_GE(o.active_processor_count, 0);
  EXPECT_GE(default_carriers(o), 1);
  EXPECT_LE(carriers_of(o), kMaxCarriers);
  for (const std::string& line : g.said) {
    EXPECT_LT(line.size(), 512u);
    for (unsigned char c : line) EXPECT_TRUE(c >= 0x20 && c != 0x7f) << line;
  }
  for (const RuleSet* set : {&o.black, &o.white})
    for (int i = 0; i < set->count; ++i) EXPECT_NE(set->rules[i].text[0], '\0');
}

}  // namespace wisp
