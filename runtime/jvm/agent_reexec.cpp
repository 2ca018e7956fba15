// java -agentpath:…/libwisp.so[=options]: for places where only JVM flags can be set. By the time
// an agent loads it is too late to become the thread implementation, so the process executes itself
// once more, same pid and arguments, with this library preloaded. In the second life the agent
// finds the library preloaded and has nothing to do; it is called by Agent_OnLoad_wisp there
// (agent_symbol.h). WISP_REEXEC marks the second life: when preloading fails in it (a linker that
// ignores LD_PRELOAD), the program runs plain instead of looping.
//
// What the first life has done by then and exec does not undo is little: "Picked up …" lines appear
// twice, an -Xlog file is rotated once. Nothing has read stdin.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "jvm/load_order.h"
#include "jvm/loaded_library.h"
#include "jvm/options.h"
#include "jvm/preload_list.h"

namespace wisp {
namespace {

constexpr int kAgentOk = 0;
constexpr int kAgentError = -1;

void say(const char* format, const char* detail) {
  char text[512];
  snprintf(text, sizeof text, format, detail);
  report_to_stderr(nullptr, text);
}

// "a\0b\0" as a null-terminated vector with room for extra entries.
char** as_vector(char* bytes, size_t size, size_t extra, size_t* count) {
  size_t n = 0;
  for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) n++;
  char** vector = static_cast<char**>(calloc(n + extra + 1, sizeof(char*)));
  if (vector == nullptr) return nullptr;
  *count = 0;
  for (size_t at = 0; at < size; at += strlen(bytes + at) + 1) vector[(*count)++] = bytes + at;
  return vector;
}

char* assignment(const char* name, const char* value, const char* separator, const char* rest) {
  char* text = nullptr;
  return asprintf(&text, "%s=%s%s%s", name, value, separator, rest) < 0 ? nullptr : text;
}

// Takes name out of the vector and returns its value, or null.
const char* remove_variable(char** vector, size_t* count, const char* name) {
  size_t length = strlen(name);
  const char* value = nullptr;
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++) {
    if (strncmp(vector[i], name, length) == 0 && vector[i][length] == '=') {
      if (value == nullptr) value = vector[i] + length + 1;
    } else {
      vector[kept++] = vector[i];
    }
  }
  *count = kept;
  vector[kept] = nullptr;
  return value;
}

// The environment this process was started with (the JVM has changed its own copy by now) plus
// ours.
char** second_environment(const char* library, const char* options) {
  size_t size = 0;
  char* bytes = read_whole_file("/proc/self/environ", &size);
  size_t count = 0;
  char** vector = bytes != nullptr ? as_vector(bytes, size, 4, &count) : nullptr;
  if (vector == nullptr) return nullptr;
  const char* preload = remove_variable(vector, &count, "LD_PRELOAD");
  const char* before = remove_variable(vector, &count, "WISP_OPTIONS");
  remove_variable(vector, &count, "WISP");
  remove_variable(vector, &count, "WISP_REEXEC");
  char* list = preload_list(library, preload);
  vector[count++] = list != nullptr ? assignment("LD_PRELOAD", list, "", "") : nullptr;
  free(list);
  vector[count++] = strdup("WISP=1");
  vector[count++] = strdup("WISP_REEXEC=1");
  // Not left to the command line: a host program may have passed them by JNI.
  bool both = before != nullptr && *before != '\0' && *options != '\0';
  if (*options != '\0' || before != nullptr) {
    vector[count++] =
        assignment("WISP_OPTIONS", before != nullptr ? before : "", both ? "," : "", options);
  }
  for (size_t i = 0; i < count; i++) {
    if (vector[i] == nullptr) return nullptr;  // NOLINT(clang-analyzer-unix.Malloc): no memory
  }
  return vector;
}

// From the environment as it was at the start: the library's constructor cleans the present one.
bool started_with(const char* name) {
  size_t size = 0;
  size_t count = 0;
  char* bytes = read_whole_file("/proc/self/environ", &size);
  char** vector = bytes != nullptr ? as_vector(bytes, size, 0, &count) : nullptr;
  bool found = vector != nullptr && remove_variable(vector, &count, name) != nullptr;
  free(vector);
  free(bytes);
  return found;
}

int run_plain(const char* reason) {
  say("running on plain threads: %s", reason);
  return kAgentOk;
}

int reexecute(const char* options) {
  char library[4096];
  char executable[4096];
  if (!own_library_path(library, sizeof library))
    return run_plain("cannot tell where libwisp.so lies");
  if (strpbrk(library, " :") != nullptr) {
    return run_plain(
        "the path of libwisp.so holds a blank or a colon, which "
        "LD_PRELOAD cannot name");
  }
  // Resolved here: /proc/self/exe as the name of the new program would hide java's home from it.
  ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (length <= 0) return run_plain("/proc/self/exe cannot be read");
  executable[length] = '\0';
  size_t size = 0;
  size_t count = 0;
  char* bytes = read_whole_file("/proc/self/cmdline", &size);
  char** argv = bytes != nullptr ? as_vector(bytes, size, 0, &count) : nullptr;
  char** environment = second_environment(library, options);
  if (argv == nullptr || count == 0 || environment == nullptr) {
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a few kilobytes, once, and the program goes on
    return run_plain("/proc/self/cmdline or environ cannot be read");
  }
  // The signal mask goes along as it is: HotSpot changes it only after the agents are loaded.
  execve(executable, argv, environment);
  return run_plain(strerror(errno));
}

int on_load(const char* options) {
  if (wisp_preloaded()) return kAgentOk;
  bool second_life = started_with("WISP_REEXEC");
  unsetenv("WISP_REEXEC");  // children may have a life of their own
  if (second_life) return run_plain("libwisp.so was not preloaded though LD_PRELOAD named it");
  Options parsed;
  Report report;
  report.line = report_to_stderr;
  report.quiet_skips = true;  // the second life says these
  options_apply_list(&parsed, options, "-agentpath", &report);
  options_free(&parsed);
  if (report.errors != 0) return kAgentError;
  const char* wisp = getenv("WISP");
  if (wisp != nullptr && strcmp(wisp, "0") == 0) return kAgentOk;
  // In libjvm.so itself: this library has the name, too.
  void* jvm = loaded_library_named("libjvm.so");
  if (jvm == nullptr || dlsym(jvm, "JVM_StartThread") == nullptr) {
    return run_plain("this JVM is not HotSpot (no JVM_StartThread)");
  }
  Shown stream("");
  if (process_reads_stream(&stream)) {
    char reason[256];
    snprintf(reason, sizeof reason,
             "the JVM's options come from %s, which is no regular file and cannot be read twice",
             stream.text);
    return run_plain(reason);
  }
  return reexecute(options);
}

}  // namespace
}  // namespace wisp

// jint Agent_OnLoad(JavaVM*, char* options, void* reserved), without needing jni.h to build.
extern "C" __attribute__((visibility("default"))) int Agent_OnLoad(void*, char* options, void*) {
  return wisp::on_load(options != nullptr ? options : "");
}
// For agent_symbol.cpp.
extern "C" __attribute__((visibility("hidden"), alias("Agent_OnLoad"))) int wisp_agent_on_load(
    void*, char*, void*);

// The name that HotSpot asks for first, in the program and what was loaded with it. A function of
// its own: the dynamic linker could not tell an alias from the other.
extern "C" __attribute__((visibility("default"))) int Agent_OnLoad_wisp(void*, char* options,
                                                                        void*) {
  return wisp::on_load(options != nullptr ? options : "");
}
