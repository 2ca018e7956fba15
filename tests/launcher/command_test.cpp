// The command's own face: help, version, usage errors, and the man page's and options page's step
// with them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <regex>

#include "launcher/spawn.h"

using namespace wisp_test;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string man_page() {
  std::string text = read(WISP_SOURCE "/docs/wisp.1");
  text = std::regex_replace(text, std::regex("\\\\f[BIRP]"), "");
  text = std::regex_replace(text, std::regex("\\\\-"), "-");
  return text;
}

TEST(Command, Version) {
  Result result = spawn({.args = {kWisp, "--version"}});
  EXPECT_EQ(result.exit, 0);
  EXPECT_TRUE(std::regex_match(result.out, std::regex("wisp \\d+\\.\\d+\\.\\d+\n"))) << result.out;
}

TEST(Command, Help) {
  Result result = spawn({.args = {kWisp, "--help"}});
  EXPECT_EQ(result.exit, 0);
  EXPECT_EQ(result.err, "");
  for (const char* word : {"java", "jdk", "doctor", "--version", "-XX:+UseWisp2"}) {
    EXPECT_TRUE(contains(result.out, word)) << word;
  }
  EXPECT_TRUE(contains(spawn({.args = {kWisp, "jdk", "--help"}}).out, "--output"));
  EXPECT_TRUE(contains(spawn({.args = {kWisp, "doctor", "--help"}}).out, "--json"));
}

TEST(Command, UsageErrorsEndWithTwo) {
  struct {
    std::vector<std::string> args;
    const char* part;
  } const cases[] = {
      {{}, "a command is required: java, jdk, doctor"},
      {{"foo"}, "'foo' is not a command or option; takes java, jdk, doctor"},
      {{"/opt/jdk/bin/java"}, "a java of your choice: wisp java --jdk /opt/jdk ARG..."},
      {{"--foo"}, "--foo"},
      {{"doctor", "--jsn"}, "--jsn"},
      {{"doctor", "x"}, "not expected: x"},
      {{"ps", "1"}, "not expected: 1"},
      {{"stat"}, "PID is required"},
      {{"stat", "0"}, "'0' is not a process id: takes the number of a process"},
      {{"top", "abc"}, "'abc' is not a process id: takes the number of a process"},
      {{"jstack", "12x"}, "'12x' is not a process id: takes the number of a process"},
      {{"trace", "abc"}, "'abc' is not a process id; takes PID, report FILE or -- java"},
      {{"stat", "-3"}, "-3"},
      {{"stat", "999999999"}, "no process 999999999"},
      {{"stat", "1", "--count", "2"}, "--count needs --interval"},
      {{"stat", "1", "--json", "--openmetrics"}, "exclude each other"},
      {{"stat", "1", "--tasks", "--openmetrics"}, "no lines for single tasks"},
      {{"jdk"}, "DIR is required"},
      {{"jdk", "/tmp", "--out", "x"}, "--out"},
      {{"java", "--jdk"}, "--jdk takes a directory"},
      {{"trace", "--", "java", "--jdk"}, "--jdk takes a directory"},
      {{"java", "--jdk", "/nowhere"}, "--jdk=/nowhere: takes the home directory of a JDK"},
      {{"java", "--jdk=/nowhere"}, "--jdk=/nowhere: takes"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> args = {kWisp};
    args.insert(args.end(), c.args.begin(), c.args.end());
    Result result = spawn({.args = args});
    EXPECT_EQ(result.exit, 2) << c.part << result.all();
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, c.part)) << result.err;
  }
  Result result = spawn({.args = {kWisp, "java", "-version"}, .env = {{"JAVA_HOME", "/nowhere"}}});
  EXPECT_EQ(result.exit, 2);
  EXPECT_TRUE(contains(result.err, "JAVA_HOME=/nowhere: takes")) << result.err;
  result = spawn({.args = {kWisp, "java", "-version"}, .env = {{"PATH", "/nowhere"}}});
  EXPECT_EQ(result.exit, 1);
  EXPECT_TRUE(contains(result.err, "no java found")) << result.err;
}

