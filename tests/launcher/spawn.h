// Runs a program to its end and keeps what it printed; the JDKs that the tests of the command run
// on.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wisp_test {

struct Result {
  int exit = -1;  // -1: ended by a signal
  int signal = 0;
  int pid = 0;
  std::string out;
  std::string err;
  std::string all() const { return "exit " + std::to_string(exit) + "\n" + out + err; }
};

struct Spawn {
  std::vector<std::string> args = {};
  std::map<std::string, std::string> env =
      {};  // on top of PATH and HOME; nothing else is inherited
  std::string input = {};
  std::string directory = {};  // empty: here
  std::function<void(int pid, const std::string& out)> when_output =
      {};                                  // once, after the first output
  std::function<bool()> before_exec = {};  // in the child; false: exit 125
};

Result spawn(const Spawn& request);
// For before_exec: root without root's right to open whatever there is, nobody else changes.
bool without_rights();

extern const std::string kWisp;     // the command, in the test tree with the stub library
extern const std::string kLibrary;  // the stub
extern const std::string kClasses;  // Probe

// Homes: real directories of /usr/lib/jvm and $WISP_JDKS.
std::vector<std::string> jdks();
std::string jdk_label(const std::string& home);
bool is_java8(const std::string& home);
// `wisp java` with this JDK and these options, to run Probe with these arguments.
Spawn wisp_java(const std::string& jdk, const std::vector<std::string>& options,
                const std::vector<std::string>& program = {});
// Whether the stub of libwisp.so was preloaded.
bool converted(const Result& result);

// A folder of this test's own, removed at exit of the process.
std::string scratch();
std::string write_file(const std::string& name, const std::string& text);

bool contains(const std::string& text, const std::string& part);
int count(const std::string& text, const std::string& part);
// The value of the first "name=value" line of text; "" when there is none.
std::string value_of(const std::string& text, const std::string& name);

}  // namespace wisp_test
