// The reader of the statistics page believes nothing: torn, truncated and hostile snapshots.
// (Foreign memfds and dying processes: observe_page_test.cpp.) Mutations are random with a fixed
// seed; run with more by OBSERVE_ROUNDS.
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "stat_formats.h"
#include "statistics.h"
#include "text.h"
#include "top_screen.h"

namespace {

using namespace wisp;

stats::Section section(uint32_t offset, uint32_t count, uint32_t size) {
  return {offset, count, size, 0};
}

// A snapshot as a runtime would write it: 3 carriers, 4 workers, 50 tasks, 5 of them queued.
std::string sample() {
  std::string data(sizeof(stats::Snapshot), '\0');
  stats::Snapshot head{};
  auto add = [&](const void* record, size_t size) {
    data.append(static_cast<const char*>(record), size);
  };
  head.carriers = section(static_cast<uint32_t>(data.size()), 3, sizeof(stats::CarrierRecord));
  for (uint32_t i = 0; i < 3; i++) {
    stats::CarrierRecord c{};
    c.index = i;
    c.running = i + 1;
    c.queued_first = i;
    c.queued_count = i == 2 ? 3 : 1;
    c.run_ns = 1000 * i;
    c.switches = i;
    add(&c, sizeof c);
  }
  head.queued = section(static_cast<uint32_t>(data.size()), 5, 4);
  for (uint32_t id : {10u, 11u, 12u, 13u, 14u}) add(&id, 4);
  data.append(4, '\0');
  head.workers = section(static_cast<uint32_t>(data.size()), 4, sizeof(stats::WorkerRecord));
  for (int i = 0; i < 4; i++) {
    stats::WorkerRecord w{100 + i, stats::kNone, stats::kNone, 0};
    add(&w, sizeof w);
  }
  head.tasks = section(static_cast<uint32_t>(data.size()), 50, sizeof(stats::TaskRecord));
  for (uint32_t i = 0; i < 50; i++) {
    stats::TaskRecord t{};
    t.id = 50 - i;
    t.tid = 0x400000 + t.id - 1;
    t.state = static_cast<stats::State>(i % 5);
    t.wait_for = static_cast<stats::WaitFor>(i % 6);
    t.carrier = i % 3;
    snprintf(t.name, sizeof t.name, "task-%u", t.id);
    add(&t, sizeof t);
  }
  head.size = data.size();
  head.realtime_ns = head.monotonic_ns = 5'000'000'000;
  head.kept_back_carriers = 2;
  memcpy(data.data(), &head, sizeof head);
  return data;
}

// Everything that shows a snapshot, so that nothing of it can hurt.
size_t show(const Statistics& s, const Statistics* earlier) {
  TopView view;
  size_t n = 0;
  for (TopOrder order :
       {TopOrder::kCpu, TopOrder::kWait, TopOrder::kRuns, TopOrder::kSteals, TopOrder::kName}) {
    view.order = order;
    for (const TopLine& line : top_lines(s, earlier, &view, 60, 20)) {
      EXPECT_LE(std::count_if(line.text.begin(), line.text.end(),
                              [](char c) { return (c & 0xc0) != 0x80; }),
                60);
      n += line.text.size();
    }
  }
  return n + stat_text(s, earlier, true).size() + stat_json(s, true).size() +
         stat_openmetrics(s).size();
}

TEST(ObserveReader, ReadsWhatARuntimeWrites) {
  std::string data = sample();
  Statistics s;
  ASSERT_TRUE(parse_snapshot(data.data(), data.size(), &s));
  EXPECT_EQ(s.carriers.size(), 3u);
  ASSERT_EQ(s.tasks.size(), 50u);
  EXPECT_EQ(s.tasks[0].id, 1u);
  EXPECT_EQ(task_name(s.tasks[41]), "task-42");
  EXPECT_EQ(s.queue_of.at(14), 2u);
  std::string text = stat_text(s, nullptr, true);
  EXPECT_NE(text.find("task-42"), std::string::npos);
  EXPECT_NE(text.find(", 2 carriers kept back\n"), std::string::npos) << text;
  EXPECT_NE(stat_json(s, false).find("\"keptBackCarriers\": 2, "), std::string::npos);
  EXPECT_NE(stat_openmetrics(s).find("\nwisp_kept_back_carriers 2\n"), std::string::npos);
  s.head.kept_back_carriers = 1;
  EXPECT_NE(stat_text(s, nullptr, true).find(", 1 carrier kept back\n"), std::string::npos);
  s.head.kept_back_carriers = 0;
  EXPECT_EQ(stat_text(s, nullptr, true).find("kept back"), std::string::npos);
}

TEST(ObserveReader, LongerRecordsOfOtherReleases) {
  for (int32_t more : {0, 8, 800}) {
    std::string data(sizeof(stats::Snapshot), '\0');
    stats::Snapshot head{};
    auto size = static_cast<uint32_t>(sizeof(stats::TaskRecord) + more);
    head.tasks = section(sizeof head, 2, size);
    for (uint32_t id : {7u, 8u}) {
      stats::TaskRecord t{};
      t.id = id;
      t.cpu_ns = 99;
      std::string record(reinterpret_cast<char*>(&t), sizeof t);
      record.resize(size, 'x');
      data += record;
    }
    head.size = data.size();
    memcpy(data.data(), &head, sizeof head);
    Statistics s;
    ASSERT_TRUE(parse_snapshot(data.data(), data.size(), &s));
    ASSERT_EQ(s.tasks.size(), 2u);
    EXPECT_EQ(s.tasks[1].id, 8u);
    EXPECT_EQ(s.tasks[1].cpu_ns, 99u);
  }
}

// A megabyte of the page is not to become gigabytes or hours of the reader.
TEST(ObserveReader, LittleDoesNotBecomeMuch) {
  std::string data(1 << 20, '\0');
  auto refused = [&](auto&& set) {
    stats::Snapshot head{};
    head.size = data.size();
    set(&head);
    memcpy(data.data(), &head, sizeof head);
    Statistics s;
    return !parse_snapshot(data.data(), data.size(), &s);
  };
  const uint32_t at = sizeof(stats::Snapshot), room = (1 << 20) - at;
  EXPECT_TRUE(refused([&](auto* h) { h->tasks = section(at, room, 1); }));
  EXPECT_TRUE(refused([&](auto* h) { h->workers = section(at, room, 1); }));
  EXPECT_TRUE(refused([&](auto* h) { h->carriers = section(at, room, 1); }));
  EXPECT_TRUE(refused([&](auto* h) { h->queued = section(at, room, 1); }));
  EXPECT_FALSE(refused([&](auto* h) {
    h->tasks = section(at, room / sizeof(stats::TaskRecord), sizeof(stats::TaskRecord));
  }));
  uint32_t many = room / sizeof(stats::CarrierRecord);
  ASSERT_GT(many, 1024u);
  EXPECT_TRUE(
      refused([&](auto* h) { h->carriers = section(at, many, sizeof(stats::CarrierRecord)); }));

  // Each of a thousand carriers has the whole queue.
  auto* carriers = reinterpret_cast<stats::CarrierRecord*>(data.data() + at);
  for (uint32_t i = 0; i < 1000; i++) carriers[i].queued_count = 10000;
  EXPECT_TRUE(refused([&](auto* h) {
    h->carriers = section(at, 1000, sizeof(stats::CarrierRecord));
    h->queued = section(at, 10000, 4);
  }));
  for (uint32_t i = 0; i < 1000; i++) carriers[i].queued_count = 10;
  EXPECT_FALSE(refused([&](auto* h) {
    h->carriers = section(at, 1000, sizeof(stats::CarrierRecord));
    h->queued = section(at, 10000, 4);
  }));
}

TEST(ObserveReader, EveryTruncationIsRefusedOrHarmless) {
  std::string data = sample();
  for (size_t size = 0; size < data.size(); size++) {
    std::string cut =
        data.substr(0, size);  // exact heap block: AddressSanitizer sees one byte more
    std::vector<char> exact(cut.begin(), cut.end());
    Statistics s;
    EXPECT_FALSE(parse_snapshot(exact.data(), exact.size(), &s));
  }
}

TEST(ObserveReader, RandomMutationsNeverHurt) {
  const char* rounds_text = getenv("OBSERVE_ROUNDS");
  int rounds = rounds_text != nullptr ? atoi(rounds_text) : 1000;
  std::mt19937 random(42);
  std::string original = sample();
  Statistics before;
  ASSERT_TRUE(parse_snapshot(original.data(), original.size(), &before));
  int accepted = 0;
  const uint32_t nasty[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 4096, 65536};
  for (int round = 0; round < rounds; round++) {
    std::vector<char> data(original.begin(), original.end());
    int changes = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < changes; i++) {
      // Half of the changes in the head, where sizes and counts are.
      size_t range = random() % 2 == 0 ? sizeof(stats::Snapshot) : data.size();
      size_t at = random() % range;
      if (random() % 2 == 0) {
        data[at] = static_cast<char>(random());
      } else {
        uint32_t value = nasty[random() % 8];
        at &= ~size_t{3};
        memcpy(&data[at], &value, std::min<size_t>(4, data.size() - at));
      }
    }
    if (random() % 4 == 0) data.resize(random() % data.size());
    Statistics s;
    if (!parse_snapshot(data.data(), data.size(), &s)) continue;
    accepted++;
    EXPECT_GT(show(s, &before), 0u);
    EXPECT_GT(show(before, &s), 0u);
  }
  EXPECT_GT(accepted, rounds / 10);
}

