// `wisp java` and the bin/java of a home made by `wisp jdk`: become the JVM. exec, never fork, so
// that pid, signals, exit code and streams are the JVM's own.
#pragma once

#include <string>

namespace wisp {

constexpr int kExitUsage = 2;
constexpr int kExitFailure = 1;

// argv[0] is "java"; argv[1] may be --jdk. Returns only when it could not exec.
int run_java_command(int argc, char** argv);

// When this program was started as bin/java of a home made by `wisp jdk`: that home, else empty.
std::string dispatching_home();
int run_java_of_home(const std::string& home, int argc, char** argv);

}  // namespace wisp
