// java -agentpath:…/libwisp.so: one more exec, same process, no loop.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "launcher/spawn.h"

using namespace wisp_test;

namespace {

class Agent : public testing::TestWithParam<std::string> {
 protected:
  Result run(const std::string& agent, std::vector<std::string> program = {},
             std::map<std::string, std::string> env = {}, std::string input = "") {
    Spawn request;
    request.args = {GetParam() + "/bin/java"};
    if (!agent.empty()) request.args.push_back("-agentpath:" + agent);
    request.args.insert(request.args.end(), {"-cp", kClasses, "Probe"});
    request.args.insert(request.args.end(), program.begin(), program.end());
    request.env = std::move(env);
    request.input = std::move(input);
    return spawn(request);
  }
};

TEST_P(Agent, ExecutesOnceMoreInTheSameProcess) {
  Result result = run(kLibrary, {"stdin", "a b", ""}, {{"KEEP", "x"}}, "hello");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.err, "stub: "), 1) << result.err;
  EXPECT_TRUE(contains(result.err, "pid=" + std::to_string(result.pid) + " WISP=1 "));
  EXPECT_EQ(value_of(result.out, "pid"), std::to_string(result.pid));
  EXPECT_TRUE(contains(result.out, "arg=stdin\narg=a b\narg=\n")) << result.out;
  EXPECT_EQ(value_of(result.out, "stdin"), "hello");
}

TEST_P(Agent, Options) {
  Result result = run(kLibrary + "=carriers=2,stacksize=512k,black=name:a*;oops;class:b.C");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "carriers=2 tick=1000 stack=524288 black=2")) << result.err;
  EXPECT_EQ(count(result.err, "'oops'"), 1) << "reported once: " << result.err;
}

TEST_P(Agent, WrongOptionsStopTheJvm) {
  for (const char* options : {"carriers=0", "carrier=2", "x"}) {
    Result result = run(kLibrary + "=" + options);
    EXPECT_EQ(result.exit, 1) << result.all();
    EXPECT_TRUE(contains(result.err, "wisp: -agentpath: ")) << result.err;
    EXPECT_FALSE(contains(result.err, "stub: "));
  }
}

TEST_P(Agent, FromTheEnvironment) {
  Result result =
      run("", {"exit", "5"}, {{"JAVA_TOOL_OPTIONS", "-agentpath:" + kLibrary + "=carriers=3"}});
  EXPECT_EQ(result.exit, 5) << result.all();
  EXPECT_TRUE(contains(result.err, "carriers=3")) << result.err;
  EXPECT_EQ(count(result.err, "stub: "), 1);
}

TEST_P(Agent, PreloadedAlready) {
  Result result = run(kLibrary, {}, {{"LD_PRELOAD", kLibrary}, {"WISP", "1"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.err, "stub: "), 1) << result.err;
  result = spawn({.args = {kWisp, "java", "--jdk", GetParam(), "-XX:+UseWisp2",
                           "-agentpath:" + kLibrary + "=carriers=2", "-cp", kClasses, "Probe"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.err, "stub: "), 1) << result.err;
  EXPECT_TRUE(contains(result.err, "carriers=2")) << result.err;
}

TEST_P(Agent, NeverLoops) {
  // As if the linker had ignored LD_PRELOAD in the second life.
  Result result = run(kLibrary, {}, {{"WISP_REEXEC", "1"}, {"WISP", "1"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(contains(result.err, "stub: "));
  EXPECT_TRUE(contains(result.err, "wisp: running on plain threads: ")) << result.err;
  // Another copy of the library, preloaded.
  std::filesystem::create_directories(scratch() + "/copy");
  std::string copy = scratch() + "/copy/libwisp.so";
  std::filesystem::copy_file(kLibrary, copy, std::filesystem::copy_options::overwrite_existing);
  result = run(kLibrary, {}, {{"LD_PRELOAD", copy}, {"WISP", "1"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.err, "LD_PRELOAD=" + copy), 1) << result.err;
}

TEST_P(Agent, OffSwitch) {
  Result result = run(kLibrary, {}, {{"WISP", "0"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(contains(result.err, "stub: "));
}

TEST_P(Agent, SignalMaskIsTheUsers) {
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigprocmask(SIG_BLOCK, &blocked, &old);
  auto mask_of = [&](const std::string& agent) {
    std::string mask;
    Spawn request;
    request.args = {GetParam() + "/bin/java"};
    if (!agent.empty()) request.args.push_back("-agentpath:" + agent);
    request.args.insert(request.args.end(), {"-cp", kClasses, "Probe", "wait"});
    request.when_output = [&](int pid, const std::string&) {
      Result status =
          spawn({.args = {"/bin/grep", "SigBlk", "/proc/" + std::to_string(pid) + "/status"}});
      mask = status.out;
      kill(pid, SIGKILL);
    };
    spawn(request);
    return mask;
  };
  std::string with = mask_of(kLibrary);
  std::string without = mask_of("");
  sigprocmask(SIG_SETMASK, &old, nullptr);
  EXPECT_EQ(with, without);
  EXPECT_NE(with, "");
}

INSTANTIATE_TEST_SUITE_P(Jdk, Agent, testing::ValuesIn(jdks()),
                         [](const auto& info) { return jdk_label(info.param); });

}  // namespace
