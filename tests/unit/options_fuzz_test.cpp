// Fuzzing of everything that reads options: variables, @argfiles, lists, rules. Two kinds of text:
// such whose meaning is known, written in random ways, and garbage made of the grammar's own
// pieces. Under ASan it also checks the parsers' memory.
//   WISP_FUZZ_SEED=N the first seed (1); WISP_FUZZ_SECONDS=N for so long instead of 3,000 rounds.
// A failure names its seed; WISP_FUZZ_SEED with it begins there.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gathered_options.h"

using namespace wisp;

namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  unsigned below(unsigned n) {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<unsigned>((z ^ (z >> 31)) % n);
  }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <typename C>
  auto& of(C& all) {
    return all[below(static_cast<unsigned>(std::size(all)))];
  }

 private:
  uint64_t state_;
};

void rounds(const std::function<void(Dice&)>& body) {
  const char* first = getenv("WISP_FUZZ_SEED");
  const char* seconds = getenv("WISP_FUZZ_SECONDS");
  uint64_t seed = first != nullptr ? strtoull(first, nullptr, 10) : 1;
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(seconds != nullptr ? atol(seconds) : 0);
  for (uint64_t round = 0;
       seconds != nullptr ? std::chrono::steady_clock::now() < end : round < 3000; ++round) {
    Dice dice(seed + round);
    body(dice);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed + round;
      return;
    }
  }
}

// A file without a name on any disk.
struct File {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  explicit File(const std::string& text) {
    EXPECT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(fd); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }
};

void expect_sane(const Gathered& g) {
  const Options& o = g.options;
  EXPECT_TRUE(o.carriers >= 0 && o.carriers <= kMaxCarriers) << o.carriers;
  EXPECT_TRUE(o.sysmon_tick_us >= kMinSysmonTickUs && o.sysmon_tick_us <= kMaxSysmonTickUs);
  EXPECT_TRUE(o.stack_size == 0 ||
              (o.stack_size >= kMinStackSize && o.stack_size <= kMaxStackSize));
  EXPECT_EQ(o.stack_size % 4096, 0u);
  EXPECT_TRUE(o.trace_size == 0 ||
              (o.trace_size >= kMinTraceSize && o.trace_size <= kMaxTraceSize));
  EXPECT_GE(o.active_processor_count, 0);
  EXPECT_GE(default_carriers(o), 1);
  EXPECT_LE(carriers_of(o), kMaxCarriers);
  for (const std::string& line : g.said) {
    EXPECT_LT(line.size(), 512u);
    for (unsigned char c : line) EXPECT_TRUE(c >= 0x20 && c != 0x7f) << line;
  }
  for (const RuleSet* set : {&o.black, &o.white})
    for (int i = 0; i < set->count; ++i) EXPECT_NE(set->rules[i].text[0], '\0');
}

// ---- texts with a known meaning -----------------------------------------------------------------

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

// ---- garbage ------------------------------------------------------------------------------------

std::string garbage(Dice& dice) {
  static const char* const kPieces[] = {"-Dcom.alibaba.wisp.",
                                        "carrierEngines=",
                                        "threadAsWisp.black=",
                                        "threadAsWisp.white=",
                                        "-XX:+UseWisp2",
                                        "-XX:ActiveProcessorCount=",
                                        "-agentpath:/x/libwisp.so=",
                                        "-agentlib:wisp=",
                                        "carriers=",
                                        "stacksize=",
                                        "trace=",
                                        "black=",
                                        "sysmonTickUs=",
                                        "name:",
                                        "class:",
                                        "package:",
                                        "name=",
                                        ";",
                                        ",",
                                        ":",
                                        "=",
                                        " ",
                                        "\n",
                                        "'",
                                        "\"",
                                        "\\",
                                        "#",
                                        "*",
                                        "?",
                                        "@",
                                        "@@",
                                        "-J",
                                        "-cp ",
                                        "--module=",
                                        "--disable-@files",
                                        "99999999999999999999",
                                        "18446744073709551616",
                                        "1k",
                                        "-1",
                                        "0",
                                        "4096m",
                                        "%s%n",
                                        "\x1b[2J",
                                        "\xff\xfe",
                                        "\xc3",
                                        "..",
                                        "/",
                                        "1e9",
                                        "a",
                                        "$$Lambda/"};
  std::string text;
  for (unsigned n = dice.below(14); n > 0; --n) {
    if (dice.one_in(8))
      text += static_cast<char>(1 + dice.below(255));
    else if (dice.one_in(40))
      text += std::string(dice.below(3000), "a*?;'\"\\\n,"[dice.below(9)]);
    else
      text += dice.of(kPieces);
  }
  return text;
}

TEST(OptionsFuzz, GarbageIsNamedAndHarmless) {
  rounds([](Dice& dice) {
    std::map<std::string, std::string> env;
    for (const char* name : {"WISP", "WISP_OPTIONS", "WISP_REEXEC", "JAVA_TOOL_OPTIONS",
                             "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
      if (dice.one_in(2)) env[name] = garbage(dice);
    File file(garbage(dice));
    std::vector<std::string> args;
    for (unsigned n = dice.below(4); n > 0; --n)
      args.push_back(dice.one_in(3) ? "@" + file.path() : garbage(dice));
    Gathered once(args, env), twice(args, env);
    expect_sane(once);
    EXPECT_EQ(once.said, twice.said);
    EXPECT_EQ(once.options.enabled, twice.options.enabled);
    // Whatever rules came of it answer for whatever names, soon.
    std::string name = garbage(dice), type = garbage(dice);
    clock_t begin = clock();  // of processor time: others may want the processor, too
    bool black = rules_match(once.options.black, name.c_str(), type.c_str(), nullptr);
    bool convert =
        rules_convert(once.options.black, once.options.white, name.c_str(), type.c_str(), nullptr);
    EXPECT_FALSE(black && convert);
    EXPECT_LT(clock() - begin, 5 * CLOCKS_PER_SEC);
  });
}

TEST(OptionsFuzz, TokensLieInTheirSource) {
  rounds([](Dice& dice) {
    std::string text = garbage(dice) + garbage(dice);
    if (dice.one_in(3)) text.insert(dice.below(static_cast<unsigned>(text.size() + 1)), 1, '\0');
    for (auto tokenize : {tokenize_variable, tokenize_argfile}) {
      ArgTokens tokens;
      tokenize(text.data(), text.size(), &tokens);
      size_t last = 0, total = 0;
      for (int i = 0; i < tokens.count; ++i) {
        const ArgToken& t = tokens.items[i];
        EXPECT_LE(last, t.begin);
        EXPECT_LE(t.begin, t.end);
        EXPECT_LE(t.end, text.size());
        last = t.end;
        total += strlen(t.text);
      }
      EXPECT_LE(total, text.size());
      tokens_free(&tokens);
    }
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
