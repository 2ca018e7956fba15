// Implementation of run_java.h: find the JDK, read the options, strip ours, preload or not, exec.
#include "run_java.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "elf_image.h"
#include "jdk.h"
#include "jvm/options.h"
#include "jvm/preload_list.h"
#include "rewrite.h"
#include "stream_copies.h"

namespace wisp {
namespace {

// One write per line: several of these may share a terminal or a log.
void say(const std::string& text) { report_to_stderr(nullptr, text.c_str()); }

const char* from_environment(void*, const char* name) { return getenv(name); }

// The flag's name as a whole string in libjvm.so; JVM_ActiveProcessorCount is in all of them.
constexpr char kCountName[] = "\0ActiveProcessorCount";

bool is_processor_count(const char* option) {
  return strncmp(option, "-XX:ActiveProcessorCount=", 25) == 0;
}

int become(const Jdk& jdk, const std::vector<char*>& argv) {
  execv(jdk.java.c_str(), argv.data());
  say(fmt::format("cannot run {}: {}", jdk.java, strerror(errno)));
  return kExitFailure;
}

void preload(const std::string& library, const Options& options, bool count_stripped) {
  char* list = preload_list(library.c_str(), getenv("LD_PRELOAD"));
  if (list != nullptr) setenv("LD_PRELOAD", list, 1);
  free(list);
  setenv("WISP", "1", 1);
  unsetenv("WISP_REEXEC");
  if (count_stripped && options.carriers == 0) {
    const char* list = getenv("WISP_OPTIONS");
    std::string more = fmt::format("carriers={}", default_carriers(options));
    if (list != nullptr && *list != '\0') more = std::string(list) + "," + more;
    setenv("WISP_OPTIONS", more.c_str(), 1);
  }
}

int run(const Jdk& jdk, const std::string& library, std::vector<char*> argv) {
  ArgSources sources;
  sources.argc = static_cast<int>(argv.size());
  sources.argv = argv.data();
  sources.argfiles = !jdk.java8;
  sources.variable = from_environment;
  StreamCopies copies(&argv);
  sources.prepare = &StreamCopies::prepare;
  sources.context = &copies;

  std::vector<std::string> errors;
  Report report;
  report.context = &errors;
  report.line = [](void* context, const char* text) {
    static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  };
  report.quiet_skips = true;
  Options options;
  options_gather(&options, sources, &report);
  for (const std::string& problem : copies.problems()) say(problem);
  if (!copies.problems().empty()) return kExitFailure;
  if (options.enabled && !errors.empty()) {
    for (const std::string& error : errors) say(error);
    return kExitUsage;
  }

  // WISP=1 without a flag: the user preloads by hand, and this command is just the way to java.
  bool convert = options.enabled && options.use_wisp2_seen;
  if (convert) {
    std::optional<Obstacle> found = library_obstacle(library);
    if (!found) found = obstacle(jdk);
    if (found) {
      say(fmt::format("running on plain threads: {}; {}", found->reason, found->cure));
      convert = false;
    }
  }

  // -XX:ActiveProcessorCount came with 8u191 and 10. What was written for
  // Dragonwell is to work on older ones too: there it can set at least the
  // number of carriers.
  bool count_unknown = convert && options.active_processor_count != 0 &&
                       !ElfImage(jdk.libjvm).contains({kCountName, sizeof kCountName});
  Rewritten rewritten;
  if (options.use_wisp2_seen) {
    rewritten = strip_options(sources, [&](const char* option) {
      return is_use_wisp2(option) || (count_unknown && is_processor_count(option));
    });
    for (const std::string& problem : rewritten.problems) say(problem);
    for (const auto& [name, value] : rewritten.variables) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
    argv.clear();
    for (std::string& arg : rewritten.args) argv.push_back(arg.data());
    // A flag that says "off", or an obstacle, also beats a library preloaded by the environment.
    if (!convert && getenv("WISP") != nullptr) setenv("WISP", "0", 1);
  }
  if (convert) preload(library, options, count_unknown);
  argv.push_back(nullptr);
  return become(jdk, argv);
}

}  // namespace

int run_java_command(int argc, char** argv) {
  std::optional<Jdk> jdk;
  int first = 1;
  std::string named;
  std::string from;
  if (argc > 1 && strcmp(argv[1], "--jdk") == 0) {
    if (argc == 2 || argv[2][0] == '\0') {
      say("--jdk takes a directory: wisp java --jdk DIR [java options]");
      return kExitUsage;
    }
    from = "--jdk";
    named = argv[2];
    first = 3;
  } else if (argc > 1 && strncmp(argv[1], "--jdk=", 6) == 0) {
    from = "--jdk";
    named = argv[1] + 6;
    first = 2;
  } else if (const char* home = getenv("JAVA_HOME"); home != nullptr && *home != '\0') {
    from = "JAVA_HOME";
    named = home;
  }
  if (!from.empty()) {
    jdk = jdk_at(named);
    if (!jdk) {
      say(fmt::format("{}={}: takes the home directory of a JDK, one with a bin/java in it", from,
                      Shown(named.c_str()).text));
      return kExitUsage;
    }
  } else {
    auto java = find_on_path("java");
    if (!java) {
      say("no java found: give --jdk DIR, set JAVA_HOME or put java on PATH");
      return kExitFailure;
    }
    jdk = jdk_of_command(*java);
    if (!jdk) {
      // A wrapper outside any JDK: run it as it is, and let obstacle() say why it stays plain.
      jdk.emplace();
      jdk->java = *java;
    }
  }
  // As one would have started it oneself, not by what lies in a home of ours.
  std::string shown = jdk->home.empty() ? jdk->java : jdk->home + "/bin/java";
  std::vector<char*> java_argv{shown.data()};
  java_argv.insert(java_argv.end(), argv + first, argv + argc);
  return run(*jdk, own_library(), java_argv);
}

std::string dispatching_home() {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return {};
  std::string path(self, static_cast<size_t>(length));
  if (!path.ends_with("/bin/java")) return {};
  std::string home = path.substr(0, path.size() - strlen("/bin/java"));
  return access((home + "/" + kHomeNote).c_str(), F_OK) == 0 ? home : std::string();
}

int run_java_of_home(const std::string& home, int argc, char** argv) {
  auto note = read_home_note(home);
  auto jdk = note ? jdk_at(home) : std::nullopt;
  if (!jdk) {
    say(fmt::format("{}: {} does not name a JDK; make the home again: wisp jdk DIR", home,
                    kHomeNote));
    return kExitFailure;
  }
  if (home_is_stale(*note)) {
    say(
        fmt::format("{} has changed since {} was made; using it directly (make "
                    "the home again: wisp "
                    "jdk {})",
                    note->source, home, note->source));
  }
  return run(*jdk, note->library, std::vector<char*>(argv, argv + argc));
}

}  // namespace wisp
