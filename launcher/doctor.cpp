// Implementation of doctor.h: the findings of machine.h and jdk.h as text or JSON.
#include "doctor.h"

#include <fmt/format.h>

#include "jdk.h"
#include "machine.h"

namespace wisp {
namespace {

struct JudgedJdk {
  Jdk jdk;
  std::optional<Obstacle> obstacle;
};

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "ok";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kBlocks:
      return "no";
  }
  return "?";
}

// Paths are bytes; JSON is Unicode: what is no UTF-8 sequence becomes the replacement character.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (size_t i = 0; i < text.size(); i++) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (c < 0x20) {
      result += fmt::format("\\u{:04x}", c);
    } else if (c < 0x80) {
      result += static_cast<char>(c);
    } else {
      size_t more = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 ? 2 : 1;
      bool good = c >= 0xc2 && c < 0xf5 && i + more < text.size();
      for (size_t k = 1; good && k <= more; k++) {
        good = i + k < text.size() && (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
      }
      if (good) {
        result += text.substr(i, more + 1);
        i += more;
      } else {
        result += "\\ufffd";
      }
    }
  }
  return result + "\"";
}

void print_text(const std::vector<Finding>& findings, const std::vector<JudgedJdk>& jdks,
                bool can) {
  for (const Finding& finding : findings) {
    fmt::print("{:<11} {:<7} {}\n", finding.subject, word(finding.verdict), finding.text);
    if (!finding.cure.empty()) fmt::print("{:<19} -> {}\n", "", finding.cure);
  }
  for (const JudgedJdk& judged : jdks) {
    const Jdk& jdk = judged.jdk;
    fmt::print("{:<11} {:<7} {} ({}{}{})\n", "JDK", judged.obstacle ? "no" : "ok", jdk.home,
               jdk.version, jdk.vendor.empty() ? "" : ", ", jdk.vendor);
    if (judged.obstacle) {
      fmt::print("{:<19} {}\n{:<19} -> {}\n", "", judged.obstacle->reason, "",
                 judged.obstacle->cure);
    }
  }
  if (jdks.empty()) {
    fmt::print(
        "{:<11} {:<7} none found\n{:<19} -> set JAVA_HOME, or name "
        "folders in WISP_JDKS\n",
        "JDK", "no", "");
  }
  fmt::print("{}\n",
             can ? "Wisp can run here." : "Wisp cannot run here; programs run on plain threads.");
}

void print_json(const std::vector<Finding>& findings, const std::vector<JudgedJdk>& jdks,
                bool can) {
  fmt::print("{{\n  \"version\": {},\n  \"canRun\": {},\n  \"findings\": [", quoted(WISP_VERSION),
             can);
  const char* separator = "";
  for (const Finding& finding : findings) {
    fmt::print(
        "{}\n    {{\"subject\": {}, \"verdict\": {}, \"text\": {}, "
        "\"cure\": {}}}",
        separator, quoted(finding.subject), quoted(word(finding.verdict)), quoted(finding.text),
        quoted(finding.cure));
    separator = ",";
  }
  fmt::print("\n  ],\n  \"jdks\": [");
  separator = "";
  for (const JudgedJdk& judged : jdks) {
    fmt::print(
        "{}\n    {{\"home\": {}, \"version\": {}, \"vendor\": {}, "
        "\"convertible\": {}, "
        "\"reason\": {}, \"cure\": {}}}",
        separator, quoted(judged.jdk.home), quoted(judged.jdk.version), quoted(judged.jdk.vendor),
        !judged.obstacle, quoted(judged.obstacle ? judged.obstacle->reason : ""),
        quoted(judged.obstacle ? judged.obstacle->cure : ""));
    separator = ",";
  }
  fmt::print("\n  ]\n}}\n");
}

}  // namespace

int run_doctor(bool json) {
  std::vector<Finding> findings = examine_machine();
  std::vector<JudgedJdk> jdks;
  bool some_jdk = false;
  for (const Jdk& jdk : jdks_on_this_machine()) {
    jdks.push_back({jdk, obstacle(jdk)});
    some_jdk = some_jdk || !jdks.back().obstacle;
  }
  bool can = some_jdk;
  for (const Finding& finding : findings) can = can && finding.verdict != Verdict::kBlocks;
  json ? print_json(findings, jdks, can) : print_text(findings, jdks, can);
  return can ? 0 : 1;
}

}  // namespace wisp
