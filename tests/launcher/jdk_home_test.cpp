// `wisp jdk`: a home that tools take for the JDK, and whose java understands the flag.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "launcher/spawn.h"

namespace fs = std::filesystem;
using namespace wisp_test;

namespace {

class JdkHome : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    home_ = scratch() + "/home-" + jdk_label(GetParam());
    Result result = spawn({.args = {kWisp, "jdk", GetParam(), "--output", home_}});
    ASSERT_EQ(result.exit, 0) << result.all();
    EXPECT_EQ(result.out, home_ + "\n") << "JAVA_HOME=$(wisp jdk DIR)";
  }
  Result java(std::vector<std::string> args) {
    args.insert(args.begin(), home_ + "/bin/java");
    return spawn({.args = args});
  }
  std::string home_;
};

TEST_P(JdkHome, UnderstandsTheFlag) {
  Result result = java({"-XX:+UseWisp2", "-version"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "stub: ")) << result.err;
  result = java({"-XX:-UseWisp2", "-version"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_FALSE(contains(result.err, "stub: "));
}

TEST_P(JdkHome, JavaHomeStaysInTheHome) {
  Result result = java({"-cp", kClasses, "Probe", "child", "-XX:+UseWisp2"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(value_of(result.out, "home").find(home_), 0u) << result.out;
  EXPECT_EQ(count(result.err, "stub: "), 1) << "the child alone has the flag: " << result.err;
  EXPECT_TRUE(contains(result.out, "arg=grandchild"));
}

TEST_P(JdkHome, LooksLikeTheJdk) {
  // Scripts find JAVA_HOME by resolving the link that /usr/bin/java is.
  EXPECT_EQ(fs::canonical(home_ + "/bin/java").string(), home_ + "/bin/java");
  for (const auto& entry : fs::directory_iterator(GetParam() + "/bin")) {
    fs::path there = fs::path(home_) / "bin" / entry.path().filename();
    EXPECT_EQ(access(there.c_str(), X_OK), access(entry.path().c_str(), X_OK)) << there;
  }
  if (fs::exists(GetParam() + "/release")) {
    EXPECT_EQ(fs::canonical(home_ + "/release"), fs::canonical(GetParam() + "/release"));
  }
  if (fs::exists(GetParam() + "/bin/javac")) {
    EXPECT_EQ(spawn({.args = {home_ + "/bin/javac", "-version"}}).exit, 0);
  }
}

TEST_P(JdkHome, CanBeMadeAgainAndFromItself) {
  EXPECT_EQ(spawn({.args = {kWisp, "jdk", GetParam(), "-o", home_ + "/"}}).exit, 0);
  Result result = spawn({.args = {kWisp, "jdk", home_, "-o", home_ + "2"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  std::string note;
  std::ifstream file(home_ + "2/.wisp-jdk");
  std::getline(file, note);
  std::getline(file, note);
  EXPECT_EQ(note, "jdk=" + fs::canonical(GetParam()).string());
}

TEST_P(JdkHome, WispJavaTakesIt) {
  Result result = spawn({.args = {kWisp, "java", "--jdk", home_, "-XX:+UseWisp2", "-version"}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_EQ(count(result.err, "stub: "), 1) << result.err;
}

// What pgrep, top and killall know it by.
TEST_P(JdkHome, ProcessesAreNamedJava) {
  for (const char* flag : {"-XX:+UseWisp2", "-XX:-UseWisp2"}) {
    Result result = java({flag, "-cp", kClasses, "Probe", "name"});
    EXPECT_EQ(value_of(result.out, "name"), "java") << result.all();
    EXPECT_EQ(fs::path(value_of(result.out, "program")).filename(), "java") << result.all();
  }
  Result result =
      spawn({.args = {kWisp, "java", "--jdk", home_, "-cp", kClasses, "Probe", "name"}});
  EXPECT_EQ(value_of(result.out, "name"), "java") << result.all();
  EXPECT_EQ(value_of(result.out, "command"), home_ + "/bin/java") << result.all();
}

TEST_P(JdkHome, NoticesThatTheJdkHasChanged) {
  std::string note;
  {
    std::ifstream file(home_ + "/.wisp-jdk");
    note.assign(std::istreambuf_iterator<char>(file), {});
  }
  size_t at = note.find("libjvm=");
  std::ofstream(home_ + "/.wisp-jdk") << note.substr(0, at) << "libjvm=1 2.3\n";
  Result result = java({"-XX:+UseWisp2", "-version"});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.err, "has changed since")) << result.err;
  EXPECT_EQ(count(result.err, "stub: "), 1) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Jdk, JdkHome, testing::ValuesIn(jdks()),
                         [](const auto& info) { return jdk_label(info.param); });

TEST(JdkHomeErrors, AreNamed) {
  Result result = spawn({.args = {kWisp, "jdk", "/nowhere"}});
  EXPECT_EQ(result.exit, 2);
  EXPECT_TRUE(contains(result.err, "DIR=/nowhere: takes the home directory of a JDK"))
      << result.err;
  std::string taken = scratch() + "/taken";
  fs::create_directory(taken);
  write_file("taken/file", "x");
  result = spawn({.args = {kWisp, "jdk", jdks()[0], "-o", taken}});
  EXPECT_EQ(result.exit, 2) << result.all();
  EXPECT_TRUE(contains(result.err, "was not made by wisp")) << result.err;
  EXPECT_TRUE(fs::exists(taken + "/file"));
  if (geteuid() != 0) {
    result = spawn({.args = {kWisp, "jdk", jdks()[0], "-o", "/proc/x"}});
    EXPECT_EQ(result.exit, 1) << result.all();
  }
  result = spawn({.args = {kWisp, "jdk", jdks()[0], "-o", std::string(300, 'n')}});
  EXPECT_EQ(result.exit, 2) << result.all();
  EXPECT_TRUE(contains(result.err, "n: File name too long; takes a new directory")) << result.err;
}

TEST(JdkHomeErrors, AClosedFolder) {
  std::string closed = scratch() + "/closed";
  fs::create_directories(closed + "/inner");
  fs::permissions(closed, fs::perms::none);
  Result result = spawn({.args = {kWisp, "jdk", jdks()[0], "-o", closed + "/inner/home"},
                         .before_exec = without_rights});
  fs::permissions(closed, fs::perms::owner_all);
  if (result.exit == 125) GTEST_SKIP() << "root cannot give up its rights here";
  EXPECT_EQ(result.exit, 2) << result.all();
  EXPECT_TRUE(contains(
      result.err, "--output " + closed + "/inner/home: Permission denied; takes a new directory"))
      << result.err;
}

TEST(JdkHomeErrors, TheWorkingDirectoryIsGone) {
  std::string gone = scratch() + "/gone";
  fs::create_directory(gone);
  auto remove = [&] { return rmdir(gone.c_str()) == 0; };
  Result result =
      spawn({.args = {kWisp, "jdk", jdks()[0]}, .directory = gone, .before_exec = remove});
  EXPECT_EQ(result.exit, 2) << result.all();
  EXPECT_TRUE(contains(result.err, "the working directory is gone")) << result.err;
  EXPECT_TRUE(contains(result.err, "takes an absolute path, such as --output /opt/")) << result.err;
  fs::create_directory(gone);
  result = spawn({.args = {kWisp, "jdk", jdks()[0], "-o", scratch() + "/elsewhere"},
                  .directory = gone,
                  .before_exec = remove});
  EXPECT_EQ(result.exit, 0) << result.all();
}

TEST(JdkHomeErrors, AHomeInsideTheJdk) {
  // A JDK of links to a real one, so that the test may write into it.
  std::string jdk = scratch() + "/writable-jdk";
  fs::create_directory(jdk);
  for (const auto& entry : fs::directory_iterator(jdks()[0])) {
    fs::create_symlink(entry.path(), jdk + "/" + entry.path().filename().string());
  }
  fs::remove(jdk + "/bin");
  fs::create_directory(jdk + "/bin");
  fs::copy_file(jdks()[0] + "/bin/java", jdk + "/bin/java");
  fs::create_directory_symlink(jdk, scratch() + "/linked-jdk");
  std::string takes = "takes a directory outside of " + jdk + ", such as --output /opt/";
  auto entries = [&] {
    return std::distance(fs::directory_iterator(jdk), fs::directory_iterator());
  };
  auto before = entries();
  Result result = spawn({.args = {kWisp, "jdk", "."}, .directory = jdk});
  EXPECT_EQ(result.exit, 2) << result.all();
  EXPECT_TRUE(contains(result.err, "without --output the home would be " + jdk +
                                       "/writable-jdk-wisp: lies in the JDK itself; " + takes))
      << result.err;
  for (const std::string& output :
       {jdk + "/mine", scratch() + "/linked-jdk/mine", jdk + "/bin/x"}) {
    result = spawn({.args = {kWisp, "jdk", jdk, "--output", output}});
    EXPECT_EQ(result.exit, 2) << result.all();
    EXPECT_TRUE(contains(result.err, "--output " + output + ": lies in the JDK itself; " + takes))
        << result.err;
  }
  EXPECT_EQ(entries(), before);
  // A neighbour with the same beginning is none of its folders.
  result = spawn({.args = {kWisp, "jdk", jdk, "--output", jdk + "-2"}});
  EXPECT_EQ(result.exit, 0) << result.all();
}

TEST(JdkHomeDefault, LiesInTheWorkingDirectory) {
  std::string jdk = jdks()[0];
  Result result = spawn({.args = {kWisp, "jdk", jdk}, .directory = scratch()});
  EXPECT_EQ(result.out, scratch() + "/" + fs::path(jdk).filename().string() + "-wisp\n")
      << result.all();
}

}  // namespace
