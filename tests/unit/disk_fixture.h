// A file with known contents whose pages can be put out of the page cache.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "io/disk.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {

inline void on_task(std::function<void()> f) {
  Latch done(1);
  spawn([&] {
    f();
    done.count_down();
  });
  done.wait();
}

// Every 8-byte word of the file says where it stands, so that pieces can be told apart.
class TestFile {
 public:
  explicit TestFile(size_t size) {
    // Not /tmp: it may be a tmpfs, which has no page cache to drop and no RWF_NOWAIT.
    char name[] = "disk-test-XXXXXX";
    fd_ = mkstemp(name);
    path_ = name;
    if (fd_ < 0) abort();
    std::vector<uint64_t> words((size + 7) / 8);
    for (size_t i = 0; i < words.size(); ++i) words[i] = i;
    if (pwrite(fd_, words.data(), size, 0) != static_cast<ssize_t>(size)) abort();
    if (fsync(fd_) != 0) abort();
    io::disk_opened(fd_, O_RDWR);
  }
  ~TestFile() {
    close(fd_);
    unlink(path_.c_str());
  }
  void drop_all() { posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }
  // Afterwards the holes, `size` bytes every `period` from `first` on, are not cached, the rest is.
  // (Dropping just the holes would not do: the kernel keeps pages in larger pieces.)
  void cache_all_but(off_t first, off_t size, off_t period) {
    drop_all();
    posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // no read-ahead from now on
    char page[4096];
    for (off_t at = 0; pread(fd_, page, sizeof page, at) > 0;) {
      at += sizeof page;
      if (at >= first && (at - first) % period < size) at += size - (at - first) % period;
    }
  }
  int fd() const { return fd_; }
  const char* path() const { return path_.c_str(); }

 private:
  int fd_;
  std::string path_;
};

// In rounds, until one of them sees it. In any one a machine that stood still can have taken the
// carrier from a task, which then reads without asking and has no ring until it parks; and not
// every page leaves the cache when told to.
inline bool within_rounds(int rounds, const std::function<bool()>& seen) {
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round)
    if (seen()) return true;
  return false;
}

// A block at a time: a loop over bytes takes TSan a minute.
inline bool holds(const void* data, size_t size, uint64_t first_byte) {
  const char* p = static_cast<const char*>(data);
  uint64_t block[513];
  while (size != 0) {
    for (uint64_t i = 0; i < 513; ++i) block[i] = first_byte / 8 + i;
    size_t n = std::min<size_t>(size, 4096);
    if (memcmp(p, reinterpret_cast<const char*>(block) + first_byte % 8, n) != 0) return false;
    p += n, first_byte += n, size -= n;
  }
  return true;
}

}  // namespace wisp::test
