// See memfd.h.
#include "observe/memfd.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "platform/kernel.h"
#include "platform/own_descriptors.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#endif

namespace wisp::stats {

int memfd_create_private(const char* name) {
  long text = reinterpret_cast<long>(name);
  // Where vm.memfd_noexec demands it the flag is needed; kernels before 6.3 do not know it.
  long fd = kernel::call(SYS_memfd_create, text, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd == -EINVAL) fd = kernel::call(SYS_memfd_create, text, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  int high = move_up(static_cast<int>(fd));
  kernel::call(SYS_fchmod, high, 0600);
  own_descriptor_add(high);
  return high;
}

void memfd_close(int fd) {
  own_descriptor_remove(fd);
  kernel::call(SYS_close, fd);
}

uint64_t memfd_largest() {
  rlimit limit{RLIM_INFINITY, 0};
  kernel::call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, reinterpret_cast<long>(&limit));
  return limit.rlim_cur;
}

void memfd_seal(int fd) { kernel::call(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL); }

void* memfd_map(int fd, size_t size, long offset) {
  long p = kernel::call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, offset);
  if (p < 0 && p > -4096) return nullptr;
  // A forked child must not write into its parent's page.
  kernel::call(SYS_madvise, p, static_cast<long>(size), MADV_DONTFORK);
  return reinterpret_cast<void*>(p);
}

}  // namespace wisp::stats
