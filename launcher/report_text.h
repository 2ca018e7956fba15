// What the parts of a trace's report share.
#pragma once

#include <string>
#include <string_view>

#include "trace_file.h"

namespace wisp {

std::string html(std::string_view text);  // with its special characters escaped
std::string time_text(double us);         // with the unit that fits
// "task N" where the trace has no name.
std::string name_of(const TraceFile& trace, uint32_t task);

}  // namespace wisp
