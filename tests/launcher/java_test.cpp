// `wisp java`, on every JDK at hand: who switches Wisp on, what the JVM gets to see, and that the
// process is the JVM itself.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "launcher/spawn.h"

using namespace wisp_test;

namespace {

class WispJava : public testing::TestWithParam<std::string> {
 protected:
  Result run(const std::vector<std::string>& java, std::map<std::string, std::string> env = {},
             const std::vector<std::string>& program = {}) {
    Spawn request = wisp_java(GetParam(), java, program);
    request.env = std::move(env);
    return spawn(request);
  }
  static bool on(const Result& result) { return converted(result); }
};

TEST_P(WispJava, RunsPlainWithoutTheFlag) {
  Result result = run({});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(on(result)) << result.err;
  EXPECT_EQ(result.err, "");
}

TEST_P(WispJava, DragonwellsCommandLineWorksAsItStands) {
  Result result =
      run({"-XX:+UnlockExperimentalVMOptions", "-XX:+UseWisp2", "-XX:ActiveProcessorCount=1"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, " on=1 carriers=1 ")) << result.err;
  EXPECT_TRUE(contains(result.err, "LD_PRELOAD=" + kLibrary + " ")) << result.err;
}

TEST_P(WispJava, TheLastFlagWins) {
  EXPECT_FALSE(on(run({"-XX:+UseWisp2", "-XX:-UseWisp2"})));
  Result result = run({"-XX:-UseWisp2", "-XX:+UseWisp2"});
  EXPECT_TRUE(on(result)) << result.all();
  EXPECT_EQ(result.exit, 0);
}

TEST_P(WispJava, VariablesInHotSpotsOrder) {
  Result result = run({"-XX:-UseWisp2"}, {{"JAVA_TOOL_OPTIONS", "-XX:+UseWisp2"}});
  EXPECT_FALSE(on(result)) << "the command line is stronger: " << result.all();
  result = run({"-XX:-UseWisp2"}, {{"_JAVA_OPTIONS", "-XX:+UseWisp2"}});
  EXPECT_TRUE(on(result)) << "_JAVA_OPTIONS is stronger still: " << result.all();
  EXPECT_EQ(result.exit, 0);
  EXPECT_FALSE(contains(result.err, "Picked up")) << "an empty variable should be gone";
  if (is_java8(GetParam())) return;
  result =
      run({}, {{"JAVA_TOOL_OPTIONS", "-XX:-UseWisp2"}, {"JDK_JAVA_OPTIONS", "'-XX:+UseWisp2'"}});
  EXPECT_TRUE(on(result)) << result.all();
  EXPECT_EQ(result.exit, 0);
}

TEST_P(WispJava, TheRestOfAVariableStaysAsWritten) {
  Result result =
      run({"-Dshow=a,b"}, {{"JAVA_TOOL_OPTIONS", "-Da='x  y'  \"-XX:+UseWisp2\"\t-Db=\"1'2\""}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(on(result));
  EXPECT_EQ(value_of(result.out, "a"), "x  y");
  EXPECT_EQ(value_of(result.out, "b"), "1'2");
}

TEST_P(WispJava, Argfiles) {
  if (is_java8(GetParam())) GTEST_SKIP() << "JDK 8 has no @argfiles";
  std::string file = write_file("args",
                                "# comment -XX:-UseWisp2\n-Da=\"x\\\n   y\" '-XX:+UseWisp2'\n"
                                "-Dshow=a\n-Dcom.alibaba.wisp.carrierEngines=3\n");
  Result result = run({"@" + file});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "carriers=3")) << result.all();
  EXPECT_EQ(value_of(result.out, "a"), "xy");
}

TEST_P(WispJava, ArgfileWithTheMainClass) {
  if (is_java8(GetParam())) GTEST_SKIP();
  std::string file =
      write_file("main", "-XX:+UseWisp2 -cp " + kClasses + " Probe -XX:+UseWisp2 @x");
  Result result = spawn({.args = {kWisp, "java", "--jdk", GetParam(), "@" + file, "@y"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(on(result));
  EXPECT_TRUE(contains(result.out, "arg=-XX:+UseWisp2\narg=@x\narg=@y\n")) << result.out;
}

TEST_P(WispJava, DisabledArgfilesAreTheProgramsName) {
  if (is_java8(GetParam())) GTEST_SKIP();
  if (spawn({.args = {GetParam() + "/bin/java", "--disable-@files", "-version"}}).exit != 0) {
    GTEST_SKIP() << "this JDK's own java refuses the option (JDK 17 does)";
  }
  std::string file = write_file("off", "-XX:+UseWisp2");
  Result result = run({"--disable-@files"}, {}, {"@" + file});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(on(result));
  EXPECT_TRUE(contains(result.out, "arg=@" + file));
}

TEST_P(WispJava, ArgfileTooLongForACommandLine) {
  if (is_java8(GetParam())) GTEST_SKIP();
  std::string file = write_file("long", "-XX:+UseWisp2 -Da=" + std::string(300000, 'x') + "y");
  Result result = run({"@" + file});
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_TRUE(on(result));
}

TEST_P(WispJava, VmOptionsFile) {
  if (is_java8(GetParam())) GTEST_SKIP();
  std::string file = write_file("vm", "-Da=b\n-XX:+UseWisp2\n-Dshow=a\n");
  Result result = run({"-XX:VMOptionsFile=" + file});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(on(result));
  EXPECT_EQ(value_of(result.out, "a"), "b");
}

TEST_P(WispJava, TheProgramsArgumentsAreItsOwn) {
  Result result =
      run({}, {}, {"-XX:+UseWisp2", "-Dcom.alibaba.wisp.carrierEngines=zero", "", "a b"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(on(result));
  EXPECT_TRUE(contains(result.out, "arg=-XX:+UseWisp2\n"));
  EXPECT_TRUE(contains(result.out, "arg=\narg=a b\n")) << result.out;
}

TEST_P(WispJava, OptionsReachTheLibrary) {
  Result result = run({"-XX:+UseWisp2", "-Dcom.alibaba.wisp.carrierEngines=5",
                       "-Dcom.alibaba.wisp.sysmonTickUs=2000", "-Dcom.alibaba.wisp.stacksize=512k",
                       "-Dcom.alibaba.wisp.threadAsWisp.black=name:a*;oops;class=x.Y",
                       "-Dcom.alibaba.wisp.threadAsWisp.white=package:p"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "on=1 carriers=5 tick=2000 stack=524288 black=2 white=1"))
      << result.err;
  EXPECT_EQ(count(result.err, "'oops'"), 1) << "reported once: " << result.err;
}

TEST_P(WispJava, WrongValuesEndWithTwo) {
  for (const char* option :
       {"-Dcom.alibaba.wisp.carrierEngines=0", "-Dcom.alibaba.wisp.stacksize=1x",
        "-Dcom.alibaba.wisp.sysmonTickUs=-1", "-Dcom.alibaba.wisp.carrierEngines"}) {
    Result result = run({"-XX:+UseWisp2", option});
    EXPECT_EQ(result.exit, 2) << option << result.all();
    std::string name(option, std::string(option).find_first_of("=") == std::string::npos
                                 ? std::string(option).size()
                                 : std::string(option).find('='));
    EXPECT_TRUE(contains(result.err, "wisp: " + name + "=")) << result.err;
    EXPECT_TRUE(contains(result.err, "takes ")) << result.err;
    EXPECT_EQ(run({option}).exit, 0) << "without Wisp it is just a property";
  }
}

TEST_P(WispJava, OtherPreloadsStay) {
  Result result = run({"-XX:+UseWisp2"}, {{"LD_PRELOAD", "libm.so.6"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "LD_PRELOAD=" + kLibrary + ":libm.so.6 ")) << result.err;
}

// Signal chaining has to see the program's handlers first. The folder does not exist; the name
// does.
TEST_P(WispJava, SignalChainingStaysInFront) {
  Result result = run({"-XX:+UseWisp2"}, {{"LD_PRELOAD", "libm.so.6:/nowhere/libjsig.so"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "LD_PRELOAD=libm.so.6:/nowhere/libjsig.so:" + kLibrary + " "))
      << result.err;
}

TEST_P(WispJava, WispZeroIsTheOffSwitch) {
  Result result = run({"-XX:+UseWisp2"}, {{"WISP", "0"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(on(result));
}

TEST_P(WispJava, ExitCodeAndStdin) {
  EXPECT_EQ(run({"-XX:+UseWisp2"}, {}, {"exit", "42"}).exit, 42);
  EXPECT_EQ(run({}, {}, {"exit", "7"}).exit, 7);
  EXPECT_EQ(run({"-XX:+UseWisp2", "-XX:+NoSuchFlagAtAll"}).exit, 1);
  Spawn request;
  request.args = {kWisp, "java",   "--jdk", GetParam(), "-XX:+UseWisp2",
                  "-cp", kClasses, "Probe", "stdin"};
  request.input = "hello";
  Result result = spawn(request);
  EXPECT_EQ(value_of(result.out, "stdin"), "hello") << result.all();
}

TEST_P(WispJava, SameProcess) {
  Spawn request;
  request.args = {kWisp, "java",   "--jdk", GetParam(), "-XX:+UseWisp2",
                  "-cp", kClasses, "Probe", "wait"};
  request.when_output = [](int pid, const std::string&) { kill(pid, SIGTERM); };
  Result result = spawn(request);
  EXPECT_EQ(result.exit, 143) << result.all();
  EXPECT_EQ(value_of(result.out, "pid"), std::to_string(result.pid));
  request.when_output = [](int pid, const std::string&) { kill(pid, SIGKILL); };
  result = spawn(request);
  EXPECT_EQ(result.signal, SIGKILL) << result.all();
}

TEST_P(WispJava, JavaHomeAndPath) {
  Spawn request;
  request.args = {kWisp, "java", "-XX:+UseWisp2", "-cp", kClasses, "Probe"};
  request.env["JAVA_HOME"] = GetParam();
  Result result = spawn(request);
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(value_of(result.out, "home").find(GetParam()), 0u) << result.out;
  request.env.erase("JAVA_HOME");
  request.env["PATH"] = GetParam() + "/bin:/usr/bin";
  result = spawn(request);
  EXPECT_EQ(value_of(result.out, "home").find(GetParam()), 0u) << result.all();
  EXPECT_TRUE(on(result));
}

TEST_P(WispJava, HostileText) {
  // Whatever the text, the JVM must get what the user wrote and the command must not fall over.
  const std::string hostile[] = {std::string(100000, 'a'), "a\nb\n-XX:+UseWisp2",
                                 "\"unbalanced",           "\xff\xfe\x80",
                                 std::string(5000, ';'),   "name:" + std::string(5000, '*')};
  for (const std::string& text : hostile) {
    Result result =
        run({"-XX:+UseWisp2", "-Da=" + text, "-Dcom.alibaba.wisp.threadAsWisp.black=" + text});
    EXPECT_EQ(result.exit, 0) << result.all().substr(0, 2000);
    EXPECT_TRUE(on(result));
    result = run({"-XX:+UseWisp2", "-Dcom.alibaba.wisp.carrierEngines=" + text});
    EXPECT_EQ(result.exit, 2);
    EXPECT_EQ(count(result.err, "\n"), 1) << "one line: " << result.err;
    EXPECT_LT(result.err.size(), 400u);
  }
  Result result = run({"-XX:+UseWisp2"}, {{"JAVA_TOOL_OPTIONS", "-Da='unbalanced"}});
  EXPECT_EQ(result.exit, 1) << "the JVM's own refusal: " << result.all();
  EXPECT_TRUE(contains(result.err, "JAVA_TOOL_OPTIONS")) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Jdk, WispJava, testing::ValuesIn(jdks()),
                         [](const auto& info) { return jdk_label(info.param); });

}  // namespace
