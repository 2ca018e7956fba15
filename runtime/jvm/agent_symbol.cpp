// See agent_symbol.h. A symbol without a value is none to the dynamic linker. No choice of symbol
// versions does the same: what dlsym finds in a library, a reference without a version finds too.
#include "jvm/agent_symbol.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "jvm/load_order.h"
#include "platform/kernel.h"

// Agent_OnLoad of this library, whoever else has one (agent_reexec.cpp), and its first bytes.
extern "C" __attribute__((visibility("hidden"))) int wisp_agent_on_load(void*, char*, void*);
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace wisp {
namespace {

// HotSpot makes Agent_OnLoad_NAME of libNAME.so. Where the file has another name it has to find the
// symbol itself.
bool has_own_name() {
  char path[PATH_MAX];
  if (!own_library_path(path, sizeof path)) return false;
  const char* slash = strrchr(path, '/');
  return strcmp(slash != nullptr ? slash + 1 : path, "libwisp.so") == 0;
}

// Of the segment that holds the address; 0: of none.
int protection(uintptr_t address) {
  const char* base = reinterpret_cast<const char*>(&__ehdr_start);
  auto* segments = reinterpret_cast<const ElfW(Phdr)*>(base + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    const ElfW(Phdr)& p = segments[i];
    uintptr_t begin = reinterpret_cast<uintptr_t>(base) + p.p_vaddr;
    if (p.p_type != PT_LOAD || address - begin >= p.p_memsz) continue;
    return (p.p_flags & PF_R ? PROT_READ : 0) | (p.p_flags & PF_W ? PROT_WRITE : 0) |
           (p.p_flags & PF_X ? PROT_EXEC : 0);
  }
  return 0;
}

bool protect(uintptr_t page, size_t size, int how) {
  return kernel::call(SYS_mprotect, static_cast<long>(page), static_cast<long>(size), how) == 0;
}

}  // namespace

void agent_symbol_hide() {
  if (!has_own_name()) return;
  Dl_info info;
  void* found = nullptr;
  void* ours = reinterpret_cast<void*>(&wisp_agent_on_load);
  if (dladdr1(ours, &info, &found, RTLD_DL_SYMENT) == 0 || found == nullptr) return;
  if (info.dli_sname == nullptr || strcmp(info.dli_sname, "Agent_OnLoad") != 0) return;
  auto* value = &static_cast<ElfW(Sym)*>(found)->st_value;
  uintptr_t address = reinterpret_cast<uintptr_t>(value);
  size_t size = getauxval(AT_PAGESZ);
  uintptr_t page = address & ~(size - 1);
  int before = protection(address);
  if (before == 0 || !protect(page, size, before | PROT_WRITE)) return;
  *value = 0;
  protect(page, size, before);
}

}  // namespace wisp
