// What the command prints. fmt::print would end it by an exception when standard output is full,
// and text that stays in stdio's buffer would be lost without a word.
#pragma once

#include <string_view>

namespace wisp {

// False and errno when not all of it could be written.
bool write_all(int file, std::string_view text);

// To standard output; 0, or the exit code. A reader that has gone needs no message.
int print_output(std::string_view text);

}  // namespace wisp
