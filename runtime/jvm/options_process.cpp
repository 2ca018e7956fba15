// options_from_process: the command line and environment of the process the library is loaded into.
// Runs once, in the library's constructor, before any other thread exists.
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

}  // namespace

void options_from_process(Options* options) {
  Report report;
  report.line = report_to_stderr;

  ArgSources sources;
  sources.variable = from_environment;
  char executable[4096];
  ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  executable[length > 0 ? length : 0] = '\0';
  const char* slash = strrchr(executable, '/');
  // ".java" is the stock launcher inside a home that `wisp jdk` made.
  const char* base = slash == nullptr ? executable : slash + 1;
  sources.java_launcher = strcmp(base, "java") == 0 || strcmp(base, ".java") == 0;
  sources.argfiles = !is_java8(executable);

  size_t size = 0;
  char* bytes = read_whole_file("/proc/self/cmdline", &size);
  char** argv = nullptr;
  if (bytes != nullptr) {
    int count = 0;
    for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) count++;
    argv = static_cast<char**>(calloc(static_cast<size_t>(count) + 1, sizeof(char*)));
    for (size_t at = 0; argv != nullptr && at < size; at += strlen(bytes + at) + 1) {
      argv[sources.argc++] = bytes + at;
    }
    sources.argv = argv;
  }
  options_gather(options, sources, &report);
  free(argv);
  free(bytes);
}

}  // namespace wisp
