// See go_library.h. What tells them is what `go version -m` looks for: the head of the section
// .go.buildinfo, at a multiple of 16 in a writable segment, in every Go since 1.13 (Go's
// debug/buildinfo). A note with the build's id is there, too, but not with -ldflags=-buildid=.
#include "jvm/go_library.h"

#include <link.h>
#include <string.h>

#include "platform/spin_lock.h"
#include "scheduler/scheduler.h"

namespace wisp {

namespace {

// In two parts, so that it is not found in ourselves.
constexpr char kHead[] = "\xff Go";
constexpr char kTail[] = " buildinf:";
constexpr size_t kHeadLength = sizeof kHead - 1, kTailLength = sizeof kTail - 1;
constexpr uintptr_t kAlignment = 16;

struct Code {
  uintptr_t begin, end;
  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

// Those that were looked at and are not Go's; the oldest is forgotten. A library may be unloaded
// and a Go library come to its place: then that one is missed, as if its first thread had been made
// by somebody else.
constexpr uint32_t kKnown = 16;
SpinLock g_lock;
Code g_known[kKnown];
uint32_t g_looked_at = 0;

bool known(uintptr_t address) {
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  for (const Code& code : g_known)
    if (code.holds(address)) return true;
  return false;
}

bool has_build_info(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_W) == 0) continue;
    uintptr_t begin = info.dlpi_addr + p.p_vaddr, end = begin + p.p_filesz;
    uintptr_t at = (begin + kAlignment - 1) & ~(kAlignment - 1);
    for (; at + kHeadLength + kTailLength <= end; at += kAlignment) {
      const char* text = reinterpret_cast<const char*>(at);
      if (memcmp(text, kHead, kHeadLength) == 0 &&
          memcmp(text + kHeadLength, kTail, kTailLength) == 0)
        return true;
    }
  }
  return false;
}

struct Look {
  uintptr_t address;
  Code code;
  bool is_go;
};

int look(dl_phdr_info* info, size_t, void* argument) {
  auto* l = static_cast<Look*>(argument);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0) continue;
    uintptr_t begin = info->dlpi_addr + p.p_vaddr;
    Code code{begin, begin + p.p_memsz};
    if (!code.holds(l->address)) continue;
    l->code = code;
    l->is_go = has_build_info(*info);
    return 1;
  }
  return 0;
}

int look_at_any(dl_phdr_info* info, size_t, void*) { return has_build_info(*info) ? 1 : 0; }

}  // namespace

bool any_go_library() { return dl_iterate_phdr(look_at_any, nullptr) != 0; }

bool in_go_library(const void* address) {
  Look l{reinterpret_cast<uintptr_t>(address), {}, false};
  if (known(l.address)) return false;
  if (dl_iterate_phdr(look, &l) == 0) return false;
  if (l.is_go) return true;
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  g_known[g_looked_at++ % kKnown] = l.code;
  return false;
}

}  // namespace wisp