TEST(ObserveReader, NamesCannotMoveTheCursor) {
  EXPECT_EQ(printable("a\033[2Jb\x7f\n"), "a?[2Jb??");
  EXPECT_EQ(printable("\tat\x1b", '\t'), "\tat?");
  // C1: U+009B is ESC [ to some terminals, in UTF-8 or as a byte.
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m\xc2\x80\xc2\x9f\xc2\xa0\xc3\xa4"),
            "a?31m??\xc2\xa0\xc3\xa4");
  EXPECT_EQ(printable("\x9b"
                      "31m\xc3"),
            "?31m?");
  EXPECT_EQ(in_json("\xc2\x9b\x7f"), "\"\\u009b\\u007f\"");
  EXPECT_EQ(in_json("a\"b\\\n\xff"), "\"a\\\"b\\\\\\u000a\\ufffd\"");
  EXPECT_EQ(in_json("\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80"),
            "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\x80\"");
  // Half a surrogate pair, overlong forms, beyond Unicode, cut off.
  for (const char* bad : {"\xed\xa0\xbd", "\xc0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80",
                          "\xf4\x90\x80\x80", "\xe2\x82", "\xf0\x9f\x9a"}) {
    std::string expected = "\"";
    for (size_t i = 0; i < strlen(bad); ++i) expected += "\\ufffd";
    EXPECT_EQ(in_json(bad), expected + "\"") << bad;
  }
}

