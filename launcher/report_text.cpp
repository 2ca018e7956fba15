// Implementation of report_text.h.
#include "report_text.h"

#include <fmt/format.h>

#include "text.h"

namespace wisp {

std::string html(std::string_view text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string time_text(double us) { return duration(static_cast<uint64_t>(us * 1000)); }

std::string name_of(const TraceFile& trace, uint32_t task) {
  auto name = trace.names.find(task);
  return name == trace.names.end() || name->second.empty() ? fmt::format("task {}", task)
                                                           : name->second;
}

}  // namespace wisp
