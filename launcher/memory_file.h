// Files in memory (memfd) that the JVM reads in the place of the user's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wisp {

// The path under which this process, also after exec, reads the text; else errno. name shows in
// /proc/PID/fd.
std::optional<std::string> in_memory(const std::string& name, std::string_view text);

}  // namespace wisp
