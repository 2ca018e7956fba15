#include "platform/kernel.h"

#include <linux/membarrier.h>

namespace wisp::kernel {

bool membarrier_register() {
  return call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void membarrier() { call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

}  // namespace wisp::kernel
