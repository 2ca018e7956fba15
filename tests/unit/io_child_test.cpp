// Waiting for children on a pidfd: the kernel's answers, no kernel thread per wait.
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>

#include <thread>
#include <utility>

#include "io/child_wait.h"
#include "scheduler/poller.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

// A child that ends with `code` when told to.
struct Child {
  int gate[2];
  pid_t pid;
  explicit Child(int code = 0) {
    ::signal(SIGPIPE, SIG_IGN);  // told to end after it was killed
    if (::pipe2(gate, O_CLOEXEC) != 0) abort();
    pid = ::fork();
    if (pid == 0) {
      char c;
      ::close(gate[1]);
      while (::read(gate[0], &c, 1) < 0) {
      }
      ::_exit(code);
    }
    ::close(gate[0]);
  }
  void end() {
    // Not by closing alone: children forked meanwhile have the same end.
    if (gate[1] < 0) return;
    if (::write(gate[1], "", 1) != 1 && errno != EPIPE) abort();
    ::close(std::exchange(gate[1], -1));
  }
  Child(Child&& other) : pid(other.pid) {
    gate[0] = other.gate[0];
    gate[1] = std::exchange(other.gate[1], -1);
  }
  ~Child() { end(); }
};

long wait_pid(pid_t pid, siginfo_t* info, int options = WEXITED) {
  return io::wait_for_child(P_PID, static_cast<id_t>(pid), info, options, nullptr);
}

// How many kernel threads of this process sit in the kernel waiting for a child.
int threads_in_wait() {
  int n = 0;
  DIR* d = ::opendir("/proc/self/task");
  while (dirent* e = ::readdir(d)) {
    std::string path = std::string("/proc/self/task/") + e->d_name + "/syscall";
    FILE* f = ::fopen(path.c_str(), "r");
    if (f == nullptr) continue;
    long number = -1;
    if (::fscanf(f, "%ld", &number) == 1) n += number == SYS_waitid || number == SYS_wait4;
    ::fclose(f);
  }
  ::closedir(d);
  return n;
}

int open_pidfds() {
  int n = 0;
  DIR* d = ::opendir("/proc/self/fd");
  while (dirent* e = ::readdir(d)) {
    char name[64] = "";
    if (::readlinkat(::dirfd(d), e->d_name, name, sizeof name - 1) > 0)
      n += strstr(name, "pidfd") != nullptr;
  }
  ::closedir(d);
  return n;
}

int open_descriptors() {
  int n = 0;
  for (int fd = 0; fd < 4096; ++fd) n += ::fcntl(fd, F_GETFD) >= 0;
  return n;
}

