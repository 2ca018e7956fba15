// A JVM under Wisp for a test to look at, with the command and the library of this build.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <regex>
#include <string>
#include <vector>

namespace wisp_test {

inline const std::string kCommand = WISP_TREE "/bin/wisp";

inline bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

// Runs a class that prints "ready" and ends when its stdin does; killed with this object.
class ConvertedJvm {
 public:
  // `program`: what comes behind the options. `errors`: a file for its stderr.
  ConvertedJvm(const std::string& home, const std::vector<std::string>& options,
               const std::vector<std::string>& program, const std::string& errors = {}) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in) | pipe(out), 0);
    pid_ = fork();
    EXPECT_GE(pid_, 0);
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      if (!errors.empty()) dup2(open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      setenv("WISP_OPTIONS", "carriers=2", 1);
      std::vector<std::string> args = {kCommand, "java", "--jdk", home, "-XX:+UseWisp2", "-Xmx64m"};
      args.insert(args.end(), options.begin(), options.end());
      args.insert(args.end(), program.begin(), program.end());
      std::vector<char*> argv;
      for (std::string& a : args) argv.push_back(a.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
    char c;
    while (said_.find("ready\n") == std::string::npos && read(output_, &c, 1) == 1) said_ += c;
    EXPECT_NE(said_.find("ready\n"), std::string::npos) << said_;
  }
  ConvertedJvm(const ConvertedJvm&) = delete;
  ConvertedJvm& operator=(const ConvertedJvm&) = delete;
  ~ConvertedJvm() {
    if (input_ >= 0) close(input_);
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(output_);
  }
  // What it had printed when it was ready.
  const std::string& said() const { return said_; }
  std::string pid() const { return std::to_string(pid_); }
  // Its stdin ends; waits for it and returns its exit code, -1 for a signal.
  int finish() {
    close(input_);
    input_ = -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void signal(int number) const {
    if (pid_ > 0) kill(pid_, number);
  }

 private:
  pid_t pid_;
  int input_, output_;
  std::string said_;
};

}  // namespace wisp_test
