// Conversion rules: which Java threads become coroutines. The two lists keep the names and the form
// that Wisp2 documents (com.alibaba.wisp.threadAsWisp.black and .white): name:GLOB, package:NAME,
// class:NAME, the class being the Thread's or the Runnable's. A thread is converted unless the
// black list names it; a white list that is not empty narrows this, and black still wins.
// (Dragonwell reads the white list only when it does not convert all threads, which -XX:+UseWisp2
// always does; a list that silently does nothing helps nobody.) Written once at start, then read by
// any thread.
#pragma once

#include "jvm/report.h"

namespace wisp {

enum class RuleKind : unsigned char { kName, kPackage, kClass };

struct Rule {
  RuleKind kind;
  char* text;
};

struct RuleSet {
  Rule* rules = nullptr;
  int count = 0;
};

// Replaces the set by the entries of text. A malformed entry is reported under option's name and
// left out; the others hold.
void rules_parse(RuleSet* set, const char* text, const char* option, Report* report);
void rules_free(RuleSet* set);

// Class names in dotted form (com.foo.Bar$Baz); any of the three may be null.
bool rules_match(const RuleSet& set, const char* thread_name, const char* thread_class,
                 const char* runnable_class);

// The decision over both lists.
bool rules_convert(const RuleSet& black, const RuleSet& white, const char* thread_name,
                   const char* thread_class, const char* runnable_class);

// In place, from JNI's modified UTF-8, in which a character beyond 16 bits is a pair of surrogates
// of three bytes each, to UTF-8, in which the user's rules are.
void utf8_from_modified(char* text);

}  // namespace wisp
