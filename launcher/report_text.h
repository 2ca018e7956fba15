// What the parts of a trace's report share.
#pragma once

#include <string>
#include <string_view>

#include "trace_file.h"

namespace wisp {

std::string html(std::string_view text);
std::string time_text(double us);
std::string name_of(const TraceFile& trace, uint32_t task);

}  // namespace wisp
