// Implementation of rules.h: parsing at start (allocates), matching at each thread start (does
// not).
#include "jvm/rules.h"

#include <cstdlib>
#include <cstring>

namespace wisp {
namespace {

struct Span {
  const char* begin;
  const char* end;
  size_t size() const { return static_cast<size_t>(end - begin); }
  bool is(const char* word) const {
    return size() == strlen(word) && memcmp(begin, word, size()) == 0;
  }
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

Span trimmed(Span span) {
  while (span.begin < span.end && blank(*span.begin)) span.begin++;
  while (span.begin < span.end && blank(span.end[-1])) span.end--;
  return span;
}

// Wisp's own page writes both "name:" and "name=".
const char* find_separator(Span entry) {
  for (const char* at = entry.begin; at < entry.end; at++) {
    if (*at == ':' || *at == '=') return at;
  }
  return nullptr;
}

// A package or class is matched exactly, so a pattern or a path in it would never match anything.
bool exact_name(Span text) {
  for (const char* at = text.begin; at < text.end; at++) {
    if (*at == '*' || *at == '?' || *at == '/' || blank(*at)) return false;
  }
  return *text.begin != '.' && text.end[-1] != '.';
}

bool parse_entry(Span entry, Rule* rule, const char* option, Report* report) {
  Shown shown(entry.begin, entry.size());
  const char* separator = find_separator(entry);
  if (separator == nullptr) {
    report_skipped(report, "%s: entry '%s' has no kind; write name:%s, package:… or class:…",
                   option, shown.text, shown.text);
    return false;
  }
  Span kind = trimmed({entry.begin, separator});
  Span text = trimmed({separator + 1, entry.end});
  if (kind.is("name")) {
    rule->kind = RuleKind::kName;
  } else if (kind.is("package")) {
    rule->kind = RuleKind::kPackage;
  } else if (kind.is("class")) {
    rule->kind = RuleKind::kClass;
  } else {
    report_skipped(report, "%s: entry '%s': '%s' is not one of name, package, class", option,
                   shown.text, Shown(kind.begin, kind.size()).text);
    return false;
  }
  if (text.size() == 0) {
    report_skipped(report, "%s: entry '%s' has nothing after '%c'", option, shown.text, *separator);
    return false;
  }
  if (rule->kind != RuleKind::kName && !exact_name(text)) {
    report_skipped(report,
                   "%s: entry '%s': %s takes one exact dotted name, without * "
                   "? / or blanks",
                   option, shown.text, rule->kind == RuleKind::kClass ? "class" : "package");
    return false;
  }
  rule->text = strndup(text.begin, text.size());
  return rule->text != nullptr;
}

// Iterative with one saved star: linear in practice, never exponential, so that a hostile pattern
// cannot make thread creation slow.
bool glob_match(const char* pattern, const char* text) {
  const char* star = nullptr;
  const char* resume = nullptr;
  while (*text != '\0') {
    if (*pattern == '*') {
      star = ++pattern;
      resume = text;
    } else if (*pattern == '?' || *pattern == *text) {
      // '?' stands for one character, not one byte: thread names are UTF-8 here.
      bool whole = *pattern == '?' && (static_cast<unsigned char>(*text) & 0xc0) == 0xc0;
      pattern++;
      text++;
      while (whole && (static_cast<unsigned char>(*text) & 0xc0) == 0x80) text++;
    } else if (star != nullptr) {
      pattern = star;
      text = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == '\0';
}

// The classes of lambdas are com.foo.Bar$$Lambda$14/0x0000000800c03000 (or …$$Lambda/0x…, /123 on
// 8): what follows the slash differs from run to run, so no rule could name it.
size_t stable_length(const char* class_name) { return strcspn(class_name, "/+"); }

bool package_match(const char* package, const char* class_name) {
  size_t length = stable_length(class_name);
  const char* dot = static_cast<const char*>(memrchr(class_name, '.', length));
  if (dot == nullptr) return false;
  size_t package_length = static_cast<size_t>(dot - class_name);
  return strlen(package) == package_length && memcmp(package, class_name, package_length) == 0;
}

bool class_match(const char* wanted, const char* class_name) {
  size_t length = stable_length(class_name);
  size_t wanted_length = strlen(wanted);
  if (wanted_length == length && memcmp(wanted, class_name, length) == 0) return true;
  // class:com.foo.Bar$$Lambda names every lambda of Bar: their numbers depend on the order of use.
  static const char kLambda[] = "$$Lambda";
  size_t lambda_length = sizeof kLambda - 1;
  return wanted_length >= lambda_length && wanted_length < length &&
         memcmp(wanted + wanted_length - lambda_length, kLambda, lambda_length) == 0 &&
         memcmp(wanted, class_name, wanted_length) == 0 && class_name[wanted_length] == '$';
}

bool rule_match(const Rule& rule, const char* name, const char* class_name) {
  switch (rule.kind) {
    case RuleKind::kName:
      return name != nullptr && glob_match(rule.text, name);
    case RuleKind::kPackage:
      return class_name != nullptr && package_match(rule.text, class_name);
    case RuleKind::kClass:
      return class_name != nullptr && class_match(rule.text, class_name);
  }
  return false;
}

}  // namespace

void rules_parse(RuleSet* set, const char* text, const char* option, Report* report) {
  rules_free(set);
  size_t entries = 1;
  for (const char* at = text; *at != '\0'; at++) entries += *at == ';';
  set->rules = static_cast<Rule*>(calloc(entries, sizeof(Rule)));
  if (set->rules == nullptr) return;
  const char* at = text;
  while (true) {
    const char* end = strchrnul(at, ';');
    Span entry = trimmed({at, end});
    // "a;;b" and a trailing ';' are habits of generated lists, not errors.
    if (entry.size() != 0 && parse_entry(entry, &set->rules[set->count], option, report)) {
      set->count++;
    }
    if (*end == '\0') break;
    at = end + 1;
  }
}

void rules_free(RuleSet* set) {
  for (int i = 0; i < set->count; i++) free(set->rules[i].text);
  free(set->rules);
  *set = RuleSet{};
}

bool rules_match(const RuleSet& set, const char* thread_name, const char* thread_class,
                 const char* runnable_class) {
  for (int i = 0; i < set.count; i++) {
    if (rule_match(set.rules[i], thread_name, thread_class) ||
        rule_match(set.rules[i], nullptr, runnable_class)) {
      return true;
    }
  }
  return false;
}

bool rules_convert(const RuleSet& black, const RuleSet& white, const char* thread_name,
                   const char* thread_class, const char* runnable_class) {
  if (rules_match(black, thread_name, thread_class, runnable_class)) return false;
  return white.count == 0 || rules_match(white, thread_name, thread_class, runnable_class);
}

void utf8_from_modified(char* text) {
  auto* to = reinterpret_cast<unsigned char*>(text);
  for (const unsigned char* at = to; *at != 0;) {
    if (at[0] == 0xed && (at[1] & 0xf0) == 0xa0 && at[2] != 0 && at[3] == 0xed &&
        (at[4] & 0xf0) == 0xb0 && at[5] != 0) {
      unsigned high = (at[1] & 0xfu) << 6 | (at[2] & 0x3fu),
               low = (at[4] & 0xfu) << 6 | (at[5] & 0x3fu);
      unsigned c = 0x10000 + (high << 10 | low);
      *to++ = static_cast<unsigned char>(0xf0 | c >> 18);
      *to++ = static_cast<unsigned char>(0x80 | (c >> 12 & 0x3f));
      *to++ = static_cast<unsigned char>(0x80 | (c >> 6 & 0x3f));
      *to++ = static_cast<unsigned char>(0x80 | (c & 0x3f));
      at += 6;
    } else {
      *to++ = *at++;
    }
  }
  *to = 0;
}

}  // namespace wisp