// A full disk, a closed descriptor, a reader that has gone: told by the exit code.
TEST(Command, OutputThatCannotBeWritten) {
  auto broken_pipe = [] {
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    return pipe(ends) == 0 && close(ends[0]) == 0 && dup2(ends[1], 1) == 1;
  };
  auto full = [] { return dup2(open("/dev/full", O_WRONLY), 1) == 1; };
  auto closed = [] { return close(1) == 0; };
  std::string said = "wisp: cannot write standard output: ";
  const std::vector<std::string> commands[] = {
      {"--help"},           {"--version"},
      {"stat", "--help"},   {"ps"},
      {"ps", "--json"},     {"doctor"},
      {"doctor", "--json"}, {"jdk", jdks()[0], "--output", scratch() + "/unseen"}};
  for (std::vector<std::string> args : commands) {
    args.insert(args.begin(), kWisp);
    Result result = spawn({.args = args, .before_exec = full});
    EXPECT_EQ(result.exit, 1) << args[1] << result.all();
    EXPECT_EQ(result.err, said + "No space left on device\n");
    result = spawn({.args = args, .before_exec = closed});
    EXPECT_EQ(result.exit, 1) << args[1] << result.all();
    EXPECT_EQ(result.err, said + "Bad file descriptor\n");
    result = spawn({.args = args, .before_exec = broken_pipe});
    EXPECT_EQ(result.exit, 1) << args[1] << result.all();
    EXPECT_EQ(result.err, "");
  }
  // An error that cannot be told stays one.
  Result result = spawn({.args = {kWisp, "stat", "0"},
                         .before_exec = [] { return dup2(open("/dev/full", O_WRONLY), 2) == 2; }});
  EXPECT_EQ(result.exit, 2) << result.all();
}

// A wrong value of an option: the answer names the option, the value, and what it takes, with unit
// and range.
TEST(Command, WrongValuesAreToldWhatIsTaken) {
  std::vector<std::string> wrong = {"x", "", "-1", "1x", "1,5", "nan", "inf", "0x10", " 1", "1e9"};
  struct {
    std::vector<std::string> args;
    std::vector<std::string> more;  // wrong here
    const char* takes;
  } const cases[] = {
      {{"stat", "1", "--interval"}, {"0", "0.05", "3601"}, "seconds from 0.1 to 3600"},
      {{"top", "1", "--interval"}, {"0", "0.05", "3601"}, "seconds from 0.1 to 3600"},
      {{"trace", "1", "--seconds"}, {"0", "0.05", "3601"}, "seconds from 0.1 to 3600"},
      {{"jstack", "1", "--timeout"}, {"-0.1", "3601"}, "seconds from 0 to 3600"},
      {{"stat", "1", "--interval", "1", "--count"},
       {"0", "1.5", "1000000001", "99999999999999999999"},
       "a whole number from 1 to 1000000000"},
      {{"trace", "1", "--buffer"},
       {"0", "4q", "63k", "257m", "99999999999999999999m"},
       "a size from 64k to 256m, such as 4m"},
  };
  for (const auto& c : cases) {
    std::vector<std::string> values = wrong;
    values.insert(values.end(), c.more.begin(), c.more.end());
    for (const std::string& value : values) {
      std::vector<std::string> args = {kWisp};
      args.insert(args.end(), c.args.begin(), c.args.end());
      args.push_back(value);
      Result result = spawn({.args = args});
      EXPECT_EQ(result.exit, 2) << result.all();
      EXPECT_EQ(result.out, "");
      std::string wanted = c.args.back() + "=" + value + ": takes " + c.takes;
      EXPECT_TRUE(contains(result.err, wanted)) << wanted << "\n" << result.err;
    }
  }
  // And what is taken goes on to the process: of our own, which no JVM is.
  std::string self = std::to_string(getpid());
  const std::vector<std::string> right[] = {{"stat", self, "--interval", "0.1", "--count", "1"},
                                            {"stat", self, "--interval=3600"},
                                            {"top", self, "--interval", ".5"},
                                            {"jstack", self, "--timeout", "0"},
                                            {"trace", self, "--seconds", "2", "--buffer", "64k"},
                                            {"trace", self, "--buffer", "256M"}};
  for (const auto& words : right) {
    std::vector<std::string> args = {kWisp};
    args.insert(args.end(), words.begin(), words.end());
    Result result = spawn({.args = args});
    EXPECT_EQ(result.exit, 1) << words[0] << result.all();
    EXPECT_TRUE(contains(result.err, "is not a JVM that Wisp runs in")) << result.err;
  }
}

