// Implementation of jdk_home.h. Nearly all of the home is symbolic links into the JDK. Three files
// are not, because the JDK finds itself by where they really are. bin/java is this command, copied:
// a script that resolves the link to find JAVA_HOME must not end up in wisp's own folder.
// .wisp/bin/java is the stock launcher: it takes its home, .wisp with links to lib and jre, from
// /proc/self/exe, and monitors know a JVM by the name of that file. libjvm.so takes java.home from
// its own resolved path, and programs start ${java.home}/bin/java (Gradle's daemon, Surefire's
// forks). The latter two are hard links where the kernel allows it, else copies; they would not fit
// the rest after an upgrade of the JDK, hence the stamp in the note, which bin/java compares at
// each start.
#include "jdk_home.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "jdk.h"
#include "output.h"
#include "run_java.h"

namespace fs = std::filesystem;

namespace wisp {
namespace {

int failure(int code, const std::string& text) {
  print_error(fmt::format("wisp: {}\n", text));
  return code;
}

// Whether the directory must be a real one: it holds, at some depth, a file that is not linked.
bool has_special_file(const fs::path& directory, int depth) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (name == "libjvm.so" || (name == "java" && directory.filename() == "bin")) return true;
    if (depth > 0 && entry.is_directory() && !entry.is_symlink() &&
        has_special_file(entry.path(), depth - 1)) {
      return true;
    }
  }
  return false;
}

void link_or_copy(const fs::path& from, const fs::path& to) {
  fs::path real = fs::canonical(from);
  std::error_code error;
  fs::create_hard_link(real, to, error);
  if (error) fs::copy_file(real, to);
}

void add_stock_launcher(const fs::path& from, const fs::path& home) {
  fs::path to = home / kStockJava, its_home = to.parent_path().parent_path();
  fs::create_directories(to.parent_path());
  link_or_copy(from, to);
  for (const char* name : {"lib", "jre"}) {
    if (fs::exists(from.parent_path().parent_path() / name)) {
      fs::create_symlink(fs::path("..") / name, its_home / name);
    }
  }
}

void mirror(const fs::path& from, const fs::path& to, const fs::path& self) {
  fs::create_directory(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    std::string name = entry.path().filename().string();
    fs::path target = to / name;
    if (entry.is_directory() && !entry.is_symlink() && has_special_file(entry.path(), 4)) {
      mirror(entry.path(), target, self);
    } else if (name == "libjvm.so") {
      link_or_copy(entry.path(), target);
    } else if (name == "java" && from.filename() == "bin") {
      add_stock_launcher(entry.path(), to.parent_path());
      fs::copy_file(self, target);
    } else if (name != kHomeNote) {
      fs::create_symlink(entry.path(), target);
    }
  }
}

void write_note(const fs::path& home, const HomeNote& note) {
  std::ofstream file(home / kHomeNote);
  file << "# Made by `wisp jdk`; bin/java reads it.\n"
       << "jdk=" << note.source << "\nlibrary=" << note.library << "\nlibjvm=" << note.stamp
       << "\n";
  if (!file.flush())
    throw fs::filesystem_error("cannot write", home / kHomeNote,
                               std::make_error_code(std::errc::io_error));
}

int make(const Jdk& jdk, const fs::path& output) {
  fs::path parent = fs::absolute(output).parent_path();
  // Built aside and renamed, so that nobody ever starts half a home.
  fs::path fresh = parent / fmt::format(".{}.{}", output.filename().string(), getpid());
  fs::create_directories(parent);
  fs::remove_all(fresh);
  mirror(jdk.home, fresh, fs::canonical("/proc/self/exe"));
  std::string library = own_library();
  write_note(fresh, {jdk.home, library, file_stamp(jdk.libjvm)});
  if (fs::exists(fresh / "jre/bin/java")) {
    // JDK 8: its java.home is the JRE inside, and programs start ${java.home}/bin/java.
    write_note(fresh / "jre", {jdk.home + "/jre", library, file_stamp(jdk.libjvm)});
  }
  if (fs::exists(output)) {
    fs::path old = parent / fmt::format(".{}.{}.old", output.filename().string(), getpid());
    fs::rename(output, old);
    fs::rename(fresh, output);
    fs::remove_all(old);
  } else {
    fs::rename(fresh, output);
  }
  return print_output(fs::canonical(output).string() + "\n");
}

// Why the home cannot be made there; empty: it can.
std::string objection(const fs::path& output) {
  std::error_code error;
  fs::file_status status = fs::status(output, error);
  if (status.type() == fs::file_type::not_found || read_home_note(output.string())) return {};
  if (!error && fs::is_directory(status) && fs::is_empty(output, error)) return {};
  return error ? error.message() : "exists and was not made by wisp";
}

// Followed as far as it exists. The JDK's own home is canonical.
bool lies_in(const fs::path& path, const std::string& home) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(path, error);
  return !error && (real.string() + "/").starts_with(home + "/");
}

}  // namespace

int make_jdk_home(const JdkHomeRequest& request) {
  std::optional<Jdk> jdk = jdk_at(request.source);
  if (jdk) {
    if (auto note = read_home_note(jdk->home)) jdk = jdk_at(note->source);
  }
  if (!jdk) {
    return failure(kExitUsage, fmt::format("DIR={}: takes the home directory of a JDK, one with a "
                                           "bin/java in it",
                                           request.source));
  }
  if (jdk->libjvm.empty()) {
    return failure(kExitUsage, fmt::format("DIR={}: no libjvm.so under its lib/", request.source));
  }
  std::string name = request.output;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  if (name.empty()) name = fs::path(jdk->home).filename().string() + "-wisp";
  std::error_code error;
  fs::path output = fs::absolute(name, error);
  if (error) {
    return failure(kExitUsage,
                   fmt::format("--output {}: the working directory is gone ({}); takes an absolute "
                               "path, such as --output /opt/{}",
                               name, error.message(), fs::path(name).filename().string()));
  }
  // It would be a link to itself, and change what it is made from.
  if (lies_in(output.parent_path(), jdk->home)) {
    return failure(
        kExitUsage,
        fmt::format("{} {}: lies in the JDK itself; takes a directory outside of {}, "
                    "such as --output /opt/{}",
                    request.output.empty() ? "without --output the home would be" : "--output",
                    output.string(), jdk->home, output.filename().string()));
  }
  if (std::string why = objection(output); !why.empty()) {
    return failure(kExitUsage,
                   fmt::format("--output {}: {}; takes a new directory or one made by `wisp jdk`, "
                               "in a folder that you may write to",
                               output.string(), why));
  }
  if (output.string().find('\n') != std::string::npos ||
      jdk->home.find('\n') != std::string::npos) {
    return failure(kExitUsage, "a path with a line break in it cannot be used");
  }
  if (auto found = obstacle(*jdk)) {
    print_error(fmt::format("wisp: {} will run on plain threads: {}; {}\n", output.string(),
                            found->reason, found->cure));
  }
  try {
    return make(*jdk, output);
  } catch (const fs::filesystem_error& problem) {
    std::error_code ignored;
    fs::remove_all(
        output.parent_path() / fmt::format(".{}.{}", output.filename().string(), getpid()),
        ignored);
    return failure(kExitFailure,
                   fmt::format("cannot make {}: {}", output.string(), problem.what()));
  }
}

}  // namespace wisp
