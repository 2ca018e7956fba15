// The stall finder on real JVMs: what it says, and what Flight Recorder gets of it.
#include "unit/recorded_jvm.h"

using namespace wisp_test;

namespace {

const std::string kStallMs = "-Dcom.alibaba.wisp.stallMs=";

TEST_P(Flight, AStallInNativeCodeIsNamed) {
  std::string fifo = scratch() + "/fifo", errors = scratch() + "/errors";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ConvertedJvm jvm(GetParam(), {kStallMs + "200"}, workload({"native", fifo}), errors);
  // Frames, and what holds it up: open(2) or openat(2) of a named pipe, which no writer has. On a
  // busy machine others may be told of as well.
  std::string text = file_with(errors, "FlightWorkload.openFifo\\(FlightWorkload.java");
  EXPECT_TRUE(
      matches(text,
              "wisp: stall: \"blocked-native\" #\\d+, task \\d+, nid 0x[0-9a-f]{6}, has run "
              "\\d+ ms without giving way, [a-z0-9 ]+; in native code, asleep in the kernel"))
      << text;
  EXPECT_TRUE(matches(text, "wisp:     at .*FileInputStream.open0?\\(Native Method\\)\n")) << text;
  EXPECT_TRUE(matches(text, "wisp:     at .*FlightWorkload.openFifo\\(FlightWorkload.java"))
      << text;
  // It is told when it is over.
  int writer = open(fifo.c_str(), O_WRONLY | O_NONBLOCK);
  EXPECT_GE(writer, 0);
  text = file_with(errors, "went on after \\d+ ms");
  EXPECT_TRUE(matches(text, "stall: #\\d+, task \\d+, went on after \\d+ ms\n")) << text;
  close(writer);
}

TEST_P(Flight, AStallInJavaIsNamed) {
  std::string errors = scratch() + "/errors";
  ConvertedJvm jvm(GetParam(), {kStallMs + "200"}, workload({"spin"}), errors);
  std::string text = file_with(errors, "at .*FlightWorkload.spin");
  EXPECT_TRUE(matches(text, "wisp: stall: \"spinner\" #\\d+, task \\d+, .*; in Java code, "))
      << text;
  EXPECT_TRUE(matches(text, "wisp:     at .*FlightWorkload.spin")) << text;
}

TEST_P(Flight, AWellBehavedProgramHasNoStalls) {
  std::string errors = scratch() + "/errors";
  ConvertedJvm jvm(GetParam(), {kStallMs + "1000"}, workload({"good"}), errors);
  usleep(2'500'000);
  EXPECT_EQ(jvm.finish(), 0);
  EXPECT_FALSE(contains(file(errors), "stall")) << file(errors);
}

TEST_P(Flight, WithoutTheOptionNobodyLooks) {
  std::string errors = scratch() + "/errors";
  ConvertedJvm jvm(GetParam(), {}, workload({"spin"}), errors);
  usleep(500'000);
  // Nor is there a thread that could. (A new one has its name only when it runs.)
  Result threads;
  for (int i = 0; i < 600 && !contains(threads.out, "wisp-statistics"); ++i, usleep(100'000))
    threads = spawn({.args = {"/bin/sh", "-c", "cat /proc/" + jvm.pid() + "/task/*/comm"}});
  EXPECT_FALSE(contains(threads.out, "wisp-jvm-obs")) << threads.out;
  EXPECT_TRUE(contains(threads.out, "wisp-statistics")) << threads.out;
  EXPECT_FALSE(contains(file(errors), "stall")) << file(errors);
}

TEST_P(Flight, AStallIsRecorded) {
  if (!has(GetParam(), "jfr")) GTEST_SKIP() << "no jfr in this JDK";
  std::string fifo = scratch() + "/fifo", recording = scratch() + "/stall.jfr";
  Result checked;
  for (int seconds : kSeconds) {
    unlink(fifo.c_str());
    unlink(recording.c_str());
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    ConvertedJvm jvm(GetParam(), {"-XX:StartFlightRecording=filename=" + recording},
                     workload({"native", fifo}));
    usleep(static_cast<useconds_t>(seconds) * 600'000);
    // It is there when the thread has come to open the other end.
    int writer = -1;
    for (int i = 0; i < 60'000 && writer < 0; ++i, usleep(1000))
      writer = open(fifo.c_str(), O_WRONLY | O_NONBLOCK);
    EXPECT_GE(writer, 0);
    usleep(static_cast<useconds_t>(seconds) * 200'000);
    close(writer);
    ASSERT_EQ(jvm.finish(), 0);
    Result json = print(GetParam(), recording, "wisp.Stall");
    ASSERT_EQ(json.exit, 0) << json.err;
    checked = check(json.out, R"(
mine=[v for v in of('Stall') if v['threadName']=='blocked-native']
found=[v for v in mine if not v['over']]; over=[v for v in mine if v['over']]
need(found and over and secs(over[0])>=1, mine)
assert len(found)==1 and len(over)==1, mine
f,o=found[0],over[0]
assert 'FileInputStream.open' in f['javaStack'] and 'FlightWorkload.openFifo' in f['javaStack'], f
assert f['inNativeCode'] and f['kernelState'] in 'SD' and f['systemCall']>=0, f
assert java(f['thread'])=='blocked-native' and 0.1<=secs(f)<secs(o), mine
assert 1<=secs(o)<200, mine
# Both begin when it began: the recorder's clock is told from ours.
apart=abs(float(f['startTime'][17:26])-float(o['startTime'][17:26]))
assert min(apart,60-apart)<0.05, mine
)");
    if (checked.exit != 3) break;
  }
  EXPECT_EQ(checked.exit, 0) << checked.err;
}

}  // namespace
