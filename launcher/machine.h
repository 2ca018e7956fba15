// What of the machine matters to Wisp, as findings for `wisp doctor`.
#pragma once

#include <string>
#include <vector>

namespace wisp {

enum class Verdict { kGood, kSlower, kBlocks };

struct Finding {
  std::string subject;  // "kernel", "CPU", …
  Verdict verdict;
  std::string text;  // what was found
  std::string cure;  // empty when there is nothing to gain
};

std::vector<Finding> examine_machine();

}  // namespace wisp
