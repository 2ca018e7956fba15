// What the tests of ps, stat, top, trace, jstack and the MXBean share: a JVM to look at, the
// command, and how long to ask it again.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>

#include "launcher/spawn.h"
#include "unit/converted_jvm.h"

namespace wisp_test {

// A converted JVM that runs ObserveWorkload until this object is gone.
struct Jvm : ConvertedJvm {
  explicit Jvm(const std::string& home, const std::vector<std::string>& options = {},
               const std::string& mode = "all")
      : ConvertedJvm(home, options, {"-cp", OBSERVE_CLASSES, "ObserveWorkload", mode}) {}
};

inline Result run_once(std::vector<std::string> args) {
  args.insert(args.begin(), kCommand);
  return spawn({.args = args});
}

// The command gives a JVM three seconds to answer and then says what it may be. On a busy machine
// it may be so: once more, for a minute.
inline Result run(const std::vector<std::string>& args) {
  for (time_t end = time(nullptr) + 60;;) {
    Result result = run_once(args);
    if (!contains(result.err, "starved of processor time") || time(nullptr) >= end) return result;
  }
}

// What `ask` gives as soon as `good` says so of it; after a minute, whatever it gives.
template <typename Ask, typename Good>
Result until(Ask&& ask, Good&& good) {
  for (time_t end = time(nullptr) + 60;; usleep(100'000)) {
    Result result = ask();
    if (good(result) || time(nullptr) >= end) return result;
  }
}
inline bool ended_well(const Result& result) { return result.exit == 0; }

// The workload's threads are started, but have they come to their waits? The last two to start
// play.
inline Result settled_stat(const Jvm& jvm) {
  Result text;
  for (int i = 0; i < 600; ++i) {
    text = run({"stat", jvm.pid(), "--tasks"});
    bool all = matches(text.out, "acceptor +parked .* fd") &&
               matches(text.out, "reader +parked .* fd") && contains(text.out, " ping ") &&
               contains(text.out, " pong ");
    for (const char* name : {"parked-one", "holder", "blocked", "waiter"})
      all &= matches(text.out, std::string(name) + " +parked");
    if (all) break;
    usleep(100'000);
  }
  return text;
}

// Ends with 0 if stdin is JSON of which the Python expression over `d` holds.
inline Result python(const std::string& json, const std::string& expression) {
  return spawn({.args = {"/usr/bin/python3", "-c",
                         "import json,sys\nd=json.load(sys.stdin)\nassert " + expression},
                .input = json});
}

class Observe : public testing::TestWithParam<std::string> {};

}  // namespace wisp_test
