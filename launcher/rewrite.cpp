// Implementation of rewrite.h. It walks the sources as visit_jvm_options (java_args.h) does.
#include "rewrite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace wisp {
namespace {

constexpr char kVmOptionsFile[] = "-XX:VMOptionsFile=";

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

// The path under which this process, also after exec, reads the text.
std::optional<std::string> in_memory(const std::string& name, std::string_view text) {
  // The name shows in /proc/PID/fd. Without MFD_CLOEXEC: the JVM is to inherit it.
  int file = memfd_create(name.substr(name.rfind('/') + 1).substr(0, 200).c_str(), 0);
  if (file < 0) return std::nullopt;
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      close(file);
      return std::nullopt;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return fmt::format("/proc/self/fd/{}", file);
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
    if (const char* path = scanner_.argfile(arg)) {
      auto copy = file(path, true);
      if (copy) return fmt::format("@{}", *copy);
      return std::nullopt;
    }
    return scanner_.take(arg) == ArgRole::kOption ? option(arg) : std::nullopt;
  }

  std::optional<std::string> option(const char* text) {
    if (strip_(text)) return "";
    size_t prefix = sizeof kVmOptionsFile - 1;
    if (strncmp(text, kVmOptionsFile, prefix) == 0) {
      auto copy = file(text + prefix, false);
      if (copy) return fmt::format("{}{}", kVmOptionsFile, *copy);
    }
    return std::nullopt;
  }

  // The path of a copy without the options, or nothing when the file holds none.
  std::optional<std::string> file(const char* path, bool argfile) {
    size_t size = 0;
    char* bytes = read_whole_file(path, &size);
    if (bytes == nullptr) return std::nullopt;
    ArgTokens tokens;
    argfile ? tokenize_argfile(bytes, size, &tokens) : tokenize_variable(bytes, size, &tokens);
    std::vector<Edit> edits;
    for (int i = 0; i < tokens.count; i++) {
      const ArgToken& token = tokens.items[i];
      std::optional<std::string> replacement;
      if (!argfile) {
        if (strip_(token.text)) replacement = "";
      } else if (scanner_.take(token.text) == ArgRole::kOption) {
        replacement = option(token.text);
      }
      if (replacement) edits.push_back({token.begin, token.end, *replacement});
    }
    std::optional<std::string> copy;
    if (!edits.empty()) {
      copy = in_memory(path, edited({bytes, size}, edits));
      if (!copy) {
        result_.problems.push_back(
            fmt::format("{}: cannot be copied without -XX:±UseWisp2: {}", path, strerror(errno)));
      }
    }
    tokens_free(&tokens);
    free(bytes);
    return copy;
  }

  void variable(const char* name, bool launcher) {
    const char* value = sources_.variable(sources_.context, name);
    if (value == nullptr) return;
    ArgTokens tokens;
    tokenize_variable(value, strlen(value), &tokens);
    std::vector<Edit> edits;
    for (int i = 0; !tokens.unbalanced && i < tokens.count; i++) {
      const ArgToken& token = tokens.items[i];
      if (auto replacement = argument(token.text, launcher)) {
        edits.push_back({token.begin, token.end, *replacement});
      }
    }
    if (!edits.empty()) {
      std::string text = edited(value, edits);
      // An empty variable would still make the JVM print "Picked up …".
      bool empty = text.find_first_not_of(" \t\n\r\f\v") == std::string::npos;
      result_.variables[name] = empty ? std::nullopt : std::optional(text);
    }
    tokens_free(&tokens);
  }

  const ArgSources& sources_;
  const StripPredicate& strip_;
  ArgScanner scanner_;
  Rewritten result_;
};

}  // namespace

Rewritten strip_options(const ArgSources& sources, const StripPredicate& strip) {
  return Stripper(sources, strip).run();
}

}  // namespace wisp
