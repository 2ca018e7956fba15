// The command line and environment of the process that the library is loaded into. Runs in the
// library's constructor, before any other thread exists, and in the agent.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "jvm/options.h"

namespace wisp {
namespace {

const char* from_environment(void*, const char* name) { return getenv(name); }

// JDK 8 has no @argfiles and no JDK_JAVA_OPTIONS, and is known by its rt.jar.
bool is_java8(const char* executable) {
  static const char* const kPlaces[] = {"/lib/rt.jar", "/jre/lib/rt.jar"};
  char home[4096];
  snprintf(home, sizeof home, "%s", executable);
  for (int up = 0; up < 2; up++) {
    char* slash = strrchr(home, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
  }
  for (const char* place : kPlaces) {
    char path[4200];
    snprintf(path, sizeof path, "%s%s", home, place);
    if (access(path, F_OK) == 0) return true;
  }
  return false;
}

// Where this process has its options from, as the JVM sees them.
class ProcessSources {
 public:
  ProcessSources() {
    sources_.variable = from_environment;
    char executable[4096];
    ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[length > 0 ? length : 0] = '\0';
    const char* slash = strrchr(executable, '/');
    sources_.java_launcher = strcmp(slash == nullptr ? executable : slash + 1, "java") == 0;
    sources_.argfiles = !is_java8(executable);

    size_t size = 0;
    bytes_ = read_whole_file("/proc/self/cmdline", &size);
    if (bytes_ == nullptr) return;
    int count = 0;
    for (size_t at = 0; at < size; at += strlen(bytes_ + at) + 1) count++;
    argv_ = static_cast<char**>(calloc(static_cast<size_t>(count) + 1, sizeof(char*)));
    for (size_t at = 0; argv_ != nullptr && at < size; at += strlen(bytes_ + at) + 1) {
      argv_[sources_.argc++] = bytes_ + at;
    }
    sources_.argv = argv_;
  }
  ProcessSources(const ProcessSources&) = delete;
  ProcessSources& operator=(const ProcessSources&) = delete;
  ~ProcessSources() {
    free(argv_);
    free(bytes_);
  }
  ArgSources* operator->() { return &sources_; }
  const ArgSources& operator*() const { return sources_; }

 private:
  ArgSources sources_;
  char* bytes_ = nullptr;
  char** argv_ = nullptr;
};

}  // namespace

void options_from_process(Options* options) {
  Report report;
  report.line = report_to_stderr;
  options_gather(options, *ProcessSources(), &report);
}

bool process_reads_stream(Shown* path) {
  struct Found {
    Shown* path;
    bool any;
  } found = {path, false};
  ProcessSources sources;
  sources->context = &found;
  sources->unread = [](void* context, const char* name) {
    auto* into = static_cast<Found*>(context);
    *into->path = Shown(name);
    into->any = true;
  };
  visit_jvm_options(
      *sources, [](void*, const char*, const char*) {}, nullptr);
  return found.any;
}

}  // namespace wisp
