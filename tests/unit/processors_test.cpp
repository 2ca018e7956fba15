// cgroup quotas, on file trees made up from what containers and systemd really show.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "jvm/options.h"

namespace fs = std::filesystem;

namespace {

class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/wisp-cgroup-" + std::to_string(getpid());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void file(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  int processors() { return wisp::cgroup_processors(root_.c_str()); }
  std::string root_;
};

const char kV2Mount[] = "30 23 0:26 / /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 cgroup2 rw\n";

TEST_F(Cgroup, NothingMounted) {
  EXPECT_EQ(processors(), 0);
  file("/proc/self/mountinfo", "1 1 0:1 / / rw - ext4 /dev/sda rw\n");
  EXPECT_EQ(processors(), 0);
}

TEST_F(Cgroup, V2Container) {
  file("/proc/self/mountinfo", kV2Mount);
  file("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(processors(), 0);
  file("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(processors(), 0);
  file("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(processors(), 2) << "rounded up";
  file("/sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(processors(), 1);
}

TEST_F(Cgroup, V2TightestLevel) {
  file("/proc/self/mountinfo", kV2Mount);
  file("/proc/self/cgroup", "0::/a.slice/b.service\n");
  file("/sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n");
  file("/sys/fs/cgroup/a.slice/b.service/cpu.max", "400000 100000\n");
  EXPECT_EQ(processors(), 3);
  file("/sys/fs/cgroup/a.slice/b.service/cpu.max", "200000 100000\n");
  EXPECT_EQ(processors(), 2);
}

TEST_F(Cgroup, V1) {
  file("/proc/self/mountinfo",
       "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
       "32 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  file("/proc/self/cgroup", "5:cpuset:/\n4:cpu,cpuacct:/box\n");
  file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
  file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), 0);
  file("/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(processors(), 3);
}

TEST_F(Cgroup, V1DockerShowsItsGroupAsTheRoot) {
  file("/proc/self/mountinfo",
       "31 23 0:27 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  file("/proc/self/cgroup", "4:cpu:/docker/abc\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors(), 4);
}

TEST_F(Cgroup, Nonsense) {
  file("/proc/self/mountinfo", kV2Mount);
  file("/proc/self/cgroup", "nonsense\n0:\n::\n0::/" + std::string(6000, 'x') + "\n");
  file("/sys/fs/cgroup/cpu.max", "9999999999999 1\n");
  EXPECT_EQ(processors(), 0);
  file("/sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(processors(), 0);
  file("/sys/fs/cgroup/cpu.max", "");
  EXPECT_EQ(processors(), 0);
}

TEST(Affinity, FollowsTheMask) {
  // In a child: the mask of the test process itself is not ours to change.
  pid_t child = fork();
  if (child == 0) {
    cpu_set_t old, one;
    sched_getaffinity(0, sizeof old, &old);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
      if (CPU_ISSET(cpu, &old)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    sched_setaffinity(0, sizeof one, &one);
    _exit(wisp::affinity_processors() == 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
