// `wisp ps`: the converted JVMs that this user may look at.
#include <fmt/format.h>
#include <unistd.h>

#include "observe_commands.h"
#include "output.h"
#include "statistics.h"
#include "text.h"

namespace wisp {

int run_ps(bool json) {
  bool root = geteuid() == 0;
  std::string text;
  if (!json) {
    text += fmt::format("{:>8} {:>8} {:>8} {:>8} {:>10}  {}\n", "PID", "CARRIERS", "TASKS", "UP",
                        "SWITCHES", "PROGRAM");
  }
  const char* separator = "";
  if (json) text += "[";
  for (int pid : all_pids()) {
    if (!root && Process(pid).user() != geteuid()) continue;
    PageError error;
    auto page = StatisticsPage::open(pid, &error);
    if (page == nullptr) continue;
    // Not even a stopped JVM may make the list hang.
    std::optional<Statistics> s = page->read(&error, 500);
    std::string title = page->process().title();
    if (!s) {
      if (json) {
        text += fmt::format(
            "{}\n  {{\"pid\": {}, \"carriers\": null, \"tasks\": null, \"upNanos\": null, "
            "\"switches\": null, \"program\": {}}}",
            separator, pid, in_json(title));
        separator = ",";
      } else {
        text += fmt::format("{:>8} {:>8} {:>8} {:>8} {:>10}  {} (no answer)\n", pid, "?", "?", "?",
                            "?", printable(title));
      }
      continue;
    }
    uint64_t switches = 0;
    for (const stats::CarrierRecord& carrier : s->carriers) switches += carrier.switches;
    uint64_t up = s->up_ns();
    if (json) {
      text += fmt::format(
          "{}\n  {{\"pid\": {}, \"carriers\": {}, \"tasks\": {}, \"upNanos\": {}, "
          "\"switches\": {}, \"program\": {}}}",
          separator, pid, s->carriers.size(), s->head.tasks_alive, up, switches, in_json(title));
      separator = ",";
    } else {
      text += fmt::format("{:>8} {:>8} {:>8} {:>8} {:>10}  {}\n", pid, s->carriers.size(),
                          s->head.tasks_alive, duration(up), switches, printable(title));
    }
  }
  if (json) text += "\n]\n";
  return print_output(text);
}

}  // namespace wisp
