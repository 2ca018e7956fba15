// Files of options, on every JDK at hand: those that a variable names, which child processes
// inherit, and those that can be read once.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "launcher/spawn.h"

using namespace wisp_test;

namespace {

class OptionFiles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (is_java8(GetParam())) GTEST_SKIP() << "JDK 8 has no files of options";
  }
  // A program that starts a stock java, both with this variable.
  Result with_child(const std::string& variable, const std::string& value) {
    Spawn request = wisp_java(GetParam(), {"-Dshow=a"}, {"child", "-Dshow=a"});
    request.args.insert(request.args.begin(), {"/usr/bin/timeout", "60"});
    request.env = {{variable, value}};
    return spawn(request);
  }
  // Words for a shell, in which $java and $probe are what they say.
  Result shell(const std::string& java, const std::string& words,
               std::map<std::string, std::string> env = {}) {
    Spawn request;
    request.args = {"/usr/bin/timeout", "60", "/bin/bash", "-c", words};
    request.env = std::move(env);
    request.env["java"] = java;
    request.env["probe"] = "-Dshow=a -cp " + kClasses + " Probe";
    return spawn(request);
  }
  std::string wisp_java_command() const { return kWisp + " java --jdk " + GetParam(); }
  std::string stock_java() const { return GetParam() + "/bin/java"; }
};

TEST_P(OptionFiles, ChildrenReadAVariableToo) {
  std::string file = write_file("opts", "# comment\n-XX:+UseWisp2 -Da=b\n");
  std::string vm = write_file("vmopts", "-Da=b\n-XX:+UseWisp2\n");
  std::string nested = write_file("nested", "-XX:VMOptionsFile=" + vm);
  const std::pair<std::string, std::string> cases[] = {
      {"JDK_JAVA_OPTIONS", "@" + file},
      {"JDK_JAVA_OPTIONS", "@" + nested},
      {"JDK_JAVA_OPTIONS", "-XX:VMOptionsFile=" + vm},
      {"JAVA_TOOL_OPTIONS", "-XX:VMOptionsFile=" + vm},
      {"_JAVA_OPTIONS", "-XX:VMOptionsFile=" + vm},
  };
  for (const auto& [variable, value] : cases) {
    Result result = with_child(variable, value);
    EXPECT_EQ(result.exit, 0) << variable << "=" << value << "\n" << result.all();
    EXPECT_EQ(count(result.err, "stub: "), 1) << "the child is an ordinary one: " << result.err;
    EXPECT_EQ(count(result.out, "\na=b\n"), 2) << result.all();
    EXPECT_FALSE(contains(result.all(), "/proc/self/fd")) << result.all();
  }
}

TEST_P(OptionFiles, WordsInAVariableKeepTheirBlanksAndQuotes) {
  std::string file = write_file(
      "quoted", "-XX:+UseWisp2 \"-Da=x  'y' \\\"z\\\" \\\\ \t@w\" -cp @odd --class-path '' -esa");
  Result result = with_child("JDK_JAVA_OPTIONS", "'-Db= c' @" + file + " -Dd=e");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.out, "\na=x  'y' \"z\" \\ \t@w\n"), 2) << result.all();
  file = write_file("vmquoted", "'-Da=x  \"y\" z'\"'\" -XX:+UseWisp2");
  result = with_child("JAVA_TOOL_OPTIONS", "-XX:VMOptionsFile=" + file);
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.out, "\na=x  \"y\" z'\n"), 2) << result.all();
}

TEST_P(OptionFiles, TooLongForAVariable) {
  std::string file = write_file("long", "-XX:+UseWisp2 -Da=" + std::string(300000, 'x'));
  Spawn request = wisp_java(GetParam(), {});
  request.env = {{"JDK_JAVA_OPTIONS", "@" + file}};
  Result result = spawn(request);
  EXPECT_EQ(result.exit, 0) << result.err.substr(0, 2000);
  EXPECT_TRUE(converted(result));
}

TEST_P(OptionFiles, FromAPipe) {
  for (const char* flag : {"-XX:+UseWisp2", "-XX:-UseWisp2", ""}) {
    for (const char* name : {"@", "-XX:VMOptionsFile="}) {
      std::string words = "exec 5< <(echo " + std::string(flag) + " -Da=b); exec $java " + name +
                          "/dev/fd/5 $probe";
      Result result = shell(wisp_java_command(), words);
      EXPECT_EQ(result.exit, 0) << words << result.all();
      EXPECT_EQ(converted(result), flag == std::string("-XX:+UseWisp2")) << result.all();
      EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
    }
  }
}

