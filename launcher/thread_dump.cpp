// Implementation of thread_dump.h. nid is hexadecimal with 0x, or decimal from JDK 21 on.
#include "thread_dump.h"

#include <algorithm>
#include <cstdlib>

namespace wisp {
namespace {

constexpr char kState[] = "   java.lang.Thread.State: ";

void read_header(DumpedThread* thread) {
  const std::string& line = thread->header;
  size_t nid = line.rfind(" nid=");
  if (nid != std::string::npos) {
    thread->nid = static_cast<uint32_t>(strtoul(line.c_str() + nid + 5, nullptr, 0));
  }
  // A name may hold quotes itself: its end is the one before the first attribute.
  size_t end = line.find("\" #");
  if (end == std::string::npos) end = line.rfind('"', nid);
  if (end != std::string::npos && end > 0) thread->name = line.substr(1, end - 1);
}

}  // namespace

ThreadDump parse_thread_dump(const std::string& text) {
  ThreadDump dump;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line[0] == '"' && line.find(" nid=") != std::string::npos) {
      dump.threads.emplace_back();
      dump.threads.back().header = line;
      read_header(&dump.threads.back());
      inside = true;
    } else if (inside && line.empty()) {
      inside = false;
    } else if (inside && dump.threads.back().state.empty() && line.rfind(kState, 0) == 0) {
      dump.threads.back().state = line.substr(sizeof kState - 1);
    } else if (inside) {
      dump.threads.back().lines.push_back(line);
    } else if (!line.empty()) {
      (dump.threads.empty() ? dump.before : dump.after).push_back(line);
    }
  }
  return dump;
}

}  // namespace wisp
