// What the options mean: names, ranges, precedence, messages.
#include "jvm/options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gathered_options.h"

using namespace wisp;

namespace {

class OptionsTest : public testing::Test {
 protected:
  const Options& gather(std::vector<std::string> args, std::map<std::string, std::string> env = {},
                        bool java8 = false, bool launcher = true) {
    got_ = std::make_unique<Gathered>(std::move(args), std::move(env), java8, launcher);
    return got_->options;
  }
  const std::vector<std::string>& said() const { return got_->said; }

 private:
  std::unique_ptr<Gathered> got_;
};

const std::string kD = "-Dcom.alibaba.wisp.";

TEST_F(OptionsTest, Defaults) {
  const Options& o = gather({"Main"});
  EXPECT_FALSE(o.enabled);
  EXPECT_EQ(o.carriers, 0);
  EXPECT_EQ(o.sysmon_tick_us, kDefaultSysmonTickUs);
  EXPECT_EQ(o.stack_size, 0u);
  EXPECT_TRUE(!o.disk_ring && o.epoll_runtime);
  EXPECT_EQ(o.active_processor_count, 0);
  EXPECT_EQ(o.black.count + o.white.count, 0);
}

TEST_F(OptionsTest, Documented) {
  const Options& o = gather(
      {"-XX:+UnlockExperimentalVMOptions", "-XX:+UseWisp2", "-XX:ActiveProcessorCount=4",
       kD + "carrierEngines=2", kD + "sysmonTickUs=100000", kD + "stacksize=1m", kD + "trace=4m",
       kD + "stallMs=100", kD + "trimMs=0", kD + "disk=ring", kD + "epoll=kernel",
       kD + "threadAsWisp.black=name:a*;package:b", kD + "threadAsWisp.white=class:c.D", "Main"});
  EXPECT_TRUE(o.enabled);
  EXPECT_EQ(o.carriers, 2);
  EXPECT_EQ(o.sysmon_tick_us, 100000);
  EXPECT_EQ(o.stack_size, 1u << 20);
  EXPECT_EQ(o.trace_size, 4u << 20);
  EXPECT_EQ(o.stall_ms, 100);
  EXPECT_EQ(o.trim_ms, 0);
  EXPECT_TRUE(o.disk_ring);
  EXPECT_FALSE(o.epoll_runtime);
  EXPECT_EQ(o.active_processor_count, 4);
  EXPECT_EQ(o.black.count, 2);
  EXPECT_EQ(o.white.count, 1);
  EXPECT_EQ(carriers_of(o), 2);
  EXPECT_TRUE(said().empty());
}

TEST_F(OptionsTest, Precedence) {
  std::map<std::string, std::string> env = {{"WISP_OPTIONS", "carriers=1"}};
  EXPECT_EQ(gather({"Main"}, env).carriers, 1);
  env["JAVA_TOOL_OPTIONS"] = kD + "carrierEngines=2";
  EXPECT_EQ(gather({"Main"}, env).carriers, 2);
  env["JDK_JAVA_OPTIONS"] = kD + "carrierEngines=3";
  EXPECT_EQ(gather({"Main"}, env).carriers, 3);
  EXPECT_EQ(gather({"Main"}, env, true).carriers, 2) << "JDK 8 does not read JDK_JAVA_OPTIONS";
  EXPECT_EQ(gather({"-version"}, env, false, false).carriers, 2) << "nor does javac";
  EXPECT_EQ(gather({"-J" + kD + "carrierEngines=6"}, env, false, false).carriers, 6);
  EXPECT_EQ(gather({kD + "carrierEngines=4", "Main"}, env).carriers, 4);
  env["_JAVA_OPTIONS"] = kD + "carrierEngines=5";
  EXPECT_EQ(gather({kD + "carrierEngines=4", "Main"}, env).carriers, 5);
}

TEST_F(OptionsTest, TheLastOfALineWins) {
  EXPECT_EQ(gather({kD + "carrierEngines=4", kD + "carrierEngines=7"}).carriers, 7);
  EXPECT_FALSE(gather({"-XX:+UseWisp2", "-XX:-UseWisp2"}).enabled);
  const Options& o =
      gather({kD + "threadAsWisp.black=name:a;name:b", kD + "threadAsWisp.black=name:c"});
  EXPECT_EQ(o.black.count, 1) << "a list replaces, as a property does";
}

TEST_F(OptionsTest, WispVariable) {
  EXPECT_TRUE(gather({"Main"}, {{"WISP", "1"}}).enabled);
  EXPECT_TRUE(gather({"Main"}, {{"WISP", "always"}}).enabled);
  EXPECT_FALSE(gather({"-XX:+UseWisp2", "Main"}, {{"WISP", "0"}}).enabled);
  EXPECT_FALSE(gather({"Main"}, {{"WISP", ""}}).enabled);
  EXPECT_FALSE(gather({"Main"}, {{"WISP", "yes"}}).enabled);
  ASSERT_EQ(said().size(), 1u);
  EXPECT_EQ(said()[0], "WISP=yes: takes 1 (on), 0 (off) or always");
}

TEST_F(OptionsTest, WrongValuesAreNamedAndChangeNothing) {
  struct {
    const char* text;
    const char* part;
  } const cases[] = {
      {"carrierEngines=0", "carrierEngines=0: takes a number from 1 to 1024"},
      {"carrierEngines=1025", "carrierEngines=1025: takes"},
      {"carrierEngines=-1", "carrierEngines=-1: takes"},
      {"carrierEngines=+1", "carrierEngines=+1: takes"},
      {"carrierEngines= 1", "takes"},
      {"carrierEngines=1k", "takes"},
      {"carrierEngines=99999999999999999999", "takes"},
      {"carrierEngines=", "carrierEngines=: takes"},
      {"carrierEngines", "carrierEngines=: takes"},
      {"sysmonTickUs=99", "sysmonTickUs=99: takes microseconds from 100 to 10000000"},
      {"stacksize=64k", "stacksize=64k: takes a size from 256k to 1g"},
      {"trace=63k", "trace=63k: takes a size from 64k to 256m"},
      {"trace=257m", "takes"},
      {"trace=on", "takes"},
      {"stallMs=1", "stallMs=1: takes milliseconds from 2 to 3600000"},
      {"stallMs=3600001", "takes"},
      {"stallMs=100ms", "takes"},
      {"trimMs=99", "trimMs=99: takes milliseconds from 100 to 3600000, or 0 for never"},
      {"trimMs=3600001", "takes"},
      {"disk=rings", "disk=rings: takes ring or thread"},
      {"epoll=", "epoll=: takes runtime or kernel"},
      {"stacksize=2g", "takes"},
      {"stacksize=1mb", "takes"},
      {"stacksize=18446744073709551615g", "takes"},
  };
  for (const auto& c : cases) {
    const Options& o = gather({kD + c.text});
    ASSERT_EQ(said().size(), 1u) << c.text;
    EXPECT_NE(said()[0].find(c.part), std::string::npos) << said()[0];
    EXPECT_EQ(o.carriers, 0);
    EXPECT_EQ(o.sysmon_tick_us, kDefaultSysmonTickUs);
    EXPECT_EQ(o.stack_size, 0u);
    EXPECT_EQ(o.stall_ms, 0);
    EXPECT_EQ(o.trim_ms, kDefaultTrimMs);
  }
  gather({}, {{"JAVA_TOOL_OPTIONS", kD + "carrierEngines=x"}});
  ASSERT_EQ(said().size(), 1u);
  EXPECT_EQ(said()[0].find("JAVA_TOOL_OPTIONS: -Dcom.alibaba.wisp.carrierEngines=x:"), 0u)
      << said()[0];
}

TEST_F(OptionsTest, Sizes) {
  EXPECT_EQ(gather({kD + "stacksize=262144"}).stack_size, 262144u);
  EXPECT_EQ(gather({kD + "stacksize=512K"}).stack_size, 512u << 10);
  EXPECT_EQ(gather({kD + "stacksize=1g"}).stack_size, 1u << 30);
  EXPECT_EQ(gather({kD + "stacksize=262145"}).stack_size, 262144u + 4096) << "whole pages";
}

TEST_F(OptionsTest, OthersPropertiesAreLeftAlone) {
  gather({kD + "enableHandOff=true", "-Dcom.alibaba.wispy=1", kD + "carrierEnginesX=1"});
  EXPECT_TRUE(said().empty());
}

TEST_F(OptionsTest, AgentOptions) {
  const Options& o =
      gather({"-agentpath:/opt/wisp/lib/libwisp.so=carriers=2,black=name:foo*;class:a.B"});
  EXPECT_EQ(o.carriers, 2);
  EXPECT_EQ(o.black.count, 2);
  EXPECT_FALSE(o.enabled) << "the agent switches Wisp on by executing the JVM again";
  EXPECT_EQ(gather({"-agentpath:/x/other.so=carriers=3"}).carriers, 0);
  gather({"-agentlib:wisp=carrier=2"});
  ASSERT_EQ(said().size(), 1u);
  EXPECT_EQ(said()[0].find("-agentpath: 'carrier=2' is not an option; write carriers=N"), 0u)
      << said()[0];
  // The second life: the agent has put its options into WISP_OPTIONS.
  gather({"-agentpath:/x/libwisp.so=black=oops"},
         {{"WISP_REEXEC", "1"}, {"WISP_OPTIONS", "black=oops"}});
  ASSERT_EQ(said().size(), 1u) << "once";
  EXPECT_EQ(said()[0].find("-agentpath: black: entry 'oops'"), 0u) << said()[0];
}

TEST_F(OptionsTest, Files) {
  std::string base = testing::TempDir() + "/wisp-options-" + std::to_string(getpid());
  std::ofstream(base + "-vm") << kD << "carrierEngines=3 -XX:+UseWisp2";
  std::ofstream(base + "-args") << "-XX:VMOptionsFile=" << base
                                << "-vm\n-cp '-XX:-UseWisp2' Main -XX:-UseWisp2";
  const Options& o = gather({"@" + base + "-args", "-XX:-UseWisp2"});
  EXPECT_TRUE(o.enabled);
  EXPECT_EQ(o.carriers, 3);
  EXPECT_FALSE(gather({"@" + base + "-args"}, {}, true).enabled) << "JDK 8: a main class";
  EXPECT_FALSE(gather({"--disable-@files", "@" + base + "-args"}).enabled);
  EXPECT_FALSE(gather({"@" + base + "-missing", "Main"}).enabled);
  EXPECT_TRUE(said().empty()) << "the JVM says that itself";
  unlink((base + "-vm").c_str());
  unlink((base + "-args").c_str());
}

// A FIFO without a writer: whoever opens it waits for ever. It is the JVM's to read.
TEST_F(OptionsTest, WhatCanBeReadOnceIsLeftToTheJvm) {
  std::string fifo = testing::TempDir() + "/wisp-options-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string file = "-XX:VMOptionsFile=" + fifo;
  gather({"@" + fifo, file, "@" + testing::TempDir(), "Main", "@" + fifo},
         {{"WISP", "0"}, {"JAVA_TOOL_OPTIONS", file}, {"JDK_JAVA_OPTIONS", "@" + fifo}});
  EXPECT_TRUE(said().empty());
  EXPECT_EQ(kind_of_file(fifo.c_str()), FileKind::kStream);
  unlink(fifo.c_str());
}

TEST_F(OptionsTest, UnbalancedVariableCountsForNothing) {
  EXPECT_FALSE(gather({}, {{"JAVA_TOOL_OPTIONS", "-XX:+UseWisp2 '"}}).enabled);
}

TEST_F(OptionsTest, DefaultCarriers) {
  EXPECT_EQ(default_carriers(gather({"-XX:ActiveProcessorCount=3"})), 3);
  EXPECT_EQ(default_carriers(gather({"-XX:ActiveProcessorCount=100000"})), kMaxCarriers);
  int processors = default_carriers(gather({}));
  EXPECT_GE(processors, 1);
  EXPECT_LE(processors, affinity_processors());
  EXPECT_EQ(default_carriers(gather({"-XX:-UseContainerSupport"})), affinity_processors());
}

}  // namespace
