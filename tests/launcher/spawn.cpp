// Implementation of spawn.h.
#include "launcher/spawn.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace fs = std::filesystem;

namespace wisp_test {

const std::string kWisp = WISP_TREE "/bin/wisp";
const std::string kLibrary = WISP_TREE "/lib/libwisp.so";
const std::string kClasses = WISP_TREE "/classes";

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment(const Spawn& request) {
  std::map<std::string, std::string> all = request.env;
  for (const char* name : {"PATH", "HOME"}) {
    if (const char* value = getenv(name)) all.emplace(name, value);
  }
  std::vector<std::string> result;
  for (const auto& [name, value] : all) result.push_back(name + "=" + value);
  return result;
}

void child(const Spawn& request, int in, int out, int err, char** argv, char** envp) {
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  if (!request.directory.empty() && chdir(request.directory.c_str()) != 0) _exit(126);
  if (request.before_exec && !request.before_exec()) _exit(125);
  execve(argv[0], argv, envp);
  _exit(127);
}

}  // namespace

Result spawn(const Spawn& request) {
  std::vector<std::string> args = request.args;
  std::vector<std::string> env = environment(request);
  std::vector<char*> argv = pointers(args);
  std::vector<char*> envp = pointers(env);
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)
    abort();
  Result result;
  signal(SIGPIPE, SIG_IGN);
  result.pid = fork();
  if (result.pid == 0) {
    signal(SIGPIPE, SIG_DFL);
    child(request, in[0], out[1], err[1], argv.data(), envp.data());
  }
  close(in[0]);
  close(out[1]);
  close(err[1]);
  // Test inputs fit into the pipe.
  ssize_t ignored = write(in[1], request.input.data(), request.input.size());
  (void)ignored;
  close(in[1]);
  bool told = false;
  pollfd polls[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&result.out, &result.err};
  for (int open = 2; open > 0;) {
    if (poll(polls, 2, 180000) <= 0) {
      kill(result.pid, SIGKILL);
      break;
    }
    for (int i = 0; i < 2; i++) {
      if (polls[i].revents == 0) continue;
      char buffer[4096];
      ssize_t got = read(polls[i].fd, buffer, sizeof buffer);
      if (got > 0) {
        texts[i]->append(buffer, static_cast<size_t>(got));
      } else {
        polls[i].fd = -1;
        open--;
      }
    }
    if (!told && !result.out.empty() && request.when_output) {
      told = true;
      request.when_output(result.pid, result.out);
    }
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  waitpid(result.pid, &status, 0);
  if (WIFEXITED(status)) result.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

bool without_rights() {
  if (geteuid() != 0) return true;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  // Or executing a program gives them back.
  return prctl(PR_SET_SECUREBITS, SECBIT_NOROOT, 0, 0, 0) == 0 &&
         syscall(SYS_capset, &header, none) == 0;
}

std::vector<std::string> jdks() {
  std::vector<std::string> found;
  auto add = [&](const fs::path& home) {
    std::error_code error;
    if (fs::is_symlink(home, error) || !fs::exists(home / "bin/java", error)) return;
    std::string name = home.string();
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  };
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/usr/lib/jvm", error)) add(entry.path());
  const char* extra = getenv("WISP_JDKS");
  for (const char* at = extra; at != nullptr && *at != '\0';) {
    const char* end = strchrnul(at, ':');
    fs::path folder(std::string(at, end));
    add(folder);
    for (const auto& entry : fs::directory_iterator(folder, error)) add(entry.path());
    at = *end == '\0' ? end : end + 1;
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string jdk_label(const std::string& home) {
  std::string label = home.substr(home.rfind('/') + 1);
  for (char& c : label) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return label;
}

bool is_java8(const std::string& home) {
  return fs::exists(home + "/lib/rt.jar") || fs::exists(home + "/jre/lib/rt.jar");
}

Spawn wisp_java(const std::string& jdk, const std::vector<std::string>& options,
                const std::vector<std::string>& program) {
  Spawn request;
  request.args = {kWisp, "java", "--jdk", jdk};
  request.args.insert(request.args.end(), options.begin(), options.end());
  request.args.insert(request.args.end(), {"-cp", kClasses, "Probe"});
  request.args.insert(request.args.end(), program.begin(), program.end());
  return request;
}

bool converted(const Result& result) { return contains(result.err, "stub: "); }

namespace {

// A folder that is removed at exit of the process that made it, not of one forked from it.
class ScratchFolder {
 public:
  ScratchFolder() {
    if (mkdtemp(name_) == nullptr) abort();
  }
  ~ScratchFolder() {
    std::error_code error;
    if (getpid() == maker_) fs::remove_all(name_, error);
  }
  const char* name() const { return name_; }

 private:
  char name_[32] = "/tmp/wisp-launcher-test-XXXXXX";
  const pid_t maker_ = getpid();
};

}  // namespace

std::string scratch() {
  static const ScratchFolder folder;
  return folder.name();
}

std::string write_file(const std::string& name, const std::string& text) {
  std::string path = scratch() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
  return n;
}

std::string value_of(const std::string& text, const std::string& name) {
  std::string all = "\n" + text;
  size_t at = all.find("\n" + name + "=");
  if (at == std::string::npos) return "";
  at += name.size() + 2;
  return all.substr(at, all.find('\n', at) - at);
}

}  // namespace wisp_test
