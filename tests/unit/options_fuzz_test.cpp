// Fuzzing of everything that reads options, variables, @argfiles, lists and rules: texts whose
// meaning is known, written in random ways. (options_garbage_test.cpp: garbage.)
#include "options_fuzz.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace wisp;

namespace {

// A word as a shell user might write it for the JVM: in pieces, each plain or in quotes.
std::string quoted(Dice& dice, const std::string& word, bool argfile) {
  std::string text;
  for (size_t at = 0; at < word.size();) {
    size_t length = 1 + dice.below(static_cast<unsigned>(word.size() - at));
    std::string piece = word.substr(at, length);
    at += length;
    bool blanks = piece.find_first_of(" #") != std::string::npos;
    unsigned how = blanks ? 1 + dice.below(2) : dice.below(3);
    const char* quote = how == 0 ? "" : how == 1 ? "'" : "\"";
    // Inside quotes a line may end in a backslash and go on after the next one's blanks.
    if (argfile && how != 0 && dice.one_in(6)) piece.insert(1, "\\\n   ");
    // '#' would begin a comment, and blanks after a continuation are dropped.
    if (argfile && piece.find("\\\n    ") != std::string::npos)
      piece = piece.substr(0, 1) + piece.substr(6);
    text += quote + piece + quote;
  }
  return text;
}

std::string blanks(Dice& dice, bool argfile) {
  static const char* const kFile[] = {" ", "\n", "\t ", "\r\n", "\f", " # a 'comment\n", "\n#\n"};
  static const char* const kVariable[] = {" ", "\n", "\t ", "  ", "\v"};
  return argfile ? dice.of(kFile) : dice.of(kVariable);
}

struct Meant {
  int carriers = 0;
  long tick = kDefaultSysmonTickUs;
  size_t stack = 0;
  int errors = 0;
  bool enabled = false;
};

// One option; `list`: in the short form of WISP_OPTIONS.
std::string some_option(Dice& dice, Meant* meant, bool list) {
  auto named = [&](const char* key, const char* property, const std::string& value) {
    return list ? std::string(key) + "=" + value
                : std::string("-Dcom.alibaba.wisp.") + property + "=" + value;
  };
  unsigned number = 1 + dice.below(kMaxCarriers + 20);
  switch (dice.below(list ? 3 : 6)) {
    case 0:
      if (number <= kMaxCarriers)
        meant->carriers = static_cast<int>(number);
      else
        meant->errors++;
      return named("carriers", "carrierEngines", std::to_string(number));
    case 1:
      meant->tick = 100 + static_cast<long>(number);
      return named("sysmonTickUs", "sysmonTickUs", std::to_string(meant->tick));
    case 2: {
      static const char kUnits[] = {'k', 'K'};
      if (number < 256)
        meant->errors++;
      else
        meant->stack = (static_cast<size_t>(number) * 1024 + 4095) & ~size_t{4095};
      return named("stacksize", "stacksize", std::to_string(number) + dice.of(kUnits));
    }
    case 3:
      meant->enabled = true;
      return "-XX:+UseWisp2";
    case 4:
      meant->enabled = false;
      return "-XX:-UseWisp2";
    default: {
      static const char* const kOthers[] = {"-Xmx1g", "-Dx=a b # c", "-ea",
                                            "-Dcom.alibaba.wispy=1"};
      return dice.of(kOthers);
    }
  }
}

std::string some_options(Dice& dice, Meant* meant, bool argfile) {
  std::string text;
  for (unsigned n = dice.below(4); n > 0; --n)
    text += blanks(dice, argfile) + quoted(dice, some_option(dice, meant, false), argfile);
  return text + blanks(dice, argfile);
}

TEST(OptionsFuzz, WhatIsMeantIsRead) {
  rounds([](Dice& dice) {
    Meant meant;
    std::map<std::string, std::string> env;
    std::vector<std::string> args;
    // Weakest first, as options.h says.
    for (unsigned n = dice.below(3); n > 0; --n)
      env["WISP_OPTIONS"] += some_option(dice, &meant, true) + (dice.one_in(2) ? "," : ",,");
    env["JAVA_TOOL_OPTIONS"] = some_options(dice, &meant, false);
    env["JDK_JAVA_OPTIONS"] = some_options(dice, &meant, false);
    std::vector<std::unique_ptr<File>> files;
    for (unsigned n = dice.below(4); n > 0; --n) {
      if (dice.one_in(2)) {
        args.push_back(some_option(dice, &meant, false));
      } else {
        bool argfile = dice.one_in(2);
        files.push_back(std::make_unique<File>(some_options(dice, &meant, argfile)));
        args.push_back((argfile ? "@" : "-XX:VMOptionsFile=") + files.back()->path());
      }
    }
    args.insert(args.end(), {"Main", "-XX:+UseWisp2", "-Dcom.alibaba.wisp.carrierEngines=77"});
    env["_JAVA_OPTIONS"] = some_options(dice, &meant, false);
    std::string shown;
    for (const auto& [name, value] : env) shown += name + "=" + value + "\n";
    for (const auto& arg : args) shown += arg + "\n";
    Gathered got(args, env);
    expect_sane(got);
    EXPECT_EQ(got.options.carriers, meant.carriers) << shown;
    EXPECT_EQ(got.options.sysmon_tick_us, meant.tick) << shown;
    EXPECT_EQ(got.options.stack_size, meant.stack) << shown;
    EXPECT_EQ(got.options.enabled, meant.enabled) << shown;
    EXPECT_EQ(got.report.errors, meant.errors) << shown;
  });
}

// A list of rules that are all good, with blanks where they do not count: each is there, and each
// matches what it names and nothing beside it.
TEST(OptionsFuzz, RulesMatchWhatTheyName) {
  rounds([](Dice& dice) {
    std::string list;
    std::vector<std::string> names, classes;
    for (unsigned n = 1 + dice.below(5); n > 0; --n) {
      std::string word(1 + dice.below(6), static_cast<char>('a' + dice.below(3)));
      if (dice.one_in(2)) {
        names.push_back(word);
        list += dice.one_in(2) ? " name : " : "name=";
      } else {
        classes.push_back(word + ".C");
        list += "class:";
        word += ".C";
      }
      list += word + (dice.one_in(2) ? ";" : " ; ;");
    }
    RuleSet set;
    Report report;
    rules_parse(&set, list.c_str(), "list", &report);
    EXPECT_EQ(report.skipped, 0) << list;
    EXPECT_EQ(set.count, static_cast<int>(names.size() + classes.size())) << list;
    for (const std::string& name : names)
      EXPECT_TRUE(rules_match(set, name.c_str(), "x.Y", nullptr));
    for (const std::string& type : classes)
      EXPECT_TRUE(rules_match(set, "-", type.c_str(), nullptr));
    for (const std::string& type : classes) EXPECT_TRUE(rules_match(set, "-", "x.Y", type.c_str()));
    EXPECT_FALSE(rules_match(set, "d", "x.Y", "x.Z")) << list;
    rules_free(&set);
  });
}

}  // namespace
