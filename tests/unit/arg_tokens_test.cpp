// How text becomes arguments. The expectations for argfiles are what the launchers of JDK 17 and 25
// print for the same files (they agreed on 1,000 random ones; tests/launcher/argfile_test.cpp).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jvm/java_args.h"

using namespace wisp;

namespace {

using Words = std::vector<std::string>;

Words words(const ArgTokens& tokens) {
  Words result;
  for (int i = 0; i < tokens.count; i++) result.emplace_back(tokens.items[i].text);
  return result;
}

Words of_file(const std::string& text) {
  ArgTokens tokens;
  tokenize_argfile(text.data(), text.size(), &tokens);
  Words result = words(tokens);
  tokens_free(&tokens);
  return result;
}

Words of_variable(const std::string& text, bool* unbalanced = nullptr) {
  ArgTokens tokens;
  tokenize_variable(text.data(), text.size(), &tokens);
  Words result = words(tokens);
  if (unbalanced != nullptr) *unbalanced = tokens.unbalanced;
  tokens_free(&tokens);
  return result;
}

TEST(Variable, BlanksAndQuotes) {
  EXPECT_EQ(of_variable("  -a\t-b\n-c "), (Words{"-a", "-b", "-c"}));
  EXPECT_EQ(of_variable("-Dx='a  b' \"c'd\" e\"f g\"h"), (Words{"-Dx=a  b", "c'd", "ef gh"}));
  EXPECT_EQ(of_variable("a\\ b '' \"\""), (Words{"a\\", "b", "", ""}));
  EXPECT_EQ(of_variable(""), Words{});
  bool unbalanced = false;
  EXPECT_EQ(of_variable("a 'b c", &unbalanced), Words{"a"});
  EXPECT_TRUE(unbalanced);
}

TEST(Argfile, Comments) {
  EXPECT_EQ(of_file("# one\n-a # two\n-b\r\n#three"), (Words{"-a", "-b"}));
  EXPECT_EQ(of_file("\"x # y\" z"), (Words{"x # y", "z"}));
  EXPECT_EQ(of_file("a#b\nc"), Words{"c"});
  EXPECT_EQ(of_file("\"a\"#b\nc"), Words{"ac"});
}

TEST(Argfile, QuotesAndEscapes) {
  EXPECT_EQ(of_file("'g\"h' \"x\\ty\\\\z\\q\" c\\d"), (Words{"g\"h", "x\ty\\zq", "c\\d"}));
  EXPECT_EQ(of_file("x\"y z\"w \"\" '' q"), (Words{"xy zw", "", "", "q"}));
  EXPECT_EQ(of_file("\"open\nnext"), (Words{"open", "next"})) << "an open quote ends with its line";
}

TEST(Argfile, Continuation) {
  EXPECT_EQ(of_file("\"cont\\\n   more\" x"), (Words{"contmore", "x"}));
  EXPECT_EQ(of_file("tail\\\n  x"), (Words{"tail\\", "x"})) << "outside quotes a backslash is one";
  EXPECT_EQ(of_file("\"a\\\n  "), Words{});
  EXPECT_EQ(of_file("\"\""), Words{}) << "an empty word at the very end is forgotten";
}

TEST(Tokens, RangesCoverTheSource) {
  std::string text = "  -a '-b c' \"-d\"e ";
  ArgTokens tokens;
  tokenize_argfile(text.data(), text.size(), &tokens);
  ASSERT_EQ(tokens.count, 3);
  EXPECT_EQ(text.substr(tokens.items[1].begin, tokens.items[1].end - tokens.items[1].begin),
            "'-b c'");
  EXPECT_EQ(text.substr(tokens.items[2].begin, tokens.items[2].end - tokens.items[2].begin),
            "\"-d\"e");
  tokens_free(&tokens);
}

TEST(Tokens, AnyBytes) {
  // Under ASan this is the check that no text makes the tokenizers write past their storage.
  unsigned seed = 1;
  const std::string alphabet = "ab \t\n\r\f\v\"'\\#@n\xff";
  for (int round = 0; round < 20000; round++) {
    std::string text;
    seed = seed * 1103515245 + 12345;
    for (unsigned n = (seed >> 16) % 40; n > 0; n--) {
      seed = seed * 1103515245 + 12345;
      text += alphabet[(seed >> 16) % alphabet.size()];
    }
    for (const Words& result : {of_file(text), of_variable(text)}) {
      size_t total = 0;
      for (const std::string& word : result) total += word.size();
      ASSERT_LE(total, text.size());
    }
  }
}

struct Taken {
  const char* arg;
  ArgRole role;
};

void expect_roles(std::initializer_list<Taken> all, bool argfiles = true) {
  ArgScanner scanner(argfiles);
  for (const Taken& taken : all) {
    EXPECT_EQ(static_cast<int>(scanner.take(taken.arg)), static_cast<int>(taken.role)) << taken.arg;
  }
}

TEST(Scanner, WhereTheProgramBegins) {
  using enum ArgRole;
  expect_roles({{"-Xmx1g", kOption},
                {"-cp", kOption},
                {"-XX:+UseWisp2", kValue},
                {"Main", kMain},
                {"-x", kProgram}});
  expect_roles({{"-jar", kOption}, {"app.jar", kMain}, {"-XX:+UseWisp2", kProgram}});
  expect_roles({{"-jar", kOption}, {"-Dlate=1", kOption}, {"app.jar", kMain}});
  expect_roles({{"-m", kOption}, {"mod/Main", kMain}, {"x", kProgram}});
  expect_roles({{"--module=mod", kMain}, {"x", kProgram}});
  expect_roles({{"--add-opens", kOption}, {"a/b=c", kValue}, {"Main.java", kMain}});
  expect_roles({{"--add-opens=a/b=c", kOption}, {"Main", kMain}});
}

TEST(Scanner, Argfiles) {
  ArgScanner scanner(true);
  EXPECT_STREQ(scanner.argfile("@file"), "file");
  EXPECT_EQ(scanner.argfile("@@file"), nullptr);
  EXPECT_EQ(scanner.argfile("@"), nullptr);
  scanner.take("--disable-@files");
  EXPECT_EQ(scanner.argfile("@file"), nullptr);
  ArgScanner program(true);
  program.take("Main");
  EXPECT_EQ(program.argfile("@file"), nullptr);
  EXPECT_EQ(ArgScanner(false).argfile("@file"), nullptr) << "JDK 8";
}

}  // namespace
