// Implementation of text.h.
#include "text.h"

#include <fmt/format.h>

namespace wisp {

namespace {

// How many bytes the character at `i` has in UTF-8; 0: it is none. Half of a surrogate pair, as
// JNI's modified UTF-8 has them, and overlong forms are none (RFC 3629).
size_t utf8_length(std::string_view text, size_t i) {
  auto at = [&](size_t k) { return static_cast<unsigned char>(k < text.size() ? text[k] : 0); };
  unsigned char c = at(i), second = at(i + 1);
  size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
  if (c < 0xc2 || c > 0xf4) return 0;
  for (size_t k = 1; k < length; k++)
    if ((at(i + k) & 0xc0) != 0x80) return 0;
  if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0)) return 0;
  if ((c == 0xf0 && second < 0x90) || (c == 0xf4 && second >= 0x90)) return 0;
  return length;
}

}  // namespace

std::string in_json(std::string_view text) {
  std::string result = "\"";
  for (size_t i = 0; i < text.size(); i++) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (c < 0x20) {
      result += fmt::format("\\u{:04x}", c);
    } else if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (size_t length = utf8_length(text, i)) {
      result += text.substr(i, length);
      i += length - 1;
    } else {
      result += "\\ufffd";
    }
  }
  return result + "\"";
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) c = '?';
  }
  return result;
}

std::string duration(uint64_t ns) {
  auto value = static_cast<double>(ns);
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.0f} us", value / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.0f} ms", value / 1e6);
  if (ns < 1'000'000'000'000) return fmt::format("{:.1f} s", value / 1e9);
  return fmt::format("{:.0f} s", value / 1e9);
}

std::string fit(std::string_view text, size_t width) {
  std::string result = printable(text);
  if (result.size() <= width) return result;
  result.resize(width);
  if (width > 0) result.back() = '~';
  return result;
}

}  // namespace wisp
