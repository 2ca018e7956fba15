// wisp top in a terminal of tmux, with a real JVM; the JDKs are chosen in observe_test.cpp.
#include "unit/observed_jvm.h"

using namespace wisp_test;

namespace {

// A terminal of 100 columns, with what it shows.
class Tmux {
 public:
  Tmux() : socket_("wisp-observe-" + std::to_string(getpid())) {}
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  ~Tmux() { (*this)({"kill-server"}); }
  static bool missing() { return access("/usr/bin/tmux", X_OK) != 0; }

  Result operator()(const std::vector<std::string>& args) const {
    std::vector<std::string> all = {"/usr/bin/tmux", "-L", socket_};
    all.insert(all.end(), args.begin(), args.end());
    return spawn({.args = all, .env = {{"TERM", "xterm"}, {"LANG", "C.UTF-8"}}});
  }
  void start(const std::string& command) const {
    Result start = (*this)({"new-session", "-d", "-x", "100", "-y", "30", command});
    ASSERT_EQ(start.exit, 0) << start.all();
  }
  std::string screen() const { return (*this)({"capture-pane", "-p"}).out; }
  // `gone`: a word that is not on it any more. (It may be seen half drawn.)
  void screen_with(const std::string& pattern, const std::string& gone = {}) const {
    std::string text;
    for (int i = 0; i < 600; i++) {
      text = screen();
      if (matches(text, pattern) && (gone.empty() || !contains(text, gone))) return;
      usleep(100'000);
    }
    ADD_FAILURE() << "no '" << pattern << "' or still '" << gone << "' in\n" << text;
  }

 private:
  std::string socket_;
};

TEST_P(Observe, Top) {
  if (Tmux::missing()) GTEST_SKIP() << "no tmux";
  Jvm jvm(GetParam());
  Tmux tmux;
  tmux.start(kCommand + " top " + jvm.pid() + " --interval 0.3; sleep 600");
  tmux.screen_with("wisp top: JVM " + jvm.pid());
  tmux.screen_with("\n +0 \\[[| ]+\\] +\\d+%  queue");
  tmux.screen_with("per second: [1-9]\\d* switches");
  tmux.screen_with("by processor time");
  tmux({"send-keys", "n"});
  tmux.screen_with("by name");
  tmux({"send-keys", "w"});
  tmux.screen_with("by longest in its state");
  tmux({"send-keys", "/", "block", "Enter"});
  tmux.screen_with("1 of \\d+ tasks with 'block'", "waiter");
  tmux({"send-keys", "h"});
  tmux.screen_with("longest in its state   r times run");
  tmux({"send-keys", "h", "Escape"});
  tmux({"resize-window", "-x", "20", "-y", "7"});
  tmux.screen_with("^wisp top: JVM .*\ntasks \\d+.*\nper second.*~\n");
  tmux({"resize-window", "-x", "100", "-y", "30"});
  tmux.screen_with("by longest in its state");
  tmux({"send-keys", "q"});
  tmux.screen_with("", "by longest");  // the screen is given back
}

// By the signals that the keys send, too.
TEST_P(Observe, TopGivesTheTerminalBack) {
  if (Tmux::missing()) GTEST_SKIP() << "no tmux";
  Jvm jvm(GetParam());
  Tmux tmux;
  tmux.start("/bin/bash --norc");
  const std::string command = kCommand + " top " + jvm.pid() + " --interval 0.3";
  const std::string top = "wisp top: JVM " + jvm.pid();
  // What is typed is not the answer.
  auto expect_shell = [&] {
    tmux({"send-keys", "stty -a | grep -c ' icanon' | sed s/^/lines/", "Enter"});
    tmux.screen_with("\nlines1\n", top);
    tmux({"send-keys", "clear", "Enter"});
    tmux.screen_with("", "lines");
  };
  tmux({"send-keys", command, "Enter"});
  tmux.screen_with(top);
  tmux({"send-keys", "C-z"});
  tmux.screen_with("Stopped", top);
  expect_shell();
  tmux({"send-keys", "fg", "Enter"});
  tmux.screen_with(top);
  tmux({"send-keys", "n"});
  tmux.screen_with("by name");
  tmux({"send-keys", "C-\\"});
  tmux.screen_with("", top);
  expect_shell();
}

}  // namespace
