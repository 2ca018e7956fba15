// Implementation of rewrite.h. It walks the sources as visit_jvm_options (java_args.h) does.
#include "rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "memory_file.h"

namespace wisp {
namespace {

// Linux takes 128 KiB, with the name.
constexpr size_t kLongestVariable = 96u << 10;

struct Edit {
  size_t begin;
  size_t end;
  std::string text;
};

std::string edited(std::string_view source, const std::vector<Edit>& edits) {
  std::string result;
  size_t at = 0;
  for (const Edit& edit : edits) {
    result += source.substr(at, edit.begin - at);
    result += edit.text;
    at = edit.end;
  }
  result += source.substr(at);
  return result;
}

// As one word of a variable: blanks separate, quotes quote also within a word, nothing escapes.
std::string as_word(std::string_view text) {
  bool plain = !text.empty();
  for (char c : text) plain = plain && c > ' ' && c < 0x7f && c != '\'' && c != '"';
  if (plain) return std::string(text);
  std::string word;
  do {
    size_t piece = std::min(text.find('"'), text.size());
    word += fmt::format("\"{}\"", text.substr(0, piece));
    text.remove_prefix(piece);
    size_t quotes = std::min(text.find_first_not_of('"'), text.size());
    if (quotes > 0) word += fmt::format("'{}'", text.substr(0, quotes));
    text.remove_prefix(quotes);
  } while (!text.empty());
  return word;
}

class Stripper {
 public:
  Stripper(const ArgSources& sources, const StripPredicate& strip)
      : sources_(sources), strip_(strip), scanner_(sources.argfiles) {}

  Rewritten run() {
    variable("JAVA_TOOL_OPTIONS", false);
    if (sources_.argfiles) variable("JDK_JAVA_OPTIONS", true);
    result_.args.emplace_back(sources_.argv[0]);
    for (int i = 1; i < sources_.argc; i++) {
      const char* arg = sources_.argv[i];
      auto replacement = argument(arg, true);
      if (!replacement) {
        result_.args.emplace_back(arg);
      } else if (!replacement->empty()) {
        result_.args.push_back(*replacement);
      }
    }
    variable("_JAVA_OPTIONS", false);
    return std::move(result_);
  }

 private:
  // What an argument becomes: nothing to do, empty (drop it) or another text.
  std::optional<std::string> argument(const char* arg, bool launcher) {
    if (!launcher) return option(arg);
    if (const char* path = scanner_.argfile(arg)) return file("@", path, true);
    return scanner_.take(arg) == ArgRole::kOption ? option(arg) : std::nullopt;
  }

  std::optional<std::string> option(const char* text) {
    if (strip_(text)) return "";
    const char* path = vm_options_file(text);
    if (path == nullptr) return std::nullopt;
    return file({text, static_cast<size_t>(path - text)}, path, false);
  }

  // What stands in the place of a file (prefix and path): nothing new when it holds no such option.
  std::optional<std::string> file(std::string_view prefix, const char* path, bool argfile) {
    size_t size = 0;
    char* bytes = read_whole_file(path, &size);
    if (bytes == nullptr) return std::nullopt;
    ArgTokens tokens;
    argfile ? tokenize_argfile(bytes, size, &tokens) : tokenize_variable(bytes, size, &tokens);
    std::vector<Edit> edits;
    std::string words;
    // An open quote: the JVM names the file.
    for (int i = 0; !tokens.unbalanced && i < tokens.count; i++) {
      const ArgToken& token = tokens.items[i];
      // No file refers to an argfile, while a word of the variable might.
      bool refers = escape_ && token.text[0] == '@' && token.text[1] != '\0' &&
                    scanner_.argfile("@file") != nullptr;
      std::optional<std::string> replacement;
      if (!argfile) {
        if (strip_(token.text)) replacement = "";
      } else if (scanner_.take(token.text) == ArgRole::kOption) {
        replacement = option(token.text);
      }
      if (replacement) edits.push_back({token.begin, token.end, *replacement});
      std::string word = replacement ? *replacement : (refers ? "@" : "") + as_word(token.text);
      if (!words.empty() && !word.empty()) words += ' ';
      words += word;
    }
    std::optional<std::string> result;
    if (!edits.empty()) {
      result = inline_ ? words : copy(prefix, path, edited({bytes, size}, edits));
    }
    tokens_free(&tokens);
    free(bytes);
    return result;
  }

  std::optional<std::string> copy(std::string_view prefix, const char* path,
                                  std::string_view text) {
    std::optional<std::string> name = in_memory(path, text);
    if (name) return fmt::format("{}{}", prefix, *name);
    result_.problems.push_back(
        fmt::format("{}: cannot be copied without -XX:±UseWisp2: {}", path, strerror(errno)));
    return std::nullopt;
  }

  void variable(const char* name, bool launcher) {
    const char* value = sources_.variable(sources_.context, name);
    if (value == nullptr) return;
    ArgTokens tokens;
    tokenize_variable(value, strlen(value), &tokens);
    if (!tokens.unbalanced) {
      ArgScanner before = scanner_;
      inline_ = true;
      escape_ = launcher;
      std::optional<std::string> text = words_of(value, tokens, launcher);
      inline_ = escape_ = false;
      if (text && text->size() > kLongestVariable) {
        scanner_ = before;
        text = words_of(value, tokens, launcher);
      }
      if (text) {
        // An empty variable would still make the JVM print "Picked up …".
        bool empty = text->find_first_not_of(" \t\n\r\f\v") == std::string::npos;
        result_.variables[name] = empty ? std::nullopt : text;
      }
    }
    tokens_free(&tokens);
  }

  // A variable's new text, if it changes.
  std::optional<std::string> words_of(const char* value, const ArgTokens& tokens, bool launcher) {
    std::vector<Edit> edits;
    for (int i = 0; i < tokens.count; i++) {
      const ArgToken& token = tokens.items[i];
      if (auto replacement = argument(token.text, launcher)) {
        edits.push_back({token.begin, token.end, *replacement});
      }
    }
    if (edits.empty()) return std::nullopt;
    return edited(value, edits);
  }

  const ArgSources& sources_;
  const StripPredicate& strip_;
  ArgScanner scanner_;
  bool inline_ = false;  // a file's words take its place: it is named in a variable
  bool escape_ = false;  // the launcher's variable, where @file is a reference
  Rewritten result_;
};

}  // namespace

Rewritten strip_options(const ArgSources& sources, const StripPredicate& strip) {
  return Stripper(sources, strip).run();
}

}  // namespace wisp
