// List of modules with TLS; see the header. Rebuilding it walks all libraries (some microseconds);
// as long as ld.so's load and unload counters stand still, one callback invocation is enough.
#include "coroutine/tls_modules.h"

#include <elf.h>
#include <link.h>

#include <cstring>

#include "coroutine/context.h"
#include "coroutine/libc_layout.h"
#include "coroutine/thread_block.h"

namespace wisp {

namespace {

constexpr size_t kMaxModules = 256;  // a JVM has about ten; the ones beyond are not reset
constexpr size_t kMaxKept = 8;

struct Module {
  const void* map;  // link_map, with the generation the identity over rebuilds
  size_t id;
  size_t generation;
  ptrdiff_t from_tp;  // 0: not in static TLS
  const char* image;
  size_t image_size;
  size_t total_size;
  uint64_t serial;
  bool keep;
};

struct ModuleList {
  unsigned long long adds, subs;
  size_t count;
  uint64_t newest;
  Module modules[kMaxModules];
};

// A list is written by exactly one walk under the lock, so whoever starts a walk finds both lists
// complete, and may put the one whose counters match in front.
constinit ModuleList lists[2] = {};
constinit ModuleList* current = &lists[0];
constinit ModuleList* other = &lists[1];

const void* kept[kMaxKept];
size_t kept_count;

struct Slot {
  const void* map;
  size_t generation;
};

Slot find_slot(size_t id) {
  auto list = at<uintptr_t>(reinterpret_cast<uintptr_t>(libc.slot_list), 0);
  while (list != 0) {
    size_t length = at<size_t>(list, static_cast<ptrdiff_t>(libc.slot_list_length));
    if (id < length) {
      uintptr_t slot = list + libc.slot_list_slots + id * libc.slot_size;
      return Slot{at<const void*>(slot, static_cast<ptrdiff_t>(libc.slot_map)),
                  at<size_t>(slot, static_cast<ptrdiff_t>(libc.slot_generation))};
    }
    id -= length;
    list = at<uintptr_t>(list, static_cast<ptrdiff_t>(libc.slot_list_next));
  }
  return Slot{};
}

// Position in static TLS relative to the thread pointer, 0 when the module is not there. ld.so
// stores a distance, with 0 for "undecided" and negative values for "never".
ptrdiff_t static_position(const void* map) {
  ptrdiff_t offset = at<ptrdiff_t>(reinterpret_cast<uintptr_t>(map),
                                   static_cast<ptrdiff_t>(libc.link_map_tls_offset));
  if (offset <= 0) return 0;
#if defined(__x86_64__)
  return -offset;  // TLS lies below the thread pointer
#else
  return offset;
#endif
}

bool holds_kept_address(const dl_phdr_info* info) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    for (size_t k = 0; k < kept_count; k++) {
      if (reinterpret_cast<uintptr_t>(kept[k]) - start < segment.p_memsz) return true;
    }
  }
  return false;
}

uint64_t serial_of(const Module& module) {
  for (size_t i = 0; i < current->count; i++) {
    const Module& old = current->modules[i];
    if (old.map == module.map && old.generation == module.generation) return old.serial;
  }
  return ++other->newest;
}

void add_module(const dl_phdr_info* info) {
  if (info->dlpi_tls_modid == 0 || other->count == kMaxModules) return;
  Slot slot = find_slot(info->dlpi_tls_modid);
  if (slot.map == nullptr) return;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_TLS) continue;
    Module& module = other->modules[other->count++];
    module.map = slot.map;
    module.id = info->dlpi_tls_modid;
    module.generation = slot.generation;
    module.from_tp = static_position(slot.map);
    module.image = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    module.image_size = segment.p_filesz;
    module.total_size = segment.p_memsz;
    module.keep = holds_kept_address(info);
    module.serial = serial_of(module);
    return;
  }
}

// What to do with the up-to-date list, under the lock.
using Action = void (*)(const ModuleList& list, void* argument);

struct Walk {
  Action action;
  void* argument;
  bool rebuilding;
  bool done;
};

bool is_of(const ModuleList& list, const dl_phdr_info* info) {
  return list.adds == info->dlpi_adds && list.subs == info->dlpi_subs;
}

int on_module(dl_phdr_info* info, size_t, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  if (!walk->rebuilding) {
    if (!is_of(*current, info) && is_of(*other, info)) {
      ModuleList* fresh = other;
      other = current;
      current = fresh;
    }
    if (is_of(*current, info)) {
      walk->action(*current, walk->argument);
      walk->done = true;
      return 1;
    }
    walk->rebuilding = true;
    other->adds = info->dlpi_adds;
    other->subs = info->dlpi_subs;
    other->count = 0;
    other->newest = current->newest;
  }
  add_module(info);
  return 0;
}

void with_modules(Action action, void* argument) {
  Walk walk{action, argument, false, false};
  while (!walk.done) {
    walk.rebuilding = false;
    dl_iterate_phdr(on_module, &walk);
  }
}

