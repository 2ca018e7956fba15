// Takes out of a java command line, its @argfiles and its environment the options that only Wisp
// understands: a stock JVM refuses to start with them. Everything else stays byte for byte as the
// user wrote it. A file of the command line that holds one is replaced by a copy in memory (memfd),
// which the JVM reads as /proc/self/fd/N: expanding it in place would run into the kernel's limits
// on arguments, which is what @argfiles are used against. In a variable, which the program's child
// processes inherit without the descriptor, the file's other options stand in its place, quoted;
// only what the environment could not hold is a copy there, too.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jvm/java_args.h"

namespace wisp {

struct Rewritten {
  std::vector<std::string> args;                                // argv, argv[0] included
  std::map<std::string, std::optional<std::string>> variables;  // changed ones; nullopt: unset
  std::vector<std::string> problems;                            // files that could not be replaced
};

using StripPredicate = std::function<bool(const char* option)>;

Rewritten strip_options(const ArgSources& sources, const StripPredicate& strip);

}  // namespace wisp
