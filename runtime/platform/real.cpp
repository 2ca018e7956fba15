#include "platform/real.h"

#include "platform/log.h"

namespace wisp::real {

#define WISP_REAL(ret, name, args) ret(*name) args;
#define WISP_REAL_VERSIONED(ret, name, args, version) ret(*name) args;
#include "platform/real.def"
#undef WISP_REAL_VERSIONED
#undef WISP_REAL

bool g_resolved = false;

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
  __atomic_store_n(&g_resolved, true, __ATOMIC_RELEASE);
}

}  // namespace wisp::real
