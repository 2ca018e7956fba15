// See load_order.h. dl_iterate_phdr rather than dladdr, which glibc 2.34 gave a new symbol version.
#include "jvm/load_order.h"

#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace wisp {
namespace {

struct Search {
  bool wisp_first = false;
  const char* own_path = nullptr;
};

bool contains(const dl_phdr_info* info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address - begin < segment.p_memsz) return true;
  }
  return false;
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

int find_first(dl_phdr_info* info, size_t, void* context) {
  auto* search = static_cast<Search*>(context);
  const char* name = info->dlpi_name == nullptr ? "" : base_name(info->dlpi_name);
  search->wisp_first =
      strcmp(name, "libwisp.so") == 0 || contains(info, reinterpret_cast<uintptr_t>(&find_first));
  return search->wisp_first || strncmp(name, "libc.so", 7) == 0;
}

int find_own(dl_phdr_info* info, size_t, void* context) {
  if (!contains(info, reinterpret_cast<uintptr_t>(&find_first))) return 0;
  static_cast<Search*>(context)->own_path = info->dlpi_name;
  return 1;
}

}  // namespace

bool wisp_preloaded() {
  Search search;
  dl_iterate_phdr(find_first, &search);
  return search.wisp_first;
}

bool own_library_path(char* path, size_t room) {
  Search search;
  dl_iterate_phdr(find_own, &search);
  if (search.own_path == nullptr) return false;
  int length = snprintf(path, room, "%s", search.own_path);
  return length > 0 && static_cast<size_t>(length) < room;
}

}  // namespace wisp
