// Implementation of jdk.h.
#include "jdk.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "elf_image.h"

namespace fs = std::filesystem;

namespace wisp {
namespace {

constexpr int kOldestGlibc = 228;

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string canonical(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  if (real == nullptr) return {};
  std::string result = real;
  free(real);
  return result;
}

std::string find_libjvm(const std::string& home) {
#if defined(__x86_64__)
  const char* const arch = "amd64";
#else
  const char* const arch = "aarch64";
#endif
  for (std::string lib :
       {std::string("/lib"), fmt::format("/lib/{}", arch), fmt::format("/jre/lib/{}", arch)}) {
    for (const char* variant : {"server", "client", "minimal"}) {
      std::string path = fmt::format("{}{}/{}/libjvm.so", home, lib, variant);
      if (is_file(path)) return path;
    }
  }
  return {};
}

// KEY="value" lines of the `release` file.
std::string release_value(const std::string& home, std::string_view key) {
  std::ifstream release(home + "/release");
  for (std::string line; std::getline(release, line);) {
    if (line.size() > key.size() && line.compare(0, key.size(), key) == 0 &&
        line[key.size()] == '=') {
      std::string value = line.substr(key.size() + 1);
      std::erase(value, '"');
      return value;
    }
  }
  return {};
}

bool is_openj9(const Jdk& jdk) {
  return release_value(jdk.home, "JVM_VARIANT") == "Openj9" ||
         is_file(jdk.home + "/lib/default/libjclse29.so") ||
         access((jdk.home + "/lib/j9vm").c_str(), F_OK) == 0;
}

// What gives a program more rights than who starts it has, as the kernel sees it (execve(2)): then
// ld.so takes no library into it by its path, and says nothing (ld.so(8)). Null: nothing does.
const char* more_rights(const std::string& program) {
  struct stat status;
  struct statvfs mount;
  if (stat(program.c_str(), &status) != 0 || statvfs(program.c_str(), &mount) != 0) return nullptr;
  if ((mount.f_flag & ST_NOSUID) != 0) return nullptr;
  bool ids = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
  bool user = (status.st_mode & S_ISUID) != 0;
  bool group = (status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0;
  if (ids && user && status.st_uid != getuid()) return "set-user-ID";
  if (ids && group && status.st_gid != getgid()) return "set-group-ID";
  bool capable = getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
  return capable && getuid() != 0 ? "a program with capabilities" : nullptr;
}

}  // namespace

std::optional<Jdk> jdk_at(const std::string& home) {
  Jdk jdk;
  jdk.home = canonical(home);
  if (jdk.home.empty()) return std::nullopt;
  jdk.java = jdk.home + "/bin/java";
  if (!is_file(jdk.java)) return std::nullopt;
  if (auto note = read_home_note(jdk.home)) {
    // A home that we made: its bin/java is this command, the stock launcher lies beside it.
    jdk.java = fmt::format("{}/{}", jdk.home, kStockJava);
    bool usable = !home_is_stale(*note) && is_file(jdk.java);
    if (!usable && !read_home_note(note->source)) return jdk_at(note->source);
  }
  jdk.libjvm = find_libjvm(jdk.home);
  jdk.java8 = is_file(jdk.home + "/lib/rt.jar") || is_file(jdk.home + "/jre/lib/rt.jar");
  jdk.version = release_value(jdk.home, "JAVA_VERSION");
  if (jdk.version.empty()) jdk.version = std::string(jdk.java8 ? "8" : "?");
  jdk.vendor = release_value(jdk.home, "IMPLEMENTOR");
  return jdk;
}

std::optional<Jdk> jdk_of_command(const std::string& java) {
  std::string real = canonical(java);
  size_t bin = real.rfind("/bin/");
  if (bin == std::string::npos || real.find('/', bin + 5) != std::string::npos) {
    return std::nullopt;
  }
  return jdk_at(real.substr(0, bin));
}

std::optional<std::string> find_on_path(const char* command) {
  const char* path = getenv("PATH");
  for (const char* at = path; at != nullptr;) {
    const char* end = strchrnul(at, ':');
    std::string directory(at, end);
    std::string candidate = (directory.empty() ? "." : directory) + "/" + command;
    if (is_file(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
    at = *end == '\0' ? nullptr : end + 1;
  }
  return std::nullopt;
}

std::vector<Jdk> jdks_on_this_machine() {
  std::vector<Jdk> found;
  auto add = [&](std::optional<Jdk> jdk) {
    if (!jdk) return;
    for (const Jdk& known : found) {
      if (known.home == jdk->home) return;
    }
    found.push_back(*jdk);
  };
  auto add_children = [&](const std::string& directory) {
    std::vector<std::string> children;
    std::error_code ignored;
    for (fs::directory_iterator entry(directory, ignored), end; entry != end;
         entry.increment(ignored)) {
      children.push_back(entry->path().string());
    }
    std::sort(children.begin(), children.end());
    for (const std::string& child : children) add(jdk_at(child));
  };
  if (const char* home = getenv("JAVA_HOME")) add(jdk_at(home));
  if (auto java = find_on_path("java")) add(jdk_of_command(*java));
  if (const char* extra = getenv("WISP_JDKS")) {
    for (const char* at = extra; at != nullptr;) {
      const char* end = strchrnul(at, ':');
      std::string directory(at, end);
      if (!directory.empty()) {
        add(jdk_at(directory));
        add_children(directory);
      }
      at = *end == '\0' ? nullptr : end + 1;
    }
  }
  for (const char* place :
       {"/usr/lib/jvm", "/usr/java", "/usr/local/java", "/opt/java", "/opt/jdk"}) {
    add(jdk_at(place));
    add_children(place);
  }
  if (const char* home = getenv("HOME")) {
    for (const char* place : {"/.sdkman/candidates/java", "/.jdks"})
      add_children(std::string(home) + place);
  }
  return found;
}

int glibc_version(const std::string& interpreter) {
  // The C library lies beside its dynamic linker, whatever the distribution calls the folder.
  std::string real = canonical(interpreter);
  if (real.empty()) return 0;
  for (const std::string& folder :
       {fs::path(real).parent_path().string(), fs::path(interpreter).parent_path().string()}) {
    int version = ElfImage(folder + "/libc.so.6").newest_glibc();
    if (version != 0) return version;
  }
  return 0;
}

std::optional<Obstacle> obstacle(const Jdk& jdk) {
  ElfImage java(jdk.java);
  if (!java.valid()) {
    return Obstacle{fmt::format("{} is not a 64-bit ELF program (a wrapper script?)", jdk.java),
                    "name the JDK itself with --jdk or JAVA_HOME"};
  }
  if (java.machine() != native_machine()) {
    return Obstacle{fmt::format("{} is built for {}, this wisp for {}", jdk.java,
                                machine_name(java.machine()), machine_name(native_machine())),
                    "use a JDK and a wisp for the same machine"};
  }
  std::string interpreter = java.interpreter();
  if (interpreter.empty()) {
    return Obstacle{fmt::format("{} is statically linked: nothing can be preloaded", jdk.java),
                    "use a JDK built for glibc"};
  }
  if (const char* what = more_rights(jdk.java)) {
    return Obstacle{fmt::format("{} is {}: nothing can be preloaded", jdk.java, what),
                    "give the rights to the process instead, as by systemd's AmbientCapabilities= "
                    "or setpriv --ambient-caps"};
  }
  if (interpreter.find("musl") != std::string::npos) {
    return Obstacle{fmt::format("{} is built for musl ({})", jdk.java, interpreter),
                    "use a JDK built for glibc, on a glibc system"};
  }
  int glibc = glibc_version(interpreter);
  if (glibc != 0 && glibc < kOldestGlibc) {
    return Obstacle{fmt::format("C library 2.{} is older than 2.28", glibc - 200),
                    "use a system with glibc 2.28 or newer (RHEL 8, Debian 10, Ubuntu "
                    "20.04)"};
  }
  if (is_openj9(jdk)) {
    return Obstacle{fmt::format("{} is OpenJ9; Wisp converts HotSpot's threads", jdk.home),
                    "use a HotSpot JDK (Temurin, Corretto, Zulu, Liberica, a "
                    "distribution's)"};
  }
  if (jdk.libjvm.empty()) {
    return Obstacle{fmt::format("no libjvm.so under {}/lib", jdk.home),
                    "name a HotSpot JDK with --jdk or JAVA_HOME"};
  }
  if (!ElfImage(jdk.libjvm).exports("JVM_StartThread")) {
    return Obstacle{fmt::format("{} does not export JVM_StartThread", jdk.libjvm),
                    "use a HotSpot JDK, 8 to 25"};
  }
  return std::nullopt;
}

std::string own_library() {
  std::string self = canonical("/proc/self/exe");
  std::string root = fs::path(self).parent_path().parent_path().string();
  for (const char* place : {"/lib/libwisp.so", "/lib/wisp/libwisp.so"}) {
    if (is_file(root + place)) return root + place;
  }
  return root + "/lib/libwisp.so";
}

std::optional<Obstacle> library_obstacle(const std::string& path) {
  const char* cure = "install wisp again, with bin/ and lib/ side by side";
  if (!is_file(path)) return Obstacle{fmt::format("{} is missing", path), cure};
  ElfImage library(path);
  if (!library.valid() || library.machine() != native_machine()) {
    return Obstacle{fmt::format("{} is not a library for {}", path, machine_name(native_machine())),
                    cure};
  }
  if (access(path.c_str(), R_OK) != 0) {
    return Obstacle{fmt::format("{} cannot be read", path), "make it readable"};
  }
  // LD_PRELOAD separates its entries by both and knows no quoting.
  if (path.find_first_of(" :") != std::string::npos) {
    return Obstacle{fmt::format("the path '{}' holds a blank or a colon, which "
                                "LD_PRELOAD cannot name",
                                path),
                    "install wisp under a path without them"};
  }
  return std::nullopt;
}

std::string file_stamp(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "missing";
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::optional<HomeNote> read_home_note(const std::string& home) {
  std::ifstream file(home + "/" + kHomeNote);
  if (!file) return std::nullopt;
  HomeNote note;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("jdk=")) note.source = line.substr(4);
    if (line.starts_with("library=")) note.library = line.substr(8);
    if (line.starts_with("libjvm=")) note.stamp = line.substr(7);
  }
  if (note.source.empty()) return std::nullopt;
  return note;
}

bool home_is_stale(const HomeNote& note) {
  return file_stamp(find_libjvm(note.source)) != note.stamp;
}

}  // namespace wisp