// What `wisp COMMAND --help` says. That of bench is the harness's, which is not in the test tree;
// it goes on with the workloads.
std::string help_of(const std::string& command) {
  if (command == "bench") {
    Result result =
        spawn({.args = {"/usr/bin/env", "python3", "-B", WISP_SOURCE "/scripts/bench", "--help"},
               .env = {{"COLUMNS", "1000"}}});
    EXPECT_EQ(result.exit, 0) << result.all();
    std::string help = result.out.substr(0, result.out.find("\nworkloads:"));
    // Argparse's own.
    return std::regex_replace(help, std::regex("\n  -h, --help .*"), "");
  }
  if (command.empty()) return spawn({.args = {kWisp, "--help"}}).out;
  std::string help = spawn({.args = {kWisp, command, "--help"}}).out;
  return help.substr(0, help.find("\nExamples:"));
}

// Every option and command that some --help lists is in the man page, with the same description,
// and in the line that begins with its command.
TEST(ManPage, KeepsStepWithHelp) {
  std::string man = man_page();
  ASSERT_FALSE(man.empty());
  std::string flowing = std::regex_replace(man, std::regex("\\s+"), " ");
  for (std::string command :
       {"", "jdk", "doctor", "ps", "stat", "top", "jstack", "trace", "bench"}) {
    std::string help = help_of(command);
    std::smatch header;
    bool has_header = std::regex_search(man, header, std::regex("\n\\.TP\n" + command + " .*"));
    EXPECT_TRUE(has_header || command.empty()) << command;
    int options = 0;
    std::regex option("(^|[ ,])(--?[a-z][a-z-]*)");
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
      std::string name = (*at)[2].str();
      EXPECT_TRUE(contains(man, name)) << name;
      if (command.empty() || name.rfind("--", 0) != 0 || name == "--help") continue;
      EXPECT_TRUE(contains(header.str() + " ", name)) << command << ": " << name;
      options++;
    }
    EXPECT_GT(options, command.empty() ? -1 : 0) << command << "\n" << help;
    std::regex line("\n  (\\S.*?) {2,}(.*[^ \\n])");
    for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) {
      std::string description = (*at)[2].str();
      // "ARGS  description" for subcommands
      size_t gap = description.find("  ");
      if (gap != std::string::npos) description = description.substr(gap + 2);
      EXPECT_TRUE(contains(flowing, description)) << description;
    }
  }
  // That of bench is in the synopsis as well.
  std::string synopsis = man.substr(man.find(".SH SYNOPSIS"), man.find(".SH DESCRIPTION"));
  std::string help = help_of("bench"), usage = help.substr(0, help.find("\n\n"));
  std::regex option("--[a-z-]+");
  for (std::sregex_iterator at(usage.begin(), usage.end(), option), end; at != end; ++at)
    EXPECT_TRUE(contains(synopsis, at->str())) << at->str();
  std::string version = spawn({.args = {kWisp, "--version"}}).out;
  EXPECT_TRUE(contains(man, version.substr(0, version.size() - 1)))
      << "the .TH line names " << version;
}

TEST(ManPage, Renders) {
  Result result =
      spawn({.args = {"/usr/bin/groff", "-man", "-Tascii", "-ww", WISP_SOURCE "/docs/wisp.1"}});
  if (result.exit == 127) GTEST_SKIP() << "no groff";
  EXPECT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(result.err, "");
}

// The table of docs/options.md and the table of options.cpp have the same rows.
TEST(OptionsPage, KeepsStepWithTheTable) {
  std::string source = read(WISP_SOURCE "/runtime/jvm/options.cpp");
  std::string page = read(WISP_SOURCE "/docs/options.md");
  std::regex row("\\{\"([A-Za-z]+)\", \"([A-Za-z.]+)\", set_");
  int rows = 0;
  for (std::sregex_iterator at(source.begin(), source.end(), row), end; at != end; ++at, ++rows) {
    EXPECT_TRUE(contains(page, "`-Dcom.alibaba.wisp." + (*at)[2].str() + "=")) << (*at)[2].str();
    EXPECT_TRUE(contains(page, "`" + (*at)[1].str() + "`")) << (*at)[1].str();
  }
  EXPECT_EQ(rows, 10);
  std::string man = man_page();
  for (std::sregex_iterator at(source.begin(), source.end(), row), end; at != end; ++at) {
    EXPECT_TRUE(contains(man, "-Dcom.alibaba.wisp." + (*at)[2].str() + "=")) << (*at)[2].str();
  }
}

}  // namespace
