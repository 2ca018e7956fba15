// Conversion rules: the entries' grammar, what is reported, what matches.
#include "jvm/rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace wisp;

namespace {

struct Rules {
  RuleSet set;
  std::vector<std::string> said;
  Report report;
  explicit Rules(const std::string& text) {
    report.context = &said;
    report.line = [](void* context, const char* line) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(line);
    };
    rules_parse(&set, text.c_str(), "OPTION", &report);
  }
  ~Rules() { rules_free(&set); }
  bool match(const char* name, const char* thread_class = "java.lang.Thread",
             const char* runnable = nullptr) const {
    return rules_match(set, name, thread_class, runnable);
  }
};

TEST(Rules, NamesAsJniGivesThem) {
  // U+1F680 as a pair of surrogates, a lone half, and what needs no change.
  char name[] = "\xed\xa0\xbd\xed\xba\x80x \xed\xa0\xbd \xc3\xa4\xe2\x82\xac";
  utf8_from_modified(name);
  EXPECT_STREQ(name, "\xf0\x9f\x9a\x80x \xed\xa0\xbd \xc3\xa4\xe2\x82\xac");
  EXPECT_TRUE(Rules("name:\xf0\x9f\x9a\x80*").match(name));
  EXPECT_TRUE(Rules("name:?x*").match(name));
}

TEST(Rules, NameGlob) {
  Rules rules("name:pool-?-thread-*;name=exact");
  EXPECT_EQ(rules.set.count, 2);
  EXPECT_TRUE(rules.match("pool-1-thread-12"));
  EXPECT_TRUE(rules.match("pool-1-thread-"));
  EXPECT_FALSE(rules.match("pool-11-thread-1"));
  EXPECT_TRUE(rules.match("exact"));
  EXPECT_FALSE(rules.match("exactly"));
  EXPECT_FALSE(rules.match(""));
  EXPECT_FALSE(rules.match(nullptr));
}

TEST(Rules, GlobCorners) {
  EXPECT_TRUE(Rules("name:*").match(""));
  EXPECT_TRUE(Rules("name:**a**").match("xxaxx"));
  EXPECT_TRUE(Rules("name:*ab").match("aabab"));
  EXPECT_FALSE(Rules("name:?").match(""));
  EXPECT_TRUE(Rules("name:?x").match("\xc3\xa4x")) << "? is a character, not a byte";
  EXPECT_TRUE(Rules("name:a:b=c").match("a:b=c")) << "only the first separator separates";
  EXPECT_TRUE(Rules("name:Reference Handler").match("Reference Handler"));
}

TEST(Rules, GlobIsNotExponential) {
  std::string pattern = "name:";
  for (int i = 0; i < 200; i++) pattern += "*a";
  Rules rules(pattern + "b");
  std::string text(20000, 'a');
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(rules.match(text.c_str()));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Rules, ClassOfThreadOrRunnable) {
  Rules rules("class:com.foo.Bar");
  EXPECT_TRUE(rules.match("t", "com.foo.Bar"));
  EXPECT_TRUE(rules.match("t", "java.lang.Thread", "com.foo.Bar"));
  EXPECT_FALSE(rules.match("t", "com.foo.Bar$Inner"));
  EXPECT_FALSE(rules.match("com.foo.Bar"));
  EXPECT_TRUE(Rules("class:com.foo.Bar$Inner").match("t", "com.foo.Bar$Inner"));
  EXPECT_TRUE(Rules("class:Main").match("t", "Main")) << "the unnamed package";
}

TEST(Rules, PackageIsExact) {
  Rules rules("package:com.foo");
  EXPECT_TRUE(rules.match("t", "com.foo.Bar"));
  EXPECT_TRUE(rules.match("t", "java.lang.Thread", "com.foo.Bar$1"));
  EXPECT_FALSE(rules.match("t", "com.foo.sub.Bar"));
  EXPECT_FALSE(rules.match("t", "com.foobar.Bar"));
  EXPECT_FALSE(rules.match("t", "Bar"));
}

TEST(Rules, Lambdas) {
  const char* jdk17 = "com.foo.Bar$$Lambda$14/0x0000000800c03000";
  const char* jdk21 = "com.foo.Bar$$Lambda/0x00007f0123456789";
  const char* jdk8 = "com.foo.Bar$$Lambda$1/1234567";
  for (const char* lambda : {jdk17, jdk21, jdk8}) {
    EXPECT_TRUE(Rules("package:com.foo").match("t", nullptr, lambda)) << lambda;
    EXPECT_TRUE(Rules("class:com.foo.Bar$$Lambda").match("t", nullptr, lambda)) << lambda;
    EXPECT_FALSE(Rules("class:com.foo.Bar").match("t", nullptr, lambda)) << lambda;
  }
  EXPECT_TRUE(Rules("class:com.foo.Bar$$Lambda$14").match("t", nullptr, jdk17));
  EXPECT_FALSE(Rules("class:com.foo.Bar$$Lambda$1").match("t", nullptr, jdk17));
}

TEST(Rules, BlanksAndEmptyEntries) {
  Rules rules(" name : a* ;; package = p ; ");
  EXPECT_EQ(rules.set.count, 2);
  EXPECT_EQ(rules.report.skipped, 0);
  EXPECT_TRUE(rules.match("abc"));
  EXPECT_EQ(Rules("").set.count, 0);
}

TEST(Rules, MalformedEntriesAreNamedAndTheOthersHold) {
  Rules rules("job-emit*;name:;clazz:x.Y;class:x.*;package:a/b;class:.x;=x;name:good");
  EXPECT_EQ(rules.report.skipped, 7);
  ASSERT_EQ(rules.said.size(), 7u);
  EXPECT_NE(rules.said[0].find("OPTION: entry 'job-emit*' has no kind"), std::string::npos);
  EXPECT_NE(rules.said[1].find("'name:' has nothing after ':'"), std::string::npos);
  EXPECT_NE(rules.said[2].find("'clazz' is not one of name, package, class"), std::string::npos);
  EXPECT_NE(rules.said[3].find("'class:x.*'"), std::string::npos);
  EXPECT_EQ(rules.set.count, 1);
  EXPECT_TRUE(rules.match("good"));
}

TEST(Rules, MessagesAreOneSaneLine) {
  Rules rules("evil\n\x1b[31m" + std::string(10000, 'x'));
  ASSERT_EQ(rules.said.size(), 1u);
  EXPECT_EQ(rules.said[0].find('\n'), std::string::npos);
  EXPECT_EQ(rules.said[0].find('\x1b'), std::string::npos);
  EXPECT_LT(rules.said[0].size(), 512u);
}

TEST(Rules, BlackAndWhite) {
  Rules none("");
  Rules black("name:io-*");
  Rules white("package:app");
  auto convert = [](const Rules& b, const Rules& w, const char* name, const char* type) {
    return rules_convert(b.set, w.set, name, type, nullptr);
  };
  EXPECT_TRUE(convert(none, none, "x", "java.lang.Thread"));
  EXPECT_FALSE(convert(black, none, "io-1", "java.lang.Thread"));
  EXPECT_TRUE(convert(black, none, "x", "java.lang.Thread"));
  EXPECT_FALSE(convert(none, white, "x", "java.lang.Thread"));
  EXPECT_TRUE(convert(none, white, "x", "app.Worker"));
  EXPECT_FALSE(convert(black, white, "io-1", "app.Worker")) << "black wins";
}

}  // namespace
