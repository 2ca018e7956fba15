// Implementation of text.h.
#include "text.h"

#include <fmt/format.h>

namespace wisp {

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
    } else {
      size_t more = c >= 0xf0 && c < 0xf5 ? 3 : c >= 0xe0 ? 2 : 1;
      bool good = c >= 0xc2 && c < 0xf5 && i + more < text.size();
      for (size_t k = 1; good && k <= more; k++) {
        good = i + k < text.size() && (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
      }
      if (good) {
        result += text.substr(i, more + 1);
        i += more;
      } else {
        result += "\\ufffd";
      }
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
