// Reads JSON that somebody else may have written: no recursion deeper than kMaxDepth, no number or
// string that is not whole. Values that nobody asked for are checked and forgotten.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wisp {

struct JsonMember;

struct JsonValue {
  enum class Kind { kOther, kNumber, kString, kObject };
  Kind kind = Kind::kOther;  // arrays, true, false and null are kOther
  double number = 0;
  std::string text;
  std::vector<JsonMember> members;

  const JsonValue* find(std::string_view name) const;
  // The member's value, or the default when there is none of that kind.
  double number_of(std::string_view name, double otherwise) const;
  std::string text_of(std::string_view name) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  // The text is one object. on_member gets the names of its members, and reads the value by value()
  // or array(); false ends the reading. True: all was well-formed, and nothing follows.
  bool object(const std::function<bool(const std::string& name)>& on_member);
  bool value(JsonValue* out) { return value(out, 1); }
  bool array(const std::function<void(const JsonValue&)>& on_element);

 private:
  static constexpr int kMaxDepth = 32;
  void blanks();
  bool take(char c);
  bool word(std::string_view expected);
  bool string(std::string* out);
  bool escape(std::string* out);
  bool number(double* out);
  bool value(JsonValue* out, int depth);

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace wisp
