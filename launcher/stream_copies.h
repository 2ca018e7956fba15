// java @<(echo -Xmx1g) …: a file of options that is a pipe, a terminal or a FIFO can be read once,
// and the command reads it before the JVM. So the JVM gets a copy in memory instead.
#pragma once

#include <deque>
#include <string>
#include <vector>

namespace wisp {

class StreamCopies {
 public:
  explicit StreamCopies(std::vector<char*>* argv) : argv_(argv) {}
  // ArgSources::prepare, with this object as the context.
  static void prepare(void* copies, int index, const char* path);
  // What was read and lost.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void replace(int index, const std::string& path);

  std::vector<char*>* argv_;
  std::deque<std::string> texts_;  // argv points into them
  std::vector<std::string> problems_;
};

}  // namespace wisp
