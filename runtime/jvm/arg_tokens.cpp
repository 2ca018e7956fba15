// Splitting text into arguments, for java_args.h. Two grammars, both the JDK's; the odd corners of
// the argfile grammar (what a '#' inside a word does, an open quote at the end of a line) were
// established by giving the same random files to real launchers (tests/launcher/argfile_test.cpp).
#include <cstdlib>
#include <cstring>

#include "jvm/java_args.h"

namespace wisp {
namespace {

// In an argfile a vertical tab is an ordinary character; in a variable isspace() decides.
bool file_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool blank(char c) { return file_blank(c) || c == '\v'; }

// Collects tokens; text can only shrink, so storage of twice the source always suffices.
class Collector {
 public:
  Collector(ArgTokens* tokens, size_t size) : tokens_(tokens) {
    *tokens = ArgTokens{};
    tokens->storage = static_cast<char*>(malloc(2 * size + 2));
    out_ = word_ = anchor_ = tokens->storage;
  }
  bool usable() const { return out_ != nullptr; }
  void add(char c) { *out_++ = c; }
  // What was added so far stays in the word whatever happens (see drop_loose).
  void fix() { anchor_ = out_; }
  void drop_loose() { out_ = anchor_; }
  bool empty() const { return out_ == word_; }
  void mark_fixed() { fixed_ = true; }
  void start_at(size_t begin) {
    if (!fixed_) begin_ = begin;
  }

  void finish(size_t end) {
    *out_++ = '\0';
    if (tokens_->count == room_) {
      int room = room_ == 0 ? 16 : room_ * 2;
      void* grown = realloc(tokens_->items, static_cast<size_t>(room) * sizeof(ArgToken));
      if (grown == nullptr) return;
      tokens_->items = static_cast<ArgToken*>(grown);
      room_ = room;
    }
    tokens_->items[tokens_->count++] = {word_, begin_, end};
    word_ = anchor_ = out_;
    fixed_ = false;
  }

 private:
  ArgTokens* tokens_;
  char* out_;
  char* word_;
  char* anchor_;
  size_t begin_ = 0;
  int room_ = 0;
  bool fixed_ = false;
};

char unescaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    default:
      return c;
  }
}

}  // namespace

void tokenize_variable(const char* text, size_t size, ArgTokens* tokens) {
  Collector collector(tokens, size);
  if (!collector.usable()) return;
  size_t at = 0;
  while (true) {
    while (at < size && blank(text[at])) at++;
    if (at == size) return;
    collector.start_at(at);
    char quote = '\0';
    for (; at < size && (quote != '\0' || !blank(text[at])); at++) {
      if (quote != '\0' && text[at] == quote) {
        quote = '\0';
      } else if (quote == '\0' && (text[at] == '\'' || text[at] == '"')) {
        quote = text[at];
      } else {
        collector.add(text[at]);
      }
    }
    if (quote != '\0') {
      tokens->unbalanced = true;
      return;
    }
    collector.finish(at);
  }
}

void tokenize_argfile(const char* text, size_t size, ArgTokens* tokens) {
  enum { kFindNext, kComment, kWord, kEscape, kContinued } state = kFindNext;
  Collector collector(tokens, size);
  if (!collector.usable()) return;
  char quote = '\0';
  for (size_t at = 0; at < size; at++) {
    char c = text[at];
    if (state == kComment) {
      if (c == '\n' || c == '\r') state = kFindNext;
      continue;
    }
    if (state == kEscape) {
      if (c == '\n' || c == '\r') {
        state = kContinued;
      } else {
        collector.add(unescaped(c));
        collector.fix();
        collector.mark_fixed();
        state = kWord;
      }
      continue;
    }
    if (state == kFindNext || state == kContinued) {
      if (file_blank(c)) continue;
      if (state == kFindNext) {
        quote = '\0';
        collector.start_at(at);
      }
      state = kWord;
    }
    if (c == '\n' || c == '\r' || (file_blank(c) && quote == '\0')) {
      collector.finish(at);  // an open quote ends with its line
      quote = '\0';
      state = kFindNext;
    } else if (c == '#' && quote == '\0') {
      // The launcher loses the unquoted text before a '#', and joins the quoted text before it to
      // the next word. Faithful, so that we see the option it will see.
      collector.drop_loose();
      state = kComment;
    } else if (c == '\\' && quote != '\0') {
      collector.fix();
      collector.mark_fixed();
      state = kEscape;
    } else if ((c == '\'' || c == '"') && (quote == '\0' || quote == c)) {
      collector.fix();
      collector.mark_fixed();
      quote = quote == '\0' ? c : '\0';
    } else {
      collector.add(c);
    }
  }
  // At the end of the file the launcher forgets a word that is empty or stops in an escape.
  if (state == kWord && !collector.empty()) collector.finish(size);
}

void tokens_free(ArgTokens* tokens) {
  free(tokens->items);
  free(tokens->storage);
  *tokens = ArgTokens{};
}

}  // namespace wisp
