// The readers of traces believe nothing: hostile rings, and trace files that are cut off, changed
// at random, or somebody else's. More rounds by OBSERVE_ROUNDS.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "trace.h"
#include "trace_file.h"

namespace wisp {
namespace {

int rounds() {
  const char* text = getenv("OBSERVE_ROUNDS");
  return text != nullptr ? atoi(text) : 500;
}

constexpr uint64_t kCapacity = 40;

// Two carriers; task 1 and 2 wake each other on carrier 0, task 3 runs on carrier 1 for good.
std::vector<uint64_t> sample() {
  TraceHeader h{};
  h.magic = kTraceMagic;
  h.record_size = sizeof(TraceRecord);
  h.carriers = 2;
  h.data_offset = 4096;
  h.stride = kCapacity * sizeof(TraceRecord);
  h.capacity = kCapacity;
  h.ticks = 1000;
  h.ns_per_tick = 1ull << 32;
  std::vector<uint64_t> words((h.data_offset + 3 * h.stride) / 8);
  memcpy(words.data(), &h, sizeof h);
  uint64_t numbers[3] = {};
  auto put = [&](uint32_t ring, TraceKind kind, uint64_t stamp, uint32_t task, uint32_t other,
                 uint64_t wake = 0) {
    uint64_t carrier = ring == 2 ? kNoTraceCarrier : ring;
    uint64_t* r = &words[(h.data_offset + ring * h.stride) / 8 + numbers[ring] * 4];
    r[0] = ++numbers[ring] << 24 | carrier << 8 | static_cast<uint64_t>(kind);
    r[1] = kind == TraceKind::NameLow || kind == TraceKind::NameHigh ? stamp : h.ticks + stamp;
    r[2] = static_cast<uint64_t>(other) << 32 | task;
    r[3] = wake;
  };
  put(2, TraceKind::Start, 10, 1, kNoTraceTask);
  put(2, TraceKind::Io, 15, 3, kNoTraceTask);
  put(0, TraceKind::Awake, 11, kNoTraceTask, kNoTraceTask);
  put(0, TraceKind::Run, 20, 1, kNoTraceTask);
  put(1, TraceKind::Run, 22, 3, kNoTraceTask);
  for (uint64_t t = 100; t < 800; t += 100) {
    uint32_t from = t / 100 % 2 != 0 ? 1 : 2;
    // Every other wake in the record of the run.
    if (from == 1) put(0, TraceKind::Unpark, t, 3 - from, from);
    uint64_t wait = 30 | (t == 400 ? kWaitAtMost : 0);
    uint64_t wake = from == 2 ? wait << 32 | from : 0;
    put(0, TraceKind::RunAfterPark, t + 30, 3 - from, from, wake);
  }
  uint64_t name;
  memcpy(&name, "<b>\"&\\'\n", 8);
  put(0, TraceKind::NameLow, name, 2, kNoTraceTask);
  put(0, TraceKind::NameHigh, 0, 2, kNoTraceTask);
  put(0, TraceKind::End, 900, 2, kNoTraceTask);
  put(1, TraceKind::Preempt, 950, 3, kNoTraceTask);
  return words;
}

Trace parsed(const std::vector<uint64_t>& words) {
  Trace trace;
  EXPECT_TRUE(parse_trace(reinterpret_cast<const char*>(words.data()), words.size() * 8, &trace));
  trace.program = "</script>\"";
  return trace;
}

TEST(TraceReader, ReadsWhatARuntimeWrites) {
  Trace trace = parsed(sample());
  EXPECT_EQ(trace.lost, 0u);
  std::vector<TraceSlice> slices = trace_slices(trace);
  ASSERT_EQ(slices.size(), 9u);
  EXPECT_EQ(slices[0].task, 1u);
  EXPECT_EQ(slices[0].begin_ns, 20u);
  EXPECT_EQ(slices[0].end_ns, 130u);
  EXPECT_STREQ(slices[0].end, "park");
  EXPECT_STREQ(slices[0].woken_by, "thread");
  EXPECT_EQ(slices[1].task, 2u);
  EXPECT_EQ(slices[1].waker, 1u);
  EXPECT_EQ(slices[1].ready_ns, 100u);
  EXPECT_EQ(slices[1].waker_carrier, 0u);
  EXPECT_EQ(slices[2].task, 1u);
  EXPECT_EQ(slices[2].waker, 2u);
  EXPECT_EQ(slices[2].ready_ns, 200u);
  EXPECT_STREQ(slices[2].woken_by, "task");
  EXPECT_EQ(slices[2].waker_carrier, 0u);
  EXPECT_FALSE(slices[2].ready_at_most);
  EXPECT_EQ(slices[4].ready_ns, 400u);
  EXPECT_TRUE(slices[4].ready_at_most);
  EXPECT_STREQ(slices[7].end, "end");
  EXPECT_STREQ(slices[8].end, "preempt");
  EXPECT_STREQ(slices[8].woken_by, "io");
}

TEST(TraceReader, LongWaitsKeepTheirSize) {
  for (uint64_t ticks : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 30) - 1})
    EXPECT_EQ(trace_wait_ticks(trace_wait(ticks)), ticks);
  for (uint64_t ticks : {uint64_t{1} << 30, (uint64_t{1} << 32) + 12345, uint64_t{1} << 45}) {
    EXPECT_LE(trace_wait_ticks(trace_wait(ticks)), ticks);
    EXPECT_GT(trace_wait_ticks(trace_wait(ticks)) + (1u << 16), ticks);
  }
  EXPECT_EQ(trace_wait_ticks(trace_wait(~uint64_t{0})), ((uint64_t{1} << 30) - 1) << 16);
}

