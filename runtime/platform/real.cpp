#include "platform/real.h"

#include <string.h>

#include <atomic>
#include <initializer_list>

#include "platform/log.h"

namespace wisp::real {

#define WISP_REAL(ret, name, args) ret(*name) args;
#define WISP_REAL_VERSIONED(ret, name, args, version) ret(*name) args;
#include "platform/real.def"
#undef WISP_REAL_VERSIONED
#undef WISP_REAL

bool g_resolved = false;
Others g_others = {};

// libc's own, also by the names of its file and of libpthread's before glibc 2.34.
static bool is_libcs(void* function) {
  Dl_info info;
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr) return true;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* name = slash != nullptr ? slash + 1 : info.dli_fname;
  for (const char* known : {"libc.", "libc-", "libpthread"})
    if (strncmp(name, known, strlen(known)) == 0) return true;
  return false;
}

template <typename... F>
static bool any_is_anothers(F... functions) {
  return !(is_libcs(reinterpret_cast<void*>(functions)) && ...);
}

static void* versioned(const char* name, const char* version) {
  void* found = dlvsym(RTLD_NEXT, name, version);
  return found != nullptr ? found : dlsym(RTLD_NEXT, name);
}

void resolve() {
  // Racing callers store the same values; g_resolved is set last.
#define WISP_REAL(ret, name, args) name = reinterpret_cast<ret(*) args>(dlsym(RTLD_NEXT, #name));
#define WISP_REAL_VERSIONED(ret, name, args, version) \
  name = reinterpret_cast<ret(*) args>(versioned(#name, version));
#include "platform/real.def"
#undef WISP_REAL_VERSIONED
#undef WISP_REAL
  g_others = {any_is_anothers(connect), any_is_anothers(open, openat),
              any_is_anothers(fsync, fdatasync)};
  __atomic_store_n(&g_resolved, true, __ATOMIC_RELEASE);
}

Dlsym libcs_dlsym() {
  // The two ABIs' first versions; libc keeps them.
#if defined(__x86_64__)
  static const char kVersion[] = "GLIBC_2.2.5";
#else
  static const char kVersion[] = "GLIBC_2.17";
#endif
  // relaxed: racing callers store the same value.
  static std::atomic<Dlsym> found{nullptr};
  Dlsym f = found.load(std::memory_order_relaxed);
  if (WISP_LIKELY(f != nullptr)) return f;
  f = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", kVersion));
  if (f == nullptr) fatal("dlsym: not found in libc");
  found.store(f, std::memory_order_relaxed);
  return f;
}

void* own_handle() {
  static std::atomic<void*> found{nullptr};
  void* handle = found.load(std::memory_order_relaxed);
  if (handle != nullptr) return handle;
  ensure();
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&resolve), &info) == 0) return nullptr;
  handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  found.store(handle, std::memory_order_relaxed);
  return handle;
}

}  // namespace wisp::real
