// Fuzzing of everything that reads options with garbage made of the grammar's own pieces: what is
// said of it is clean text, and nothing else happens. Under ASan it also checks the parsers'
// memory.
#include <time.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "options_fuzz.h"

using namespace wisp;

namespace {

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

}  // namespace
