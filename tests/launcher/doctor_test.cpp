// `wisp doctor`, and the same judgement in `wisp java`: what cannot be converted runs plain, with
// one line that says why.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "launcher/spawn.h"
#include "preload/refusal.h"

namespace fs = std::filesystem;
using namespace wisp_test;

namespace {

// A home whose bin/java is a shell script.
std::string script_home(const std::string& name) {
  std::string home = scratch() + "/" + name;
  fs::create_directories(home + "/bin");
  write_file(name + "/bin/java", "#!/bin/sh\necho script \"$@\"\n");
  chmod((home + "/bin/java").c_str(), 0755);
  return home;
}

TEST(Doctor, FindsTheJdks) {
  const char* more = getenv("WISP_JDKS");
  Result result = spawn({.args = {kWisp, "doctor"}, .env = {{"WISP_JDKS", more ? more : ""}}});
  EXPECT_EQ(result.exit, 0) << result.all();
  for (const std::string& jdk : jdks()) EXPECT_TRUE(contains(result.out, jdk)) << result.out;
  EXPECT_TRUE(contains(result.out, "Wisp can run here."));
  for (const char* subject :
       {"kernel", "CPU", "C library", "membarrier", "signals", "io_uring", "library"}) {
    EXPECT_TRUE(contains("\n" + result.out, std::string("\n") + subject)) << subject;
  }
}

TEST(Doctor, Json) {
  std::string strange = "strange \"name\" \\ \xff\xc3\xa4";
  script_home(strange);
  Result result = spawn({.args = {kWisp, "doctor", "--json"}, .env = {{"WISP_JDKS", scratch()}}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.out, "strange \\\"name\\\" \\\\ \\ufffd\xc3\xa4")) << result.out;
  EXPECT_TRUE(contains(result.out, "\"canRun\": true"));
}

TEST(Doctor, SaysReasonAndCure) {
  std::string home = script_home("wrapper");
  Result result = spawn({.args = {kWisp, "doctor"}, .env = {{"JAVA_HOME", home}}});
  EXPECT_TRUE(contains(result.out, home + "/bin/java is not a 64-bit ELF program")) << result.out;
  EXPECT_TRUE(contains(result.out, "-> name the JDK itself"));
}

// A JDK whose lib/ others may not enter is judged as one without a libjvm.so.
TEST(Doctor, AFolderThatOthersMayNotEnter) {
  std::string home = scratch() + "/private-jdk";
  fs::create_directories(home + "/lib");
  fs::create_directory(home + "/bin");
  fs::copy_file(jdks()[0] + "/bin/java", home + "/bin/java");
  fs::permissions(home + "/lib", fs::perms::none);
  Result doctor = spawn(
      {.args = {kWisp, "doctor"}, .env = {{"WISP_JDKS", home}}, .before_exec = without_rights});
  Result java = spawn({.args = {kWisp, "java", "--jdk", home, "-XX:+UseWisp2", "-version"},
                       .before_exec = without_rights});
  fs::permissions(home + "/lib", fs::perms::owner_all);
  if (doctor.exit == 125) GTEST_SKIP() << "root cannot give up its rights here";
  std::string reason = "no libjvm.so under " + home + "/lib";
  EXPECT_EQ(doctor.signal, 0) << doctor.all();
  EXPECT_TRUE(contains(doctor.out, reason)) << doctor.all();
  EXPECT_EQ(java.signal, 0) << java.all();
  EXPECT_TRUE(contains(java.err, "running on plain threads: " + reason)) << java.all();
}

// ld.so preloads nothing into it, without a word: who has it (often for ports below 1024, then by a
// capability) thought that Wisp was on.
TEST(Doctor, AJavaWithMoreRightsThanItsUser) {
  std::string home = scratch() + "/set-user-id";
  fs::create_directories(home + "/bin");
  std::string java = home + "/bin/java";
  fs::copy_file(jdks()[0] + "/bin/java", java);
  struct statvfs mount;
  if (chown(java.c_str(), 65534, 65534) != 0 || chmod(java.c_str(), 04755) != 0 ||
      statvfs(java.c_str(), &mount) != 0 || (mount.f_flag & ST_NOSUID) != 0) {
    GTEST_SKIP() << "no set-user-ID programs here";
  }
  std::string reason = java + " is set-user-ID: nothing can be preloaded";
  Result result = spawn({.args = {kWisp, "doctor"}, .env = {{"WISP_JDKS", home}}});
  EXPECT_TRUE(contains(result.out, reason)) << result.out;
  Result run = spawn({.args = {kWisp, "java", "--jdk", home, "-XX:+UseWisp2", "-version"}});
  EXPECT_TRUE(contains(run.err, "wisp: running on plain threads: " + reason)) << run.all();
  // Where the kernel ignores the bit there is nothing to be said.
  result = spawn({.args = {kWisp, "doctor"}, .env = {{"WISP_JDKS", home}}, .before_exec = [] {
                    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
                  }});
  EXPECT_FALSE(contains(result.out, "set-user-ID")) << result.out;
}

// As container engines do: from here on this system call fails with this error.
bool forbid(long call, int error) {
  sock_filter program[] = REFUSAL(call, error);
  sock_fprog filter = {sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Only an option that is off by default uses it: its absence is told, and makes nothing slower.
TEST(Doctor, IoUringIsForAnOption) {
  for (int error : {0, EPERM, ENOSYS}) {
    Spawn request = {.args = {kWisp, "doctor"}};
    if (error != 0) request.before_exec = [error] { return forbid(SYS_io_uring_setup, error); };
    Result result = spawn(request);
    if (error != 0 && result.exit == 125) GTEST_SKIP() << "no seccomp filters here";
    EXPECT_EQ(result.exit, 0) << result.all();
    EXPECT_TRUE(contains(result.out, "\nio_uring    ok      ")) << result.out;
    EXPECT_TRUE(contains(result.out, "-Dcom.alibaba.wisp.disk=ring")) << result.out;
    bool available = contains(result.out, "available, used with");
    EXPECT_EQ(contains(result.out, "kernel thread each, as by default"), !available) << result.out;
    EXPECT_EQ(contains(result.out, "-> for -Dcom.alibaba.wisp.disk=ring: Linux 5.12"), !available)
        << result.out;
    if (error != 0) {
      EXPECT_TRUE(contains(result.out, std::string("refused: ") + strerror(error))) << result.out;
    }
  }
}

TEST(Doctor, ExitsOneWhenWispCannotRun) {
  // The command alone, without a library beside it.
  std::string bare = scratch() + "/bare/bin";
  fs::create_directories(bare);
  fs::copy_file(kWisp, bare + "/wisp", fs::copy_options::overwrite_existing);
  Result result = spawn({.args = {bare + "/wisp", "doctor"}});
  EXPECT_EQ(result.exit, 1) << result.all();
  EXPECT_TRUE(contains(result.out, "libwisp.so is missing")) << result.out;
}

TEST(PlainRun, WithoutTheLibrary) {
  std::string bare = scratch() + "/bare2/bin";
  fs::create_directories(bare);
  fs::copy_file(kWisp, bare + "/wisp", fs::copy_options::overwrite_existing);
  Result result = spawn({.args = {bare + "/wisp", "java", "--jdk", jdks()[0], "-XX:+UseWisp2",
                                  "-cp", kClasses, "Probe", "exit", "3"}});
  EXPECT_EQ(result.exit, 3) << result.all();
  EXPECT_EQ(count(result.err, "\n"), 1) << result.err;
  EXPECT_EQ(result.err.find("wisp: running on plain threads: "), 0u) << result.err;
}

// Without these calls a wait could last for ever; what the library does then: starts_test.sh.
TEST(Doctor, ExitsOneWhereANeededCallIsRefused) {
  const std::pair<long, std::string> needed[] = {{SYS_membarrier, "membarrier"},
                                                 {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"}};
  for (const auto& [number, name] : needed) {
    Result result = spawn({.args = {kWisp, "doctor"},
                           .before_exec = [call = number] { return forbid(call, EPERM); }});
    if (result.exit == 125) GTEST_SKIP() << "no seccomp filters here";
    EXPECT_EQ(result.exit, 1) << result.all();
    EXPECT_TRUE(contains(result.out, "seccomp profile that allows " + name)) << result.out;
  }
}

TEST(PlainRun, InstallTreeWithLibWisp) {
  std::string tree = scratch() + "/tree";
  fs::create_directories(tree + "/bin");
  fs::create_directories(tree + "/lib/wisp");
  fs::copy_file(kWisp, tree + "/bin/wisp", fs::copy_options::overwrite_existing);
  fs::copy_file(kLibrary, tree + "/lib/wisp/libwisp.so", fs::copy_options::overwrite_existing);
  Result result = spawn(
      {.args = {tree + "/bin/wisp", "java", "--jdk", jdks()[0], "-XX:+UseWisp2", "-version"}});
  EXPECT_TRUE(contains(result.err, "LD_PRELOAD=" + tree + "/lib/wisp/libwisp.so")) << result.err;
  // A link to the command, as from /usr/local/bin.
  fs::create_symlink(tree + "/bin/wisp", scratch() + "/wisp-link");
  result = spawn({.args = {scratch() + "/wisp-link", "java", "--jdk", jdks()[0], "-XX:+UseWisp2",
                           "-version"}});
  EXPECT_TRUE(contains(result.err, "stub: ")) << result.err;
}

TEST(PlainRun, AFolderThatLdPreloadCannotName) {
  std::string tree = scratch() + "/with blank";
  fs::create_directories(tree + "/bin");
  fs::create_directories(tree + "/lib");
  fs::copy_file(kWisp, tree + "/bin/wisp", fs::copy_options::overwrite_existing);
  fs::copy_file(kLibrary, tree + "/lib/libwisp.so", fs::copy_options::overwrite_existing);
  Result result = spawn(
      {.args = {tree + "/bin/wisp", "java", "--jdk", jdks()[0], "-XX:+UseWisp2", "-version"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "LD_PRELOAD cannot name")) << result.err;
}

TEST(PlainRun, Wrappers) {
  std::string home = script_home("wrapper2");
  Result result = spawn({.args = {kWisp, "java", "--jdk", home, "-XX:+UseWisp2", "-x", "Main"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(result.out, "script -x Main\n");
  EXPECT_EQ(count(result.err, "\n"), 1) << result.err;
}

TEST(PlainRun, AnotherLinker) {
  // The same JDK, but its launcher names musl's linker: only the name decides, nothing is run.
  std::string home = scratch() + "/musl";
  fs::create_directories(home + "/bin");
  std::ifstream file(jdks()[0] + "/bin/java", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  size_t at = bytes.find("/lib64/ld-linux-x86-64.so.2");
  if (at == std::string::npos) GTEST_SKIP() << "not x86-64";
  bytes.replace(at, 27, std::string("/lib/ld-musl-x86_64.so.1\0\0\0", 27));
  write_file("musl/bin/java", bytes);
  chmod((home + "/bin/java").c_str(), 0755);
  Result result = spawn({.args = {kWisp, "java", "--jdk", home, "-XX:+UseWisp2", "-version"}});
  EXPECT_TRUE(contains(result.err, "is built for musl")) << result.all();
  // Damaged files are judged, not trusted.
  for (size_t length : {0u, 10u, 64u, 200u, 1000u, 5000u}) {
    write_file("musl/bin/java", bytes.substr(0, length));
    result = spawn({.args = {kWisp, "java", "--jdk", home, "-XX:+UseWisp2", "-version"}});
    EXPECT_EQ(result.signal, 0) << length;
  }
}

}  // namespace
