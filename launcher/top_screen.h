// The picture of `wisp top`: from two snapshots to lines of text. No terminal here.
#pragma once

#include <string>
#include <vector>

#include "statistics.h"

namespace wisp {

enum class TopOrder { kCpu, kWait, kRuns, kSteals, kName };

struct TopView {
  TopOrder order = TopOrder::kCpu;
  bool reversed = false;
  std::string filter;   // part of a name or of what it waits for
  bool typing = false;  // the filter is being typed
  bool help = false;
  bool paused = false;
  size_t scroll = 0;
  double interval = 1;
};

struct TopLine {
  std::string text;
  enum class Style { kPlain, kBold, kReverse } style = Style::kPlain;
};

// At most `height` lines of at most `width` columns. earlier: null on the first picture.
std::vector<TopLine> top_lines(const Statistics& now, const Statistics* earlier, TopView* view,
                               size_t width, size_t height);

}  // namespace wisp
