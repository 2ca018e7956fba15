// Making foreign bytes fit for a terminal or for JSON; numbers as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wisp {

// A JSON string with its quotes. Control characters are escaped; what is no UTF-8 sequence becomes
// the replacement character.
std::string in_json(std::string_view text);
// Control characters but `kept`, and what is no UTF-8, become '?', so that a thread's name cannot
// move the cursor.
std::string printable(std::string_view text, char kept = '?');
// "1.2 s", "340 ms", "12 us".
std::string duration(uint64_t ns);
// At most `width` columns; the last one is '~' when something was cut off.
std::string fit(std::string_view text, size_t width);

}  // namespace wisp
