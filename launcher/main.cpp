// The wisp command: java, jdk, doctor, bench, and those that look into a JVM. `wisp java` and `wisp
// bench` are taken before the option parser sees anything, because all that follows belongs to the
// JVM or to the harness; the rest is CLI11's.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <string_view>

#include "bench_command.h"
#include "doctor.h"
#include "jdk_home.h"
#include "jvm/report.h"
#include "observe_commands.h"
#include "output.h"
#include "run_java.h"

namespace {

// CLI11's own footer would wrap and reorder; a test compares the options with the man page.
constexpr char kFooter[] = R"(
Examples:
  wisp java -XX:+UseWisp2 -jar app.jar
  wisp java --jdk /opt/jdk-21 -XX:+UseWisp2 -XX:ActiveProcessorCount=2 -cp classes Main
  export JAVA_HOME=$(wisp jdk /opt/jdk-21)
  wisp doctor
  wisp top 4711
  wisp trace 4711 --seconds 2 --output trace.json
  wisp bench pingpong --quick

Without this command: LD_PRELOAD=.../libwisp.so WISP=1 java ...
               or:    java -agentpath:.../libwisp.so ...
Options of the runtime: docs/options.md, wisp(1).)";

int usage_error(const std::string& text, const CLI::App& app) {
  std::string name =
      app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ";
  wisp::print_error(fmt::format("wisp: {}\nTry 'wisp {}--help'.\n", text, name));
  return wisp::kExitUsage;
}

// A java by its path is no command: `wisp java` writes its home as an option.
std::string hint_of_java(std::string_view argument) {
  constexpr std::string_view kJava = "/bin/java";
  if (!argument.ends_with(kJava)) return "";
  argument.remove_suffix(kJava.size());
  return fmt::format("; a java of your choice: wisp java --jdk {} ARG...",
                     wisp::Shown(argument.data(), argument.size()).text);
}

// What this command opens must not become its standard output: that may be a JVM's memory.
void keep_standard_descriptors() {
  int file;
  do {
    file = open("/dev/null", O_RDONLY);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) close(file);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Runs Java programs with their threads as coroutines, on an "
      "unmodified JDK.",
      "wisp"};
  app.set_version_flag("--version", "wisp " WISP_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kFooter);
  app.require_subcommand(1);

  // Listed for the help only; run_java_command gets the real thing.
  CLI::App* java = app.add_subcommand("java",
                                      "[--jdk DIR] ARG...  run java; -XX:+UseWisp2 "
                                      "among its options switches Wisp on");
  java->prefix_command();

  CLI::App* bench = app.add_subcommand("bench",
                                       "NAME...  rerun published experiments: plain threads, Wisp "
                                       "and virtual threads side by side");
  bench->prefix_command();

  wisp::JdkHomeRequest home;
  CLI::App* jdk = app.add_subcommand("jdk",
                                     "DIR [--output DIR]  make a JAVA_HOME whose "
                                     "java understands -XX:+UseWisp2");
  jdk->add_option("DIR", home.source, "home directory of the JDK")->required()->type_name("");
  jdk->add_option("-o,--output", home.output, "where to make it (default: ./<name of DIR>-wisp)")
      ->type_name("DIR");

  bool json = false;
  CLI::App* doctor = app.add_subcommand(
      "doctor", "[--json]  say what of this machine and its JDKs can carry Wisp");
  doctor->add_flag("--json", json, "the same for programs");

  wisp::ObserveCommands observe(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return wisp::print_output(app.help());
  } catch (const CLI::CallForVersion& version) {
    return wisp::print_output(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (argc < 2) {
      text = "a command is required: java, jdk, doctor, ps, stat, top, jstack, trace or bench";
    } else if (app.get_subcommands().empty()) {
      text = fmt::format(
          "'{}' is not a command or option; takes java, jdk, doctor, ps, stat, top, jstack, "
          "trace, bench, --help or --version{}",
          wisp::Shown(argv[1]).text, hint_of_java(argv[1]));
    }
    return usage_error(text, app);
  }
  if (std::optional<int> code = observe.run()) return *code;
  if (*jdk) return wisp::make_jdk_home(home);
  return wisp::run_doctor(json);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::string home = wisp::dispatching_home(); !home.empty()) {
    return wisp::run_java_of_home(home, argc, argv);
  }
  if (argc > 1 && strcmp(argv[1], "java") == 0) return wisp::run_java_command(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "bench") == 0) {
    return wisp::run_bench_command(argc - 1, argv + 1);
  }
  keep_standard_descriptors();
  return run(argc, argv);
}