TEST(IoChild, FiftyWaitsTakeNoKernelThreads) {
  constexpr int kChildren = 50;
  std::vector<Child> children;
  children.reserve(kChildren);
  for (int i = 0; i < kChildren; ++i) children.emplace_back(i);
  Child first;  // the pump starts, and the kernel makes the descriptor table larger, which waits
  first.end();
  run_tasks({[&] { EXPECT_EQ(wait_pid(first.pid, nullptr), 0); }});
  std::atomic<int> waiting{0};
  std::vector<std::function<void()>> bodies;
  for (auto& child : children)
    bodies.push_back([&] {
      ++waiting;
      siginfo_t info{};
      EXPECT_EQ(wait_pid(child.pid, &info, WEXITED | WNOWAIT), 0);
      EXPECT_EQ(info.si_pid, child.pid);
      EXPECT_EQ(wait_pid(child.pid, &info), 0);
      EXPECT_EQ(info.si_code, CLD_EXITED);
      EXPECT_EQ(info.si_status, &child - children.data());
      EXPECT_EQ(wait_pid(child.pid, &info), -ECHILD);
    });
  int most = -1, strangers = -1;
  std::thread ends([&] {
    while (waiting.load() != kChildren) usleep(1000);
    usleep(150'000);  // over the first look of its own
    most = threads_in_wait();
    std::thread stranger([&] { ::waitid(P_PID, children[0].pid, nullptr, WEXITED | WNOWAIT); });
    for (int i = 0; i < 60000 && strangers != 1; ++i, usleep(1000)) strangers = threads_in_wait();
    for (auto& child : children) child.end();
    stranger.join();
  });
  run_tasks(std::move(bodies));
  ends.join();
  EXPECT_EQ(most, 0);
  EXPECT_EQ(strangers, 1);  // so the count counts
}

TEST(IoChild, KilledAndUsage) {
  Child child;
  run_tasks({[&] {
               siginfo_t info{};
               rusage usage{};
               usage.ru_maxrss = -1;
               EXPECT_EQ(
                   io::wait_for_child(P_PID, static_cast<id_t>(child.pid), &info, WEXITED, &usage),
                   0);
               EXPECT_EQ(info.si_code, CLD_KILLED);
               EXPECT_EQ(info.si_status, SIGKILL);
               EXPECT_GT(usage.ru_maxrss, 0);
             },
             [&] { ::kill(child.pid, SIGKILL); }});
}

TEST(IoChild, NoChildOfOurs) {
  run_tasks({[] {
    EXPECT_EQ(wait_pid(1, nullptr), -ECHILD);
    EXPECT_EQ(wait_pid(::getpid(), nullptr), -ECHILD);
    EXPECT_EQ(io::wait_for_child(P_ALL, 0, nullptr, WEXITED, nullptr), io::kNoPidfd);
    EXPECT_EQ(io::wait_for_child(P_PGID, 0, nullptr, WEXITED, nullptr), io::kNoPidfd);
  }});
}

// Of several waits for one child exactly one gets it, the others learn that it is gone.
TEST(IoChild, SeveralWaitsForOneChild) {
  for (int round = 0; round < 30; ++round) {
    Child child(3);
    std::atomic<int> got{0}, none{0}, waiting{0};
    std::vector<std::function<void()>> bodies;
    for (int i = 0; i < 4; ++i)
      bodies.push_back([&] {
        ++waiting;
        siginfo_t info{};
        long r = wait_pid(child.pid, &info);
        if (r == 0) ++got;
        if (r == -ECHILD) ++none;
      });
    bodies.push_back([&] {
      if (round % 2 == 0) {
        usleep(2000);
      }
      child.end();
    });
    run_tasks(std::move(bodies));
    EXPECT_EQ(got.load(), 1);
    EXPECT_EQ(none.load(), 3);
  }
}

// A kernel thread waits in the kernel for the same child.
TEST(IoChild, WaitsBesideAStranger) {
  for (int round = 0; round < 30; ++round) {
    Child child;
    std::atomic<int> got{0}, none{0};
    auto note = [&](long r) { ++(r == -ECHILD ? none : got); };
    std::thread stranger([&] { note(::waitpid(child.pid, nullptr, 0) < 0 ? -errno : 0); });
    run_tasks({[&] { note(wait_pid(child.pid, nullptr)); },
               [&] {
                 usleep(2000);
                 child.end();
               }});
    stranger.join();
    EXPECT_EQ(got.load(), 1);
    EXPECT_EQ(none.load(), 1);
  }
}

TEST(IoChild, ReapedByNobody) {
  auto* before = ::signal(SIGCHLD, SIG_IGN);
  Child child;
  run_tasks({[&] { EXPECT_EQ(wait_pid(child.pid, nullptr), -ECHILD); },
             [&] {
               usleep(30'000);
               child.end();
             }});
  ::signal(SIGCHLD, before);
}

TEST(IoChild, TheProgramsPidfd) {
  Child child(5), other;
  int fd = static_cast<int>(kernel::call(434 /* pidfd_open */, child.pid, 0));
  int nonblocking = static_cast<int>(kernel::call(434, other.pid, O_NONBLOCK));
  ASSERT_GE(fd, 0);
  int before = open_pidfds();
  run_tasks({[&] {
               siginfo_t info{};
               EXPECT_EQ(io::wait_for_child(static_cast<idtype_t>(3), static_cast<id_t>(fd), &info,
                                            WEXITED, nullptr),
                         0);
               EXPECT_EQ(info.si_pid, child.pid);
               EXPECT_EQ(info.si_status, 5);
               // Does not wait, and so is the caller's own business.
               EXPECT_EQ(
                   io::wait_for_child(static_cast<idtype_t>(3), static_cast<id_t>(nonblocking),
                                      &info, WEXITED, nullptr),
                   io::kNoPidfd);
             },
             [&] {
               while (open_pidfds() == before) usleep(1000);
               ::close(fd);  // the wait holds the file, not the number
               child.end();
             }});
  ::close(nonblocking);
  other.end();
  ::waitpid(other.pid, nullptr, 0);
}

// A traced child's stop is nothing that a pidfd shows.
TEST(IoChild, StopOfATracedChild) {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::usleep(80'000);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  pid_t by_wait = 0;
  run_tasks({[&] {
    siginfo_t info{};
    EXPECT_EQ(wait_pid(pid, &info), 0);
    EXPECT_EQ(info.si_code, CLD_TRAPPED);
    by_wait = info.si_pid;
  }});
  EXPECT_EQ(by_wait, pid);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, __WALL);
}

TEST(IoChild, LeavesNoDescriptorsBehind) {
  // A wait that parks, so that the event pump has its own descriptors before they are counted.
  run_tasks({[] {
    Child child;
    std::thread later([&] {
      while (g_poller.load() == nullptr) usleep(1000);
      child.end();
    });
    EXPECT_EQ(wait_pid(child.pid, nullptr), 0);
    later.join();
  }});
  int before = open_descriptors();
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < 20; ++i)
    bodies.push_back([] {
      Child child;
      child.end();
      EXPECT_EQ(wait_pid(child.pid, nullptr), 0);
    });
  run_tasks(std::move(bodies));
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace wisp::test
