#include "platform/real.h"

#include "platform/log.h"

namespace wisp::real {

#define WISP_REAL(ret, name, args) ret(*name) args;
#include "platform/real.def"
#undef WISP_REAL

bool g_resolved = false;

void resolve() {
  // Racing callers store the same values; g_resolved is set last.
#define WISP_REAL(ret, name, args) name = reinterpret_cast<ret(*) args>(dlsym(RTLD_NEXT, #name));
#include "platform/real.def"
#undef WISP_REAL
  __atomic_store_n(&g_resolved, true, __ATOMIC_RELEASE);
}

}  // namespace wisp::real
