// Implementation of text.h.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>

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

// The character of so many bytes at `i`.
uint32_t code_point(std::string_view text, size_t i, size_t length) {
  auto at = [&](size_t k) { return static_cast<unsigned char>(text[i + k]); };
  if (length <= 1) return at(0);
  uint32_t code = at(0) & (0xffu >> (length + 1));
  for (size_t k = 1; k < length; k++) code = code << 6 | (at(k) & 0x3fu);
  return code;
}

// C1 too: a terminal that takes them obeys U+009B as it does ESC [.
bool is_control(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Those that terminals draw two columns wide, as fmt counts them when it pads.
bool is_wide(uint32_t code) {
  constexpr uint32_t kWide[][2] = {{0x1100, 0x115f},   {0x2329, 0x232a},   {0x2e80, 0x303e},
                                   {0x3040, 0xa4cf},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
                                   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff},
                                   {0x20000, 0x2fffd}, {0x30000, 0x3fffd}};
  for (const auto& [first, last] : kWide)
    if (code >= first && code <= last) return true;
  return false;
}

}  // namespace

std::string in_json(std::string_view text) {
  std::string result = "\"";
  for (size_t i = 0; i < text.size(); i++) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (size_t length = c < 0x80 ? 1 : utf8_length(text, i); length == 0) {
      result += "\\ufffd";
    } else {
      uint32_t code = code_point(text, i, length);
      if (is_control(code)) {
        result += fmt::format("\\u{:04x}", code);
      } else {
        result += text.substr(i, length);
      }
      i += length - 1;
    }
  }
  return result + "\"";
}

std::string printable(std::string_view text, char kept) {
  std::string result;
  for (size_t i = 0; i < text.size(); i++) {
    size_t length = static_cast<unsigned char>(text[i]) < 0x80 ? 1 : utf8_length(text, i);
    if (length == 0 || (is_control(code_point(text, i, length)) && text[i] != kept)) {
      result += '?';
    } else {
      result += text.substr(i, length);
    }
    i += length > 0 ? length - 1 : 0;
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
  size_t used = 0, cut = 0;  // columns up to here; where '~' has room behind it
  for (size_t i = 0, length; i < result.size(); i += length) {
    length = std::max<size_t>(1, utf8_length(result, i));
    used += is_wide(code_point(result, i, length)) ? 2 : 1;
    if (used > width) return width > 0 ? result.substr(0, cut) + "~" : "";
    if (used < width) cut = i + length;
  }
  return result;
}

}  // namespace wisp
