// Implementation of java_args.h, except for the splitting of text (arg_tokens.cpp).
#include "jvm/java_args.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace wisp {
// Options of the java launcher whose value is the next argument.
static const char* const kValueOptions[] = {
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "-d",
    "--describe-module",
    "--source",
    "--enable-native-access",
    "--illegal-native-access",
    "--sun-misc-unsafe-memory-access",
    "--illegal-final-field-mutation",
    "--enable-final-field-mutation",
    "--finalization",
};

bool java_option_takes_value(const char* option) {
  for (const char* known : kValueOptions) {
    if (strcmp(option, known) == 0) return true;
  }
  return false;
}

namespace {

constexpr size_t kLargestFile = 64u << 20;

struct Visitor {
  const ArgSources& sources;
  void (*visit)(void*, const char*, const char*);
  void* context;

  // Null: the JVM or its launcher reads it, or says why it cannot.
  char* read(const char* path, size_t* size) const {
    char* bytes = read_whole_file(path, size);
    if (bytes == nullptr && sources.unread != nullptr && kind_of_file(path) == FileKind::kStream) {
      sources.unread(sources.context, path);
    }
    return bytes;
  }

  // HotSpot puts the options of such a file in its place.
  void option(const char* text, const char* origin) const {
    const char* path = vm_options_file(text);
    if (path == nullptr) {
      visit(context, text, origin);
      return;
    }
    size_t size = 0;
    char* bytes = read(path, &size);
    if (bytes == nullptr) return;
    ArgTokens tokens;
    tokenize_variable(bytes, size, &tokens);
    // An open quote: the JVM will refuse to start, as with that of a variable.
    for (int i = 0; !tokens.unbalanced && i < tokens.count; i++) {
      visit(context, tokens.items[i].text, path);
    }
    tokens_free(&tokens);
    free(bytes);
  }
};

void visit_argument(const Visitor& visitor, ArgScanner* scanner, const char* arg,
                    const char* origin) {
  const char* path = scanner->argfile(arg);
  if (path == nullptr) {
    if (scanner->take(arg) == ArgRole::kOption) visitor.option(arg, origin);
    return;
  }
  size_t size = 0;
  char* bytes = visitor.read(path, &size);
  if (bytes == nullptr) return;
  ArgTokens tokens;
  tokenize_argfile(bytes, size, &tokens);
  for (int i = 0; i < tokens.count; i++) {
    const char* text = tokens.items[i].text;
    if (scanner->take(text) == ArgRole::kOption) visitor.option(text, path);
  }
  tokens_free(&tokens);
  free(bytes);
}

void visit_variable(const ArgSources& sources, const char* name, const Visitor& visitor,
                    ArgScanner* scanner) {
  const char* value =
      sources.variable != nullptr ? sources.variable(sources.context, name) : nullptr;
  if (value == nullptr) return;
  ArgTokens tokens;
  tokenize_variable(value, strlen(value), &tokens);
  // The JVM will refuse to start; nothing in the variable counts.
  for (int i = 0; !tokens.unbalanced && i < tokens.count; i++) {
    if (scanner != nullptr) {
      visit_argument(visitor, scanner, tokens.items[i].text, name);
    } else {
      visitor.option(tokens.items[i].text, name);
    }
  }
  tokens_free(&tokens);
}

}  // namespace

const char* vm_options_file(const char* option) {
  static const char kFile[] = "-XX:VMOptionsFile=";
  return strncmp(option, kFile, sizeof kFile - 1) == 0 ? option + sizeof kFile - 1 : nullptr;
}

// A system call: libc's stat has another symbol version from 2.33 on, and statx is refused by older
// profiles of containers.
FileKind kind_of_file(const char* path) {
  struct stat info;
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &info, 0) != 0) return FileKind::kNone;
  switch (info.st_mode & S_IFMT) {
    case S_IFREG:
      return FileKind::kRegular;
    case S_IFIFO:
    case S_IFCHR:
    case S_IFSOCK:
      return FileKind::kStream;
    default:
      return FileKind::kNone;
  }
}

char* read_whole_file(const char* path, size_t* size) {
  if (kind_of_file(path) != FileKind::kRegular) return nullptr;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return nullptr;
  char* bytes = read_to_end(file, size);
  close(file);
  return bytes;
}

char* read_to_end(int file, size_t* size) {
  size_t room = 4096;
  size_t used = 0;
  char* bytes = static_cast<char*>(malloc(room));
  while (bytes != nullptr) {
    if (used + 1 == room) {
      if (room > kLargestFile) {
        errno = EFBIG;
        break;
      }
      char* grown = static_cast<char*>(realloc(bytes, room * 2));
      if (grown == nullptr) break;
      bytes = grown;
      room *= 2;
    }
    ssize_t got = read(file, bytes + used, room - used - 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    if (got == 0) {
      bytes[used] = '\0';
      *size = used;
      return bytes;
    }
    used += static_cast<size_t>(got);
  }
  int saved = errno;
  free(bytes);
  errno = saved;
  return nullptr;
}

const char* ArgScanner::argfile(const char* arg) const {
  // "@@x" is how one writes the argument "@x".
  if (!argfiles_ || main_found_ || arg[0] != '@' || arg[1] == '\0' || arg[1] == '@') return nullptr;
  return arg + 1;
}

const char* ArgScanner::named_file(const char* arg) const {
  if (const char* path = argfile(arg)) return path;
  return main_found_ || value_next_ ? nullptr : vm_options_file(arg);
}

ArgRole ArgScanner::take(const char* arg) {
  if (main_found_) return ArgRole::kProgram;
  if (arg[0] == '-' && !value_next_) {
    value_next_ = java_option_takes_value(arg);
    if (strcmp(arg, "--disable-@files") == 0) argfiles_ = false;
    if (strncmp(arg, "--module=", 9) == 0) {
      main_found_ = true;
      return ArgRole::kMain;
    }
    return ArgRole::kOption;
  }
  if (value_next_) {
    value_next_ = false;
    return ArgRole::kValue;
  }
  // After -jar, -m and --module, or for a class or source file: the first word that is no option.
  main_found_ = true;
  return ArgRole::kMain;
}

void visit_jvm_options(const ArgSources& sources,
                       void (*visit)(void* context, const char* option, const char* origin),
                       void* context) {
  Visitor visitor{sources, visit, context};
  ArgScanner scanner(sources.argfiles);
  visit_variable(sources, "JAVA_TOOL_OPTIONS", visitor, nullptr);
  if (sources.java_launcher) {
    if (sources.argfiles) visit_variable(sources, "JDK_JAVA_OPTIONS", visitor, &scanner);
    for (int i = 1; i < sources.argc; i++) {
      const char* path = sources.prepare != nullptr ? scanner.named_file(sources.argv[i]) : nullptr;
      if (path != nullptr) sources.prepare(sources.context, i, path);
      visit_argument(visitor, &scanner, sources.argv[i], "command line");
    }
  } else {
    for (int i = 1; i < sources.argc; i++) {
      if (strncmp(sources.argv[i], "-J", 2) == 0)
        visitor.option(sources.argv[i] + 2, "command line");
    }
  }
  visit_variable(sources, "_JAVA_OPTIONS", visitor, nullptr);
}

}  // namespace wisp