TEST(TraceReader, WhatRanFromTheStartHasASlice) {
  // Carrier 0: task 7 runs and parks at 100. Carrier 1: task 8 never switches. Carrier 2: idle.
  auto event = [](uint64_t number, uint64_t ns, TraceKind kind, uint32_t task, uint32_t carrier) {
    TraceEvent e{};
    e.number = number;
    e.ns = ns;
    e.task = task;
    e.other = e.waker = kNoTraceTask;
    e.carrier = carrier;
    e.kind = kind;
    return e;
  };
  Trace trace;
  trace.carriers = 3;
  trace.length_ns = 1000;
  trace.rings = {{event(1, 100, TraceKind::Park, 7, 0), event(2, 100, TraceKind::Run, 9, 0)},
                 {},
                 {event(1, 300, TraceKind::Awake, kNoTraceTask, 2)},
                 {}};
  // A moment later: 9 ran already, and 5 on carrier 2 since it awoke.
  trace.running_at_start = {{0, 9}, {1, 8}, {2, 5}};
  std::vector<TraceSlice> slices = trace_slices(trace);
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0].task, 7u);
  EXPECT_EQ(slices[0].begin_ns, 0u);
  EXPECT_EQ(slices[0].end_ns, 100u);
  EXPECT_STREQ(slices[0].end, "park");
  EXPECT_EQ(slices[1].task, 9u);
  EXPECT_EQ(slices[1].end_ns, 1000u);
  EXPECT_EQ(slices[2].task, 8u);
  EXPECT_EQ(slices[2].carrier, 1u);
  EXPECT_EQ(slices[2].end_ns, 1000u);
  // With events overwritten nobody knows.
  trace.lost = 1;
  EXPECT_EQ(trace_slices(trace).size(), 1u);
}

TEST(TraceReader, APauseOfTheCollectorIsWrittenAndReadBack) {
  auto event = [](uint64_t number, uint64_t ns, TraceKind kind) {
    return TraceEvent{number, ns, kNoTraceTask, kNoTraceTask, kNoTraceCarrier, kind};
  };
  Trace trace;
  trace.carriers = 1;
  trace.length_ns = 9000;
  // The first one's begin was overwritten; the last one goes on.
  trace.rings = {{},
                 {event(1, 500, TraceKind::GcEnd), event(2, 1000, TraceKind::GcBegin),
                  event(3, 4000, TraceKind::GcEnd), event(4, 7000, TraceKind::GcBegin)}};
  TraceFile file;
  ASSERT_EQ(parse_trace_file(trace_json(trace), &file), "");
  ASSERT_EQ(file.pauses.size(), 2u);
  EXPECT_DOUBLE_EQ(file.pauses[0].first, 1);
  EXPECT_DOUBLE_EQ(file.pauses[0].second, 4);
  EXPECT_DOUBLE_EQ(file.pauses[1].second, 9);
  EXPECT_NE(trace_report(file).find("collector: 2, 5000 ns in all, longest 3000 ns"),
            std::string::npos);
}

