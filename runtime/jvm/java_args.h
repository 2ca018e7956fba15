// How a JVM gets its options, read the way the JDK's own launcher (libjli) and HotSpot read them:
// splitting of environment variables and @argfiles, and the line between the JVM's options and the
// program's arguments. It knows nothing of what any option means. Shared by libwisp.so and by the
// command, so: plain C library only; allocates, hence only at start.
#pragma once

#include <cstddef>

namespace wisp {

// One argument, and the bytes of the source it was made from (quotes included), so that a rewriter
// can take it out and leave all else as the user wrote it.
struct ArgToken {
  const char* text;
  size_t begin;
  size_t end;
};

struct ArgTokens {
  ArgToken* items = nullptr;
  int count = 0;
  bool unbalanced = false;  // an open quote at the end: the JVM refuses such a variable
  char* storage = nullptr;
};

// JAVA_TOOL_OPTIONS, _JAVA_OPTIONS, JDK_JAVA_OPTIONS and -XX:VMOptionsFile: blanks separate, ' and
// " quote (also within a word), nothing escapes.
void tokenize_variable(const char* text, size_t size, ArgTokens* tokens);
// @argfiles: comments, escapes and line continuation besides.
void tokenize_argfile(const char* text, size_t size, ArgTokens* tokens);
void tokens_free(ArgTokens* tokens);

enum class FileKind {
  kRegular,
  kStream,  // pipe, terminal, socket: what we read of it the JVM would miss, or wait for
  kNone,    // missing, a directory: the JVM says so itself
};
FileKind kind_of_file(const char* path);
// A whole regular file, at most 64 MiB; null when it is none or cannot be read. free() it.
char* read_whole_file(const char* path, size_t* size);
// The same of whatever is open; null and errno.
char* read_to_end(int file, size_t* size);

// Whether the launcher takes the next argument as this option's value.
bool java_option_takes_value(const char* option);

enum class ArgRole {
  kOption,   // the JVM's or its launcher's
  kValue,    // belongs to the option before it (-cp X)
  kMain,     // main class, jar, module or source file
  kProgram,  // the program's own
};

// Follows one command line from left to right.
class ArgScanner {
 public:
  // argfiles: whether this launcher knows @argfiles at all (JDK 9 and later).
  explicit ArgScanner(bool argfiles) : argfiles_(argfiles) {}

  // The file an argument names, or null when it is not (or no longer) a reference to one.
  const char* argfile(const char* arg) const;
  // The same, also of -XX:VMOptionsFile.
  const char* named_file(const char* arg) const;
  ArgRole take(const char* arg);

 private:
  bool argfiles_;
  bool value_next_ = false;
  bool main_found_ = false;
};

// Where one java process gets its options from.
struct ArgSources {
  int argc = 0;
  char* const* argv = nullptr;  // argv[0] is the command itself
  bool java_launcher = true;    // false: another tool of the JDK, whose JVM options begin with -J
  bool argfiles = true;
  const char* (*variable)(void* context, const char* name) = nullptr;
  // Called before the file that argv[index] names is read; may put another argument there.
  void (*prepare)(void* context, int index, const char* path) = nullptr;
  // Called for each stream that is named as a file of options: it is not read.
  void (*unread)(void* context, const char* path) = nullptr;
  void* context = nullptr;
};

// The file that an option of the JVM names, or null when it is another option.
const char* vm_options_file(const char* option);

// Calls visit for each option that reaches the JVM, weakest first: JAVA_TOOL_OPTIONS, then
// JDK_JAVA_OPTIONS and the command line (the launcher puts the one before the other), then
// _JAVA_OPTIONS. origin names the variable or file, or is "command line".
void visit_jvm_options(const ArgSources& sources,
                       void (*visit)(void* context, const char* option, const char* origin),
                       void* context);

}  // namespace wisp
