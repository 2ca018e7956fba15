// attach.h against a process that takes its time, as a JVM does whose signal dispatcher waits for
// the end of a safepoint: the file that says what the signal is for must still be there.
#include "attach.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

using namespace wisp;

namespace {

int g_says = -1;
volatile sig_atomic_t g_signals = 0;

// Says 's' for each SIGQUIT; `delay_ms` after the first one 'y' if the file is there, else 'n'; and
// listens, as the JVM does then.
class SlowJvm {
 public:
  explicit SlowJvm(int delay_ms) {
    EXPECT_NE(mkdtemp(folder_), nullptr);
    int says[2];
    EXPECT_EQ(pipe(says), 0);
    pid_ = fork();
    if (pid_ == 0) {
      g_says = says[1];
      be_slow(delay_ms);
    }
    close(says[1]);
    says_ = says[0];
    EXPECT_EQ(said(10'000), "r");
  }
  SlowJvm(const SlowJvm&) = delete;
  SlowJvm& operator=(const SlowJvm&) = delete;
  ~SlowJvm() {
    end();
    close(says_);
    unlink(("/tmp/.java_pid" + std::to_string(pid_)).c_str());
    EXPECT_TRUE(no_file_soon());
    rmdir(folder_);
  }
  int pid() const { return pid_; }
  void end() {
    kill(pid_, SIGKILL);
    if (!ended_) waitpid(pid_, nullptr, 0);
    ended_ = true;
  }
  bool file() const { return access((folder_ + trigger(pid_)).c_str(), F_OK) == 0; }
  // The next thing it says, if in this time.
  std::string said(int ms) const {
    pollfd input{says_, POLLIN, 0};
    char c = 0;
    return poll(&input, 1, ms) > 0 && read(says_, &c, 1) == 1 ? std::string(1, c) : "";
  }
  bool no_file_soon() const {
    for (int i = 0; i < 200 && file(); i++) usleep(50'000);
    return !file();
  }

 private:
  static std::string trigger(int pid) { return "/.attach_pid" + std::to_string(pid); }
  static void say(char c) {
    if (write(g_says, &c, 1) != 1) _exit(1);
  }
  [[noreturn]] void be_slow(int delay_ms) const {
    signal(SIGQUIT, [](int) {
      g_signals = 1;
      say('s');
    });
    if (chdir(folder_) != 0) _exit(1);
    alarm(60);
    say('r');
    while (g_signals == 0) usleep(10'000);
    usleep(static_cast<useconds_t>(delay_ms) * 1000);
    say(access(trigger(getpid()).c_str() + 1, F_OK) == 0 ? 'y' : 'n');
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/.java_pid%d", getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) _exit(1);
    listen(fd, 5);
    for (;;) pause();
  }

  char folder_[32] = "/tmp/wisp-attach-test-XXXXXX";
  int pid_;
  int says_;
  bool ended_ = false;
};

TEST(Attach, NoTimeNoSignal) {
  SlowJvm jvm(0);
  AttachAnswer answer = attach_thread_dump(Process(jvm.pid()), 0);
  EXPECT_FALSE(answer.ok);
  EXPECT_EQ(answer.text, "the JVM was not asked: there was no time");
  EXPECT_EQ(jvm.said(300), "");
  EXPECT_FALSE(jvm.file());
}

TEST(Attach, ALateJvmStillFindsTheFile) {
  SlowJvm jvm(1000);
  Process process(jvm.pid());
  EXPECT_FALSE(attach_thread_dump(process, 100).ok);
  EXPECT_EQ(jvm.said(10'000), "s");
  // Asked once more, it would take the second signal for a wish to print.
  EXPECT_FALSE(attach_thread_dump(process, 100).ok);
  EXPECT_EQ(jvm.said(10'000), "y");
  EXPECT_TRUE(jvm.no_file_soon());
  EXPECT_EQ(jvm.said(0), "");
}

TEST(Attach, NoFileIsLeftWhenTheJvmEnds) {
  SlowJvm jvm(60'000);
  EXPECT_FALSE(attach_thread_dump(Process(jvm.pid()), 100).ok);
  EXPECT_EQ(jvm.said(10'000), "s");
  EXPECT_TRUE(jvm.file());
  jvm.end();
  EXPECT_TRUE(jvm.no_file_soon());
}

// Who reads what the command prints sees its end.
TEST(Attach, WhatWaitsForTheJvmHoldsNothingOpen) {
  SlowJvm jvm(3'000);
  int ours[2];
  ASSERT_EQ(pipe(ours), 0);
  EXPECT_FALSE(attach_thread_dump(Process(jvm.pid()), 100).ok);
  close(ours[1]);
  pollfd input{ours[0], POLLIN, 0};
  EXPECT_EQ(poll(&input, 1, 2'000), 1) << "the end of the file";
  EXPECT_TRUE(jvm.file());
  close(ours[0]);
}

}  // namespace
