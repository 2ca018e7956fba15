// Implementation of thread_dump.h. nid is hexadecimal with 0x, or decimal from JDK 21 on.
#include "thread_dump.h"

#include <algorithm>
#include <cstdlib>

namespace wisp {
namespace {

constexpr char kState[] = "   java.lang.Thread.State: ";
constexpr int kMaxNameLines = 16;

// Behind the name in its quotes come the attributes, in which there is no quote.
bool ends_header(const std::string& line) {
  size_t quote = line.rfind('"');
  return quote != std::string::npos && line.find(" nid=", quote) != std::string::npos;
}
bool is_header(const std::string& line) {
  return !line.empty() && line[0] == '"' && line.rfind('"') > 0 && ends_header(line);
}

void read_header(DumpedThread* thread) {
  const std::string& line = thread->header;
  size_t quote = line.rfind('"');
  thread->nid =
      static_cast<uint32_t>(strtoul(line.c_str() + line.find(" nid=", quote) + 5, nullptr, 0));
  thread->name = line.substr(1, quote - 1);
}

std::string take_line(const std::string& text, size_t* at) {
  size_t end = std::min(text.find('\n', *at), text.size());
  std::string line = text.substr(*at, end - *at);
  *at = end + 1;
  return line;
}

// A name may hold line breaks: its header goes on in the lines behind `at`, which are taken then.
bool complete_header(const std::string& text, size_t* at, std::string* line) {
  std::string whole = *line;
  size_t next = *at;
  for (int i = 0; i < kMaxNameLines && next < text.size(); i++) {
    std::string more = take_line(text, &next);
    if (is_header(more)) return false;
    whole += "\n" + more;
    if (!ends_header(more)) continue;
    *at = next;
    *line = whole;
    return true;
  }
  return false;
}

}  // namespace

ThreadDump parse_thread_dump(const std::string& text) {
  ThreadDump dump;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    std::string line = take_line(text, &at);
    bool begins = !inside && !line.empty() && line[0] == '"';
    if (is_header(line) || (begins && complete_header(text, &at, &line))) {
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
