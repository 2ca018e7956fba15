// HotSpot's thread dump, taken apart just as far as needed: which lines belong to which thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wisp {

struct DumpedThread {
  std::string header;  // the line, of a name with line breaks the lines, from the name in quotes on
  std::string name;
  uint32_t nid = 0;                // 0: none given
  std::string state;               // what follows java.lang.Thread.State:, may be empty
  std::vector<std::string> lines;  // all after the header and the state line, up to the blank one
};

struct ThreadDump {
  std::vector<std::string> before;  // date and version
  std::vector<DumpedThread> threads;
  std::vector<std::string> after;  // JNI references, deadlocks
};

// Any text: what is no thread's stands in `before` or `after`.
ThreadDump parse_thread_dump(const std::string& text);

}  // namespace wisp
