// Implementation of stream_copies.h.
#include "stream_copies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "jvm/java_args.h"
#include "memory_file.h"

namespace wisp {

void StreamCopies::prepare(void* copies, int index, const char* path) {
  if (kind_of_file(path) != FileKind::kStream) return;
  static_cast<StreamCopies*>(copies)->replace(index, path);
}

void StreamCopies::replace(int index, const std::string& path) {
  // Like the JVM's own open: waits for a FIFO's writer.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return;  // the JVM says so itself
  size_t size = 0;
  char* bytes = read_to_end(file, &size);
  std::optional<std::string> copy;
  if (bytes != nullptr) copy = in_memory(path, {bytes, size});
  if (!copy) problems_.push_back(fmt::format("{}: cannot be copied: {}", path, strerror(errno)));
  free(bytes);
  close(file);
  if (!copy) return;
  std::string_view argument = (*argv_)[static_cast<size_t>(index)];
  argument.remove_suffix(path.size());
  texts_.push_back(std::string(argument) + *copy);
  (*argv_)[static_cast<size_t>(index)] = texts_.back().data();
}

}  // namespace wisp
