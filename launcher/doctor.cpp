// Implementation of doctor.h: the findings of machine.h and jdk.h as text or JSON.
#include "doctor.h"

#include <fmt/format.h>

#include "jdk.h"
#include "machine.h"
#include "output.h"
#include "run_java.h"
#include "text.h"

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

std::string findings_text(const std::vector<Finding>& findings, const std::vector<JudgedJdk>& jdks,
                          bool can) {
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<11} {:<7} {}\n", finding.subject, word(finding.verdict), finding.text);
    if (!finding.cure.empty()) text += fmt::format("{:<19} -> {}\n", "", finding.cure);
  }
  for (const JudgedJdk& judged : jdks) {
    const Jdk& jdk = judged.jdk;
    text += fmt::format("{:<11} {:<7} {} ({}{}{})\n", "JDK", judged.obstacle ? "no" : "ok",
                        jdk.home, jdk.version, jdk.vendor.empty() ? "" : ", ", jdk.vendor);
    if (judged.obstacle) {
      text += fmt::format("{:<19} {}\n{:<19} -> {}\n", "", judged.obstacle->reason, "",
                          judged.obstacle->cure);
    }
  }
  if (jdks.empty()) {
    text += fmt::format(
        "{:<11} {:<7} none found\n{:<19} -> set JAVA_HOME, or name "
        "folders in WISP_JDKS\n",
        "JDK", "no", "");
  }
  text += can ? "Wisp can run here.\n" : "Wisp cannot run here; programs run on plain threads.\n";
  return text;
}

std::string findings_json(const std::vector<Finding>& findings, const std::vector<JudgedJdk>& jdks,
                          bool can) {
  std::string text;
  text += fmt::format("{{\n  \"version\": {},\n  \"canRun\": {},\n  \"findings\": [",
                      in_json(WISP_VERSION), can);
  const char* separator = "";
  for (const Finding& finding : findings) {
    text += fmt::format(
        "{}\n    {{\"subject\": {}, \"verdict\": {}, \"text\": {}, "
        "\"cure\": {}}}",
        separator, in_json(finding.subject), in_json(word(finding.verdict)), in_json(finding.text),
        in_json(finding.cure));
    separator = ",";
  }
  text += "\n  ],\n  \"jdks\": [";
  separator = "";
  for (const JudgedJdk& judged : jdks) {
    text += fmt::format(
        "{}\n    {{\"home\": {}, \"version\": {}, \"vendor\": {}, "
        "\"convertible\": {}, "
        "\"reason\": {}, \"cure\": {}}}",
        separator, in_json(judged.jdk.home), in_json(judged.jdk.version),
        in_json(judged.jdk.vendor), !judged.obstacle,
        in_json(judged.obstacle ? judged.obstacle->reason : ""),
        in_json(judged.obstacle ? judged.obstacle->cure : ""));
    separator = ",";
  }
  return text + "\n  ]\n}\n";
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
  int code =
      print_output(json ? findings_json(findings, jdks, can) : findings_text(findings, jdks, can));
  return can ? code : kExitFailure;
}

}  // namespace wisp