TEST(TraceReader, CountsWhatWasOverwritten) {
  std::vector<uint64_t> words = sample();
  for (uint64_t k = 0; k < kCapacity; k++) {
    uint64_t& head = words[4096 / 8 + k * 4];
    if (head != 0) head += 1000ull << 24;
  }
  EXPECT_EQ(parsed(words).lost, 1000u);
}

TEST(TraceReader, RandomRingsNeverHurt) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> original = sample();
  int accepted = 0;
  for (int round = 0; round < rounds(); round++) {
    std::vector<uint64_t> words = original;
    for (int i = 0; i < 6; i++) {
      size_t at = random() % (random() % 2 == 0 ? sizeof(TraceHeader) / 8 : words.size());
      words[at] = random() % 2 == 0 ? words[at] ^ 1ull << random() % 64 : random();
    }
    if (random() % 4 == 0) words.resize(random() % words.size());
    Trace trace;
    if (!parse_trace(reinterpret_cast<const char*>(words.data()), words.size() * 8, &trace))
      continue;
    accepted++;
    TraceFile file;
    EXPECT_EQ(parse_trace_file(trace_json(trace), &file), "");
    EXPECT_FALSE(trace_report(file).empty());
  }
  EXPECT_GT(accepted, rounds() / 20);
}

TEST(TraceReader, AFileSaysWhatTheRingsSaid) {
  Trace trace = parsed(sample());
  TraceFile file;
  ASSERT_EQ(parse_trace_file(trace_json(trace), &file), "");
  EXPECT_EQ(file.program, "</script>\"");
  EXPECT_EQ(file.carriers, 2u);
  ASSERT_EQ(file.slices.size(), 9u);
  EXPECT_DOUBLE_EQ(file.slices[1].begin_us, 0.13);
  EXPECT_DOUBLE_EQ(file.slices[1].ready_us, 0.03);
  EXPECT_EQ(file.slices[1].waker, 1u);
  EXPECT_FALSE(file.slices[1].ready_at_most);
  EXPECT_TRUE(file.slices[4].ready_at_most);
  EXPECT_EQ(file.names[2], "<b>\"&\\'?");
  EXPECT_EQ(file.instants["preempt"], 1u);
  std::string html = trace_report(file);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;&quot;&amp;\\'?"), std::string::npos);
}

TEST(TraceReader, EveryTruncationOfAFileIsRefused) {
  std::string text = trace_json(parsed(sample()));
  for (size_t size = 0; size + 2 < text.size(); size++) {
    std::vector<char> exact(text.begin(), text.begin() + static_cast<long>(size));
    TraceFile file;
    EXPECT_NE(parse_trace_file({exact.data(), exact.size()}, &file), "") << size;
  }
}

TEST(TraceReader, RandomFilesNeverHurt) {
  std::mt19937 random(11);
  std::string original = trace_json(parsed(sample()));
  const char* nasty[] = {"-1", "1e308", "\"", "{", "]", "99999999999", "\\u", "null", "0.0000001"};
  for (int round = 0; round < rounds(); round++) {
    std::string text = original;
    for (int i = 0; i < 4; i++) {
      size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] = static_cast<char>(random());
      else
        text.replace(at, random() % 5, nasty[random() % 9]);
    }
    std::vector<char> exact(text.begin(), text.end());
    TraceFile file;
    if (parse_trace_file({exact.data(), exact.size()}, &file).empty()) {
      EXPECT_FALSE(trace_report(file).empty());
    }
  }
}

TEST(TraceReader, ForeignFilesAreRefused) {
  TraceFile file;
  for (const char* text : {"", "{}", "[]", "{\"traceEvents\":[]}", "nonsense", "{\"a\":nan}",
                           "{\"traceEvents\":[],\"otherData\":{}}"})
    EXPECT_NE(parse_trace_file(text, &file), "") << text;
  std::string deep = "{\"traceEvents\":" + std::string(100000, '[');
  EXPECT_NE(parse_trace_file(deep, &file), "");
}

}  // namespace
}  // namespace wisp
