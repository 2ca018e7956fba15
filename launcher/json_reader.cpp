// Implementation of json_reader.h.
#include "json_reader.h"

#include <charconv>

namespace wisp {
namespace {

void put_utf8(unsigned code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xc0 | code >> 6);
    *out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *out += static_cast<char>(0xe0 | code >> 12);
    *out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [key, value] : members)
    if (key == name) return &value;
  return nullptr;
}

double JsonValue::number_of(std::string_view name, double otherwise) const {
  const JsonValue* v = find(name);
  return v != nullptr && v->kind == Kind::kNumber ? v->number : otherwise;
}

std::string JsonValue::text_of(std::string_view name) const {
  const JsonValue* v = find(name);
  return v != nullptr && v->kind == Kind::kString ? v->text : std::string();
}

void JsonReader::blanks() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    at_++;
  }
}

bool JsonReader::take(char c) {
  blanks();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  at_++;
  return true;
}

bool JsonReader::word(std::string_view expected) {
  if (text_.substr(at_, expected.size()) != expected) return false;
  at_ += expected.size();
  return true;
}

bool JsonReader::escape(std::string* out) {
  if (at_ >= text_.size()) return false;
  char c = text_[at_++];
  static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  if (size_t i = kFrom.find(c); i != std::string_view::npos) {
    *out += kTo[i];
    return true;
  }
  if (c != 'u' || text_.size() - at_ < 4) return false;
  unsigned code = 0;
  const char* first = text_.data() + at_;
  auto [end, error] = std::from_chars(first, first + 4, code, 16);
  if (error != std::errc() || end != first + 4) return false;
  at_ += 4;
  // Halves of a pair are no character by themselves; what we write has none.
  put_utf8(code >= 0xd800 && code < 0xe000 ? 0xfffd : code, out);
  return true;
}

bool JsonReader::string(std::string* out) {
  if (!take('"')) return false;
  out->clear();
  while (at_ < text_.size()) {
    char c = text_[at_++];
    if (c == '"') return true;
    if (c != '\\') {
      *out += c;
    } else if (!escape(out)) {
      return false;
    }
  }
  return false;
}

bool JsonReader::number(double* out) {
  const char* first = text_.data() + at_;
  auto [end, error] = std::from_chars(first, text_.data() + text_.size(), *out);
  // from_chars also takes "inf" and "nan"; a digit or a minus sign begins a number of JSON.
  if (error != std::errc() || (*first != '-' && (*first < '0' || *first > '9'))) return false;
  at_ += static_cast<size_t>(end - first);
  return true;
}

bool JsonReader::value(JsonValue* out, int depth) {
  if (depth > kMaxDepth) return false;
  blanks();
  if (at_ >= text_.size()) return false;
  *out = {};
  JsonValue inner;
  switch (text_[at_]) {
    case '"':
      out->kind = JsonValue::Kind::kString;
      return string(&out->text);
    case '{':
      at_++;
      out->kind = JsonValue::Kind::kObject;
      if (take('}')) return true;
      do {
        std::string name;
        if (!string(&name) || !take(':') || !value(&inner, depth + 1)) return false;
        out->members.push_back({std::move(name), std::move(inner)});
      } while (take(','));
      return take('}');
    case '[':
      at_++;
      if (take(']')) return true;
      do {
        if (!value(&inner, depth + 1)) return false;
      } while (take(','));
      return take(']');
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      out->kind = JsonValue::Kind::kNumber;
      return number(&out->number);
  }
}

bool JsonReader::array(const std::function<void(const JsonValue&)>& on_element) {
  if (!take('[')) return false;
  if (take(']')) return true;
  JsonValue element;
  do {
    if (!value(&element, 2)) return false;
    on_element(element);
  } while (take(','));
  return take(']');
}

bool JsonReader::object(const std::function<bool(const std::string& name)>& on_member) {
  if (!take('{')) return false;
  if (!take('}')) {
    do {
      std::string name;
      if (!string(&name) || !take(':') || !on_member(name)) return false;
    } while (take(','));
    if (!take('}')) return false;
  }
  blanks();
  return at_ == text_.size();
}

}  // namespace wisp
