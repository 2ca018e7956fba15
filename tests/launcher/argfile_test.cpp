// Our reading of @argfiles against that of the JDK's own launchers, on random files: what java
// hands to the program is what tokenize_argfile says. WISP_FUZZ_ROUNDS=N for more than the default.
#include <gtest/gtest.h>

#include <random>

#include "jvm/java_args.h"
#include "launcher/spawn.h"

using namespace wisp_test;

namespace {

std::string tokens_of(const std::string& text) {
  wisp::ArgTokens tokens;
  wisp::tokenize_argfile(text.data(), text.size(), &tokens);
  std::string result;
  for (int i = 0; i < tokens.count; i++)
    result += std::string("arg=") + tokens.items[i].text + "\n";
  wisp::tokens_free(&tokens);
  return result;
}

std::string shown(const std::string& text) {
  std::string result;
  for (char c : text) {
    char hex[8];
    snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
    result += c < ' ' ? hex : std::string(1, c);
  }
  return result;
}

class Argfile : public testing::TestWithParam<std::string> {};

TEST_P(Argfile, AsTheLauncherReadsIt) {
  if (is_java8(GetParam())) GTEST_SKIP() << "JDK 8 has no @argfiles";
  const std::string alphabet = "abcn-@#\\\\\"\"'' \t\n\r\f\v";
  const char* rounds = getenv("WISP_FUZZ_ROUNDS");
  std::mt19937 random(20240607);
  for (int round = rounds != nullptr ? atoi(rounds) : 15; round > 0; round--) {
    std::string text;
    for (size_t length = random() % 60; text.size() < length;) {
      text += alphabet[random() % alphabet.size()];
    }
    std::string file = write_file("random", "-Xint -cp " + kClasses + " Probe\n" + text);
    Result result = spawn({.args = {GetParam() + "/bin/java", "@" + file}});
    ASSERT_EQ(result.exit, 0) << shown(text) << result.all();
    size_t begin = result.out.find("\narg=");
    size_t end = result.out.rfind("user.dir=");
    std::string args = begin < end ? result.out.substr(begin + 1, end - begin - 1) : "";
    ASSERT_EQ(shown(args), shown(tokens_of(text))) << shown(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Jdk, Argfile, testing::ValuesIn(jdks()),
                         [](const auto& info) { return jdk_label(info.param); });

}  // namespace