TEST(ObserveReader, ColumnsAreCharacters) {
  EXPECT_EQ(fit("abcdef", 4), "abc~");
  EXPECT_EQ(fit("abcd", 4), "abcd");
  EXPECT_EQ(fit("abcd", 0), "");
  EXPECT_EQ(fit("\xc3\xa4\xc3\xb6\xc3\xbc", 3), "\xc3\xa4\xc3\xb6\xc3\xbc");
  EXPECT_EQ(fit("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4~");
  // Two columns each.
  EXPECT_EQ(fit("\xe4\xbd\xa0\xe5\xa5\xbd", 4), "\xe4\xbd\xa0\xe5\xa5\xbd");
  EXPECT_EQ(fit("\xe4\xbd\xa0\xe5\xa5\xbd", 3), "\xe4\xbd\xa0~");
  EXPECT_EQ(fit("\xe4\xbd\xa0\xe5\xa5\xbd", 2), "~");
  std::string data = sample();
  Statistics s;
  ASSERT_TRUE(parse_snapshot(data.data(), data.size(), &s));
  s.tasks.resize(2);
  strcpy(s.tasks[0].name, "abc");
  strcpy(s.tasks[1].name, "\xc3\xa4\xc3\xb6\xc3\xbc");
  std::string text = stat_text(s, nullptr, true);
  std::string padded(13, ' ');
  EXPECT_NE(text.find(" abc" + padded), std::string::npos) << text;
  EXPECT_NE(text.find(" \xc3\xa4\xc3\xb6\xc3\xbc" + padded), std::string::npos) << text;
}

}  // namespace
