// A file with known contents whose pages can be put out of the page cache.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
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
  void drop(off_t from, off_t size) { posix_fadvise(fd_, from, size, POSIX_FADV_DONTNEED); }
  // No read-ahead: what is dropped stays so until it is read.
  void no_read_ahead(int fd) { posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); }
  int fd() const { return fd_; }
  const char* path() const { return path_.c_str(); }

 private:
  int fd_;
  std::string path_;
};

inline bool holds(const void* data, size_t size, uint64_t first_byte) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) {
    uint64_t at = first_byte + i;
    uint64_t word = at / 8;
    if (p[i] != reinterpret_cast<const unsigned char*>(&word)[at % 8]) return false;
  }
  return true;
}

}  // namespace wisp::test
