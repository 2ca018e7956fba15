// rewrite.h: the JVM gets what the user wrote, less the options that are taken out, wherever they
// stood. WISP_FUZZ_ROUNDS=N for more rounds than the default.
#include "rewrite.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

using namespace wisp;

namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

constexpr char kFlag[] = "-XX:+UseWisp2";
bool is_flag(const char* option) { return strcmp(option, kFlag) == 0; }

const char* lookup(void* context, const char* name) {
  auto& all = *static_cast<Variables*>(context);
  auto found = all.find(name);
  return found == all.end() ? nullptr : found->second.c_str();
}

struct Process {
  Words args = {"java"};
  Variables variables;
  std::vector<char*> argv;

  ArgSources sources() {
    argv.clear();
    for (std::string& arg : args) argv.push_back(arg.data());
    ArgSources sources;
    sources.argc = static_cast<int>(argv.size());
    sources.argv = argv.data();
    sources.variable = lookup;
    sources.context = &variables;
    return sources;
  }
  Words options() {
    Words all;
    visit_jvm_options(
        sources(),
        [](void* words, const char* option, const char*) {
          static_cast<Words*>(words)->emplace_back(option);
        },
        &all);
    return all;
  }
  Process stripped() {
    Rewritten rewritten = strip_options(sources(), is_flag);
    EXPECT_TRUE(rewritten.problems.empty());
    Process result{rewritten.args, variables, {}};
    for (const auto& [name, value] : rewritten.variables) {
      if (value) {
        result.variables[name] = *value;
      } else {
        result.variables.erase(name);
      }
    }
    return result;
  }
};

class Rewrite : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    std::string path = testing::TempDir() + "/wisp-rewrite-" + std::to_string(getpid()) + "-" +
                       std::to_string(files_.size());
    std::ofstream(path, std::ios::binary) << text;
    files_.push_back(path);
    return path;
  }
  void TearDown() override {
    for (const std::string& path : files_) unlink(path.c_str());
    files_.clear();
  }

 private:
  Words files_;
};

TEST_F(Rewrite, AVariableHoldsTheWordsOfItsFiles) {
  std::string vm = file("-Da -XX:+UseWisp2");
  Process process;
  process.variables = {
      {"JAVA_TOOL_OPTIONS", "-Db \"-XX:VMOptionsFile=" + vm + "\" -Dc"},
      {"JDK_JAVA_OPTIONS", "@" + file("-Dd='x y' -XX:VMOptionsFile=" + vm + " -cp @e # -Df")},
      {"_JAVA_OPTIONS", "-XX:VMOptionsFile=" + file("-XX:+UseWisp2")}};
  Process result = process.stripped();
  EXPECT_EQ(result.variables["JAVA_TOOL_OPTIONS"], "-Db -Da -Dc");
  EXPECT_EQ(result.variables["JDK_JAVA_OPTIONS"], "\"-Dd=x y\" -Da -cp @@e");
  EXPECT_EQ(result.variables.count("_JAVA_OPTIONS"), 0u);
}

TEST_F(Rewrite, OnlyWhatTheEnvironmentCannotHoldIsACopy) {
  for (size_t length : {size_t{90} << 10, size_t{100} << 10}) {
    Process process;
    process.variables["JDK_JAVA_OPTIONS"] =
        "-Db @" + file("-XX:+UseWisp2 -Da=" + std::string(length, 'x'));
    Process result = process.stripped();
    bool copied = result.variables["JDK_JAVA_OPTIONS"].rfind("-Db @/proc/self/fd/", 0) == 0;
    EXPECT_EQ(copied, length > 96u << 10);
    EXPECT_EQ(result.options().size(), 2u);
  }
}

TEST_F(Rewrite, AFileWithAnOpenQuoteIsTheJvmsToName) {
  Process process;
  process.variables["JAVA_TOOL_OPTIONS"] = "-XX:VMOptionsFile=" + file("-XX:+UseWisp2 '");
  EXPECT_EQ(process.stripped().variables, process.variables);
}

TEST_F(Rewrite, TheRestStaysWhatItWas) {
  const Words pieces = {"-Da=",
                        "b",
                        "@c",
                        "'x y'",
                        "\"p 'q\"",
                        "\\",
                        "'\"'",
                        "\"",
                        "'",
                        "\xff",
                        "#",
                        " ",
                        "\n",
                        "\t",
                        "\v",
                        "-cp ",
                        kFlag,
                        " -XX:+UseWisp2 ",
                        "'-XX:+UseWisp2' ",
                        " -Dd "};
  const char* rounds = getenv("WISP_FUZZ_ROUNDS");
  std::mt19937 random(20261128);
  int compared = 0;
  int free_descriptor = dup(STDERR_FILENO);
  close(free_descriptor);
  auto text = [&] {
    std::string result;
    for (size_t n = random() % 12; n > 0; n--) result += pieces[random() % pieces.size()];
    return result;
  };
  auto no_option = [](const std::string& word) { return word[0] != '-' || word == "-cp"; };
  for (int round = rounds != nullptr ? atoi(rounds) : 3000; round > 0; round--) {
    std::string vm = file(text());
    std::string args =
        file(text() + (random() % 2 ? "\n-XX:VMOptionsFile=" + vm + " " : "\n") + text());
    Process process;
    const char* const names[] = {"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"};
    for (const char* name : names) {
      if (random() % 2) process.variables[name] = "-Dx  -XX:VMOptionsFile=" + vm + " '-Dy z'";
    }
    if (random() % 2) process.variables["JDK_JAVA_OPTIONS"] += " @" + args + " -Dw";
    if (random() % 2) process.args.push_back("@" + args);
    process.args.push_back("Main");
    Words expected = process.options();
    std::erase(expected, kFlag);
    // The JVM refuses a VMOptionsFile with such words, and so does its launcher in a variable.
    Process alone;
    alone.args.push_back("-XX:VMOptionsFile=" + vm);
    Words words = alone.options();
    if (std::any_of(words.begin(), words.end(), no_option)) continue;
    compared++;
    Process result = process.stripped();
    ASSERT_EQ(result.options(), expected) << round;
    TearDown();
    for (int copy = free_descriptor; close(copy) == 0;) copy++;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