// The module's storage in a block, or 0 when that block has none yet. Same tests as ld.so's: a
// vector older than the module, or too short, does not speak of this module.
uintptr_t storage(const Module& module, uintptr_t tp) {
  if (module.from_tp != 0) return tp + static_cast<uintptr_t>(module.from_tp);
  constexpr uintptr_t kUnallocated = ~uintptr_t{0};
  uintptr_t dtv = at<uintptr_t>(tp, libc.dtv);
  auto entry = static_cast<ptrdiff_t>(libc.dtv_entry_size);
  size_t length = at<size_t>(dtv, -entry);
  size_t generation = at<size_t>(dtv, 0);
  if (module.id > length || generation < module.generation) return 0;
  uintptr_t address = at<uintptr_t>(dtv, static_cast<ptrdiff_t>(module.id) * entry);
  return address == kUnallocated ? 0 : address;
}

void copy_image(const Module& module, uintptr_t address) {
  auto* to = reinterpret_cast<char*>(address);
  std::memcpy(to, module.image, module.image_size);
  std::memset(to + module.image_size, 0, module.total_size - module.image_size);
}

bool all_zero(const char* bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

// Quadratic in the number of modules in static TLS, of which there are a handful.
void before_dlopen(const ModuleList& list, void* argument) {
  auto* block = static_cast<ThreadBlock*>(argument);
  block->loading = true;
  char* tp = reinterpret_cast<char*>(block->tp);
  ptrdiff_t done = libc.static_start;
  while (done < libc.static_end) {
    ptrdiff_t next = libc.static_end, next_end = libc.static_end;
    for (size_t i = 0; i < list.count; i++) {
      const Module& module = list.modules[i];
      auto end = module.from_tp + static_cast<ptrdiff_t>(module.total_size);
      if (module.from_tp == 0 || end <= done || module.from_tp >= next) continue;
      next = module.from_tp;
      next_end = end;
    }
    if (next > done) std::memset(tp + done, 0, static_cast<size_t>(next - done));
    done = next_end;
  }
}

void apply(const ModuleList& list, ThreadBlock* block) {
  if (block->tp == 0 || block->modules == list.newest) return;
  for (size_t i = 0; i < list.count; i++) {
    const Module& module = list.modules[i];
    if (module.serial <= block->modules || module.from_tp == 0) continue;
    uintptr_t address = storage(module, block->tp);
    if (block->loading && !all_zero(reinterpret_cast<const char*>(address), module.total_size))
      continue;
    copy_image(module, address);
  }
  block->modules = list.newest;
}

struct Birth {
  ThreadBlock* block;
  uintptr_t tp;
  bool zeroed;
};

void fill_static(const ModuleList& list, void* argument) {
  auto* birth = static_cast<Birth*>(argument);
  char* start = reinterpret_cast<char*>(birth->tp) + libc.static_start;
  if (!birth->zeroed)
    std::memset(start, 0, static_cast<size_t>(libc.static_end - libc.static_start));
  birth->block->tp = birth->tp;
  birth->block->modules = 0;
  birth->block->loading = false;
  apply(list, birth->block);
}

void reset(const ModuleList& list, void* argument) {
  auto* block = static_cast<ThreadBlock*>(argument);
  for (size_t i = 0; i < list.count; i++) {
    const Module& module = list.modules[i];
    if (module.keep) continue;
    if (uintptr_t address = storage(module, block->tp)) copy_image(module, address);
  }
  block->modules = list.newest;
  block->loading = false;
}

void forget(const ModuleList&, void* argument) {
  auto* block = static_cast<ThreadBlock*>(argument);
  block->tp = 0;
  block->modules = 0;
  block->loading = false;
}

}  // namespace

void tls_keep_module(const void* address) {
  for (size_t i = 0; i < kept_count; i++) {
    if (kept[i] == address) return;
  }
  if (kept_count < kMaxKept) kept[kept_count++] = address;
  lists[0].adds = lists[1].adds = 0;  // marks were made without this address
}

void tls_reset(ThreadBlock* block) { with_modules(reset, block); }

void tls_fill_static(ThreadBlock* block, uintptr_t tp, bool zeroed) {
  Birth birth{block, tp, zeroed};
  with_modules(fill_static, &birth);
}

void tls_forget(ThreadBlock* block) { with_modules(forget, block); }

void tls_before_dlopen(ThreadBlock* block) { with_modules(before_dlopen, block); }

void tls_apply_modules(ThreadBlock* block, bool own) {
  with_modules(
      own ? +[](const ModuleList& list, void* argument) {
              auto* mine = static_cast<ThreadBlock*>(argument);
              apply(list, mine);
              mine->loading = false;
            }
          : +[](const ModuleList& list, void* argument) {
              apply(list, static_cast<ThreadBlock*>(argument));
            },
      block);
}

bool tls_modules_check() {
  // Every module whose vector entry is filled must lie where the list puts it, and there is at
  // least one: libc's errno.
  size_t agreeing = 0;
  with_modules(
      [](const ModuleList& list, void* argument) {
        uintptr_t tp = thread_pointer();
        size_t agree = 0;
        for (size_t i = 0; i < list.count; i++) {
          Module module = list.modules[i];
          if (module.from_tp == 0) continue;
          uintptr_t computed = storage(module, tp);
          module.from_tp = 0;
          uintptr_t entered = storage(module, tp);
          if (entered == computed) agree++;
          if (entered != 0 && entered != computed) return;
        }
        *static_cast<size_t*>(argument) = agree;
      },
      &agreeing);
  return agreeing > 0;
}

}  // namespace wisp
