// Implementation of machine.h: each finding asks the kernel itself rather than its version, since
// seccomp profiles and sysctls take calls away from kernels that have them.
#include "machine.h"

#include <fmt/format.h>
#include <linux/io_uring.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "elf_image.h"
#include "io/ring_features.h"
#include "jdk.h"

namespace wisp {
namespace {

Finding kernel() {
  utsname name;
  uname(&name);
  int major = 0;
  int minor = 0;
  sscanf(name.release, "%d.%d", &major, &minor);
  std::string text = fmt::format("{} {} ({})", name.sysname, name.release, name.machine);
  if (major < 4 || (major == 4 && minor < 14)) {
    return {"kernel", Verdict::kBlocks, text,
            "Wisp needs Linux 4.14 or newer (private membarrier)"};
  }
  return {"kernel", Verdict::kGood, text, ""};
}

Finding cpu() {
#if defined(__x86_64__)
  // Bit 1 of AT_HWCAP2: the kernel lets programs write the FS register themselves.
  if ((getauxval(AT_HWCAP2) & 2) == 0) {
    return {"CPU", Verdict::kSlower, "x86-64 without FSGSBASE: a switch costs a system call",
            "Linux 5.9 or newer on Ivy Bridge or newer (boot without nofsgsbase)"};
  }
  return {"CPU", Verdict::kGood, "x86-64 with FSGSBASE", ""};
#else
  return {"CPU", Verdict::kGood, machine_name(native_machine()), ""};
#endif
}

Finding c_library() {
#if defined(__x86_64__)
  const char* interpreter = "/lib64/ld-linux-x86-64.so.2";
  const char* musl = "/lib/ld-musl-x86_64.so.1";
#else
  const char* interpreter = "/lib/ld-linux-aarch64.so.1";
  const char* musl = "/lib/ld-musl-aarch64.so.1";
#endif
  int version = glibc_version(interpreter);
  if (version >= 228) {
    // Read off the newest symbol version, which not every release adds.
    return {"C library", Verdict::kGood, fmt::format("glibc 2.{} or later", version - 200), ""};
  }
  if (version != 0) {
    return {"C library", Verdict::kBlocks, fmt::format("glibc 2.{}", version - 200),
            "use a system with glibc 2.28 or newer (RHEL 8, Debian 10, Ubuntu "
            "20.04)"};
  }
  if (access(musl, F_OK) == 0) {
    return {"C library", Verdict::kBlocks, "musl", "use an image with glibc (Debian, Ubuntu, UBI)"};
  }
  return {"C library", Verdict::kSlower, "unknown (no " + std::string(interpreter) + ")",
          "a JDK with another dynamic linker is judged by its own, below"};
}

Finding membarrier() {
  long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
    return {"membarrier", Verdict::kGood, "PRIVATE_EXPEDITED", ""};
  }
  return {"membarrier", Verdict::kBlocks,
          commands < 0 ? fmt::format("refused: {}", strerror(errno)) : "no PRIVATE_EXPEDITED",
          "Linux 4.14 or newer, and a seccomp profile that allows membarrier"};
}

Finding signals() {
  siginfo_t info = {};
  info.si_code = SI_QUEUE;
  // Signal 0: only whether one could be sent.
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), 0, &info) == 0) {
    return {"signals", Verdict::kGood, "rt_tgsigqueueinfo", ""};
  }
  return {"signals", Verdict::kBlocks,
          fmt::format("rt_tgsigqueueinfo refused: {}", strerror(errno)),
          "a seccomp profile that allows rt_tgsigqueueinfo"};
}

// Nothing is slower without it: disk waits take a kernel thread each unless the user asks for
// rings, and do so where there is no ring to be had.
Finding io_uring() {
  constexpr const char* kCure =
      "for -Dcom.alibaba.wisp.disk=ring: Linux 5.12 or newer, sysctl kernel.io_uring_disabled=0, "
      "and a seccomp profile that allows it";
  io_uring_params p = {};
  long ring = syscall(SYS_io_uring_setup, 1, &p);
  if (ring < 0) {
    return {"io_uring", Verdict::kGood,
            fmt::format("refused: {}; disk waits take a kernel thread each, as by default",
                        strerror(errno)),
            kCure};
  }
  close(static_cast<int>(ring));
  if ((p.features & io::kRingFeatures) != io::kRingFeatures) {
    return {"io_uring", Verdict::kGood,
            "too old; disk waits take a kernel thread each, as by default", kCure};
  }
  return {"io_uring", Verdict::kGood, "available, used with -Dcom.alibaba.wisp.disk=ring", ""};
}

Finding library() {
  std::string path = own_library();
  if (auto found = library_obstacle(path)) {
    return {"library", Verdict::kBlocks, found->reason, found->cure};
  }
  return {"library", Verdict::kGood, path, ""};
}

}  // namespace

std::vector<Finding> examine_machine() {
  return {kernel(), cpu(), c_library(), membarrier(), signals(), io_uring(), library()};
}

}  // namespace wisp
