// What the command prints. fmt::print would end it by an exception when the file is full,
// and text that stays in stdio's buffer would be lost without a word.
#pragma once

#include <string_view>

namespace wisp {

// False and errno when not all of it could be written.
bool write_all(int file, std::string_view text);

// To standard output; 0, or the exit code. A reader that has gone needs no message.
int print_output(std::string_view text);
// Whole lines, to standard error; nothing is left to do when that cannot be written.
void print_error(std::string_view lines);

}  // namespace wisp