TEST_P(OptionFiles, FromStandardInput) {
  Result result = shell(wisp_java_command(), "echo -XX:+UseWisp2 -Da=b | $java @/dev/stdin $probe");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(converted(result)) << result.all();
  EXPECT_EQ(value_of(result.out, "a"), "b");
}

TEST_P(OptionFiles, FromAFifoOfAHomesJava) {
  std::string home = scratch() + "/home-" + jdk_label(GetParam());
  ASSERT_EQ(spawn({.args = {kWisp, "jdk", GetParam(), "--output", home}}).exit, 0);
  std::string fifo = scratch() + "/fifo-" + jdk_label(GetParam());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const char* flag : {"-XX:+UseWisp2", ""}) {
    Result result = shell(home + "/bin/java", "echo " + std::string(flag) + " -Da=b > " + fifo +
                                                  " & $java @" + fifo + " $probe");
    EXPECT_EQ(result.exit, 0) << result.all();
    EXPECT_EQ(converted(result), *flag != '\0') << result.all();
    EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
  }
}

// In the JVM's own process nothing can be copied: the pipe is the JVM's.
TEST_P(OptionFiles, APreloadedLibraryLeavesPipesAlone) {
  const std::map<std::string, std::string> wishes[] = {
      {}, {{"WISP", "0"}}, {{"WISP", "1"}, {"WISP_OPTIONS", "carriers=3"}}};
  for (auto env : wishes) {
    env["LIBRARY"] = kLibrary;
    Result result =
        shell(stock_java(), "LD_PRELOAD=$LIBRARY exec $java @<(echo -Da=b) $probe", env);
    EXPECT_EQ(result.exit, 0) << result.all();
    EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
    EXPECT_TRUE(converted(result));
  }
}

// A variable's file is the JVM's as well, and read by every child.
TEST_P(OptionFiles, APipeInAVariableIsLeftAlone) {
  Result result = shell(wisp_java_command(),
                        "exec 5< <(echo -Da=b); JDK_JAVA_OPTIONS=@/dev/fd/5 exec $java "
                        "-XX:+UseWisp2 $probe");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(converted(result)) << result.all();
  EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
}

TEST_P(OptionFiles, TheProgramsPipesAreItsOwn) {
  Result result = shell(wisp_java_command(), "exec $java -XX:+UseWisp2 $probe @<(echo -Da=b)");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.out, "\narg=@/dev/fd/")) << result.out;
}

// The JVM's own words about them.
TEST_P(OptionFiles, WhatCannotBeRead) {
  std::string missing = scratch() + "/missing";
  for (const std::string& file : {missing, scratch()}) {
    Result with = spawn(wisp_java(GetParam(), {"@" + file}));
    Result without = spawn({.args = {stock_java(), "@" + file, "-cp", kClasses, "Probe"}});
    EXPECT_EQ(with.exit, 1) << with.all();
    EXPECT_EQ(with.err, without.err);
  }
}

TEST_P(OptionFiles, TheAgentCannotReadAPipeAgain) {
  std::string java = stock_java() + " -agentpath:" + kLibrary;
  Result result = shell(java, "exec $java @<(echo -Da=b) $probe");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
  EXPECT_FALSE(converted(result));
  EXPECT_EQ(result.err.find("wisp: running on plain threads: the JVM's options come from /dev/fd/"),
            0u)
      << result.err;
  result = shell(java, "exec $java @<(echo -Da=b) $probe", {{"WISP", "0"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(result.err, "");
  // Through the command it is a copy, which can.
  result =
      shell(wisp_java_command() + " -agentpath:" + kLibrary, "exec $java @<(echo -Da=b) $probe");
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(converted(result)) << result.all();
  EXPECT_EQ(value_of(result.out, "a"), "b") << result.all();
}

INSTANTIATE_TEST_SUITE_P(Jdk, OptionFiles, testing::ValuesIn(jdks()),
                         [](const auto& info) { return jdk_label(info.param); });

}  // namespace
