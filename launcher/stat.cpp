// `wisp stat`: one snapshot, or one every few seconds.
#include "clock.h"
#include "observe_commands.h"
#include "output.h"
#include "stat_formats.h"

namespace wisp {

int run_stat(const StatRequest& request) {
  PageError error;
  auto page = StatisticsPage::open(request.pid, &error);
  if (page == nullptr) return refuse(error);
  std::optional<Statistics> earlier;
  for (long report = 0;; report++) {
    std::optional<Statistics> now = page->read(&error);
    // That a JVM which is watched ends is no failure.
    if (!now) return report > 0 && !page->process().exists() ? 0 : refuse(error);
    std::string text;
    if (request.openmetrics) {
      text = stat_openmetrics(*now);
    } else if (request.json) {
      text = stat_json(*now, request.tasks);
    } else {
      text = stat_text(*now, earlier ? &*earlier : nullptr, request.tasks);
    }
    if (int code = print_output(text)) return code;
    if (request.interval == 0 || (request.count > 0 && report + 1 >= request.count)) return 0;
    earlier = std::move(now);
    sleep_for(request.interval);
  }
}

}  // namespace wisp
