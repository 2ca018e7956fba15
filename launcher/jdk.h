// Finding a JDK (or JRE) and judging, from its files alone, whether its threads can be converted.
// The judgement is the same for `wisp java`, which then runs plain, and for `wisp doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wisp {

struct Jdk {
  std::string home;     // canonical
  std::string java;     // the stock launcher to execute
  std::string libjvm;   // empty: not found
  std::string version;  // from `release`, or "8" or "?"
  std::string vendor;
  bool java8 = false;  // no @argfiles, no JDK_JAVA_OPTIONS
};

// Why something is not possible and what one can do about it.
struct Obstacle {
  std::string reason;
  std::string cure;
};

// The JDK in a home directory; nothing when there is no bin/java in it.
std::optional<Jdk> jdk_at(const std::string& home);
// The JDK a java command belongs to (symbolic links followed).
std::optional<Jdk> jdk_of_command(const std::string& java);
std::optional<std::string> find_on_path(const char* command);
// JAVA_HOME, PATH, the usual places and $WISP_JDKS (colon-separated), each home once.
std::vector<Jdk> jdks_on_this_machine();

std::optional<Obstacle> obstacle(const Jdk& jdk);
// libwisp.so beside this command: ../lib/libwisp.so or ../lib/wisp/libwisp.so.
std::string own_library();
// Why the library at path cannot be preloaded.
std::optional<Obstacle> library_obstacle(const std::string& path);
// The version of the C library a program would run with: 236 for 2.36; 0 unknown.
int glibc_version(const std::string& interpreter);

// The note that `wisp jdk` leaves in a home it made.
struct HomeNote {
  std::string source;   // the JDK it was made from
  std::string library;  // libwisp.so
  std::string stamp;    // size and time of the source's libjvm.so
};
inline constexpr char kHomeNote[] = ".wisp-jdk";
// In such a home, the stock launcher.
inline constexpr char kStockJava[] = ".wisp/bin/java";
std::optional<HomeNote> read_home_note(const std::string& home);
std::string file_stamp(const std::string& path);
bool home_is_stale(const HomeNote& note);

}  // namespace wisp
