// The reader of the statistics page and processes that only look like one of ours: foreign memfds,
// pages that are torn or never answered, processes that end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "statistics.h"

namespace {

using namespace wisp;

// A child with a memfd of the page's name and what `fill` writes in it; gone at the end.
class Impostor {
 public:
  template <typename F>
  Impostor(size_t size, unsigned seals, F&& fill) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ == 0) {
      int fd = static_cast<int>(syscall(SYS_memfd_create, stats::kMemfdName, MFD_ALLOW_SEALING));
      if (ftruncate(fd, static_cast<off_t>(size)) != 0) _exit(1);
      if (size > 0) {
        void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) fill(static_cast<stats::PageHeader*>(p));
      }
      if (seals != 0) fcntl(fd, F_ADD_SEALS, seals);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char c;
    EXPECT_EQ(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Impostor() { end(); }
  void end() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
  }
  int pid() const { return pid_; }

 private:
  pid_t pid_;
};

void plausible(stats::PageHeader* h) {
  h->magic = stats::kMagic;
  h->version = stats::kVersion;
  h->pid = getpid();
}

TEST(ObserveReader, ForeignMemfdsAreRefused) {
  PageError error;
  Impostor empty(0, F_SEAL_SHRINK, [](stats::PageHeader*) {});
  EXPECT_EQ(StatisticsPage::open(empty.pid(), &error), nullptr);
  Impostor unsealed(8192, 0, plausible);  // it could be pulled away from under a mapping
  EXPECT_EQ(StatisticsPage::open(unsealed.pid(), &error), nullptr);
  EXPECT_NE(error.text.find("damaged"), std::string::npos);
  Impostor zero(8192, F_SEAL_SHRINK, [](stats::PageHeader*) {});
  EXPECT_EQ(StatisticsPage::open(zero.pid(), &error), nullptr);
  Impostor newer(8192, F_SEAL_SHRINK, [](stats::PageHeader* h) {
    plausible(h);
    h->version = 99;
  });
  EXPECT_EQ(StatisticsPage::open(newer.pid(), &error), nullptr);
  EXPECT_NE(error.text.find("another version"), std::string::npos);
  Impostor other(8192, F_SEAL_SHRINK, [](stats::PageHeader* h) {
    plausible(h);
    h->pid = 1;
  });
  EXPECT_EQ(StatisticsPage::open(other.pid(), &error), nullptr);
  EXPECT_NE(error.text.find("child"), std::string::npos);
}

TEST(ObserveReader, SilentTornAndDyingProcesses) {
  PageError error;
  Impostor silent(8192, F_SEAL_SHRINK, plausible);
  auto page = StatisticsPage::open(silent.pid(), &error);
  ASSERT_NE(page, nullptr) << error.text;
  EXPECT_FALSE(page->read(&error, 200));
  EXPECT_NE(error.text.find("does not answer"), std::string::npos);
  silent.end();
  EXPECT_FALSE(page->read(&error, 2000));
  EXPECT_NE(error.text.find("has ended"), std::string::npos);
  page.reset();  // the next children would inherit it

  for (uint64_t size :
       {uint64_t{0}, uint64_t{100}, uint64_t{4096}, ~uint64_t{0}, uint64_t{1} << 29}) {
    page.reset();
    Impostor torn(8192, F_SEAL_SHRINK, [size](stats::PageHeader* h) {
      plausible(h);
      h->served = 1u << 30;  // it "answers" at once
      h->snapshot_size = size;
    });
    page = StatisticsPage::open(torn.pid(), &error);
    ASSERT_NE(page, nullptr) << error.text;
    EXPECT_FALSE(page->read(&error, 200)) << size;
    EXPECT_NE(error.text.find("damaged"), std::string::npos) << error.text;
  }
}

}  // namespace
