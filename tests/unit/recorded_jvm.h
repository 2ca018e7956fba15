// What the tests of the stall finder and of Flight Recorder share: the workload, files that a JVM
// writes, recordings and what is true of them.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "launcher/spawn.h"
#include "unit/converted_jvm.h"

namespace wisp_test {

inline const std::vector<std::string> kClassPath = {"-cp", OBSERVE_CLASSES, "FlightWorkload"};

inline std::vector<std::string> workload(const std::vector<std::string>& args) {
  std::vector<std::string> all = kClassPath;
  all.insert(all.end(), args.begin(), args.end());
  return all;
}

inline std::string file(const std::string& name) {
  std::ifstream in(name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Waits until the file has it; what it has then.
inline std::string file_with(const std::string& name, const std::string& pattern) {
  std::string text;
  for (int i = 0; i < 600; ++i) {
    text = file(name);
    if (matches(text, pattern)) break;
    usleep(100'000);
  }
  return text;
}

class Flight : public testing::TestWithParam<std::string> {};

inline std::string tool(const std::string& home, const char* name) { return home + "/bin/" + name; }
inline bool has(const std::string& home, const char* name) {
  return access(tool(home, name).c_str(), X_OK) == 0;
}

inline Result print(const std::string& home, const std::string& recording,
                    const std::string& events) {
  return spawn({.args = {tool(home, "jfr"), "print", "--json", "--stack-depth", "20", "--events",
                         events, recording}});
}

// Ends with 0 if of the events in `json` the Python statements over `e`, a list of (type, values),
// hold; with 3 if what `need` asks for is not there, as when the recording was too short.
inline Result check(const std::string& json, const std::string& statements) {
  return spawn(
      {.args = {"/usr/bin/python3", "-c",
                "import json,sys\nd=json.load(sys.stdin)['recording']['events']\n"
                "e=[(x['type'],x['values']) for x in d]\n"
                "def of(t): return [v for n,v in e if n=='wisp.'+t or n=='jdk.'+t]\n"
                "def java(v): return (v or {}).get('javaName')\n"
                "def need(x,*why):\n"
                "  if not x: print('not there:',*why,file=sys.stderr); sys.exit(3)\n"
                "def secs(v): return float(v['duration'][2:-1]) if v['duration'][:2]=='PT' "
                "and 'M' not in v['duration'] else 99\n"
                "def at(v): s=v['startTime']; return "
                "float(s[11:13])*3600+float(s[14:16])*60+float(s[17:26])\n" +
                    statements},
       .input = json});
}

// How long to record: on a busy machine a thread of the JVM may be kept waiting for seconds, and
// what is looked for does not happen meanwhile. So, where something is not there, once more and
// longer.
constexpr int kSeconds[] = {5, 15, 40};

}  // namespace wisp_test
