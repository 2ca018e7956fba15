// Options gathered as from a real process, for the tests that read them: a command line behind
// "java", an environment, and what was said about them.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jvm/options.h"

namespace wisp {

struct Gathered {
  Options options;
  Report report;
  std::vector<std::string> said;

  explicit Gathered(std::vector<std::string> args, std::map<std::string, std::string> env = {},
                    bool java8 = false, bool launcher = true) {
    args.insert(args.begin(), "java");
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    ArgSources sources;
    sources.argc = static_cast<int>(argv.size());
    sources.argv = argv.data();
    sources.argfiles = !java8;
    sources.java_launcher = launcher;
    sources.context = &env;
    sources.variable = [](void* context, const char* name) -> const char* {
      auto& all = *static_cast<std::map<std::string, std::string>*>(context);
      auto found = all.find(name);
      return found == all.end() ? nullptr : found->second.c_str();
    };
    report.context = &said;
    report.line = [](void* context, const char* line) {
      static_cast<std::vector<std::string>*>(context)->emplace_back(line);
    };
    options_gather(&options, sources, &report);
    EXPECT_EQ(said.size(), static_cast<size_t>(report.errors + report.skipped));
  }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() { options_free(&options); }
};

}  // namespace wisp
