// Start of the coroutine tests: what the runtime does first, then GoogleTest.
#include <gtest/gtest.h>

#include <cstdio>

#include "coroutine/context.h"
#include "coroutine/thread_block.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  wisp::context_setup();
#if WISP_SWITCH_FS
  const char* why = nullptr;
  if (!wisp::thread_block_probe(&why)) {
    std::fprintf(stderr, "thread blocks are not usable: %s\n", why);
    return 1;
  }
#endif
  return RUN_ALL_TESTS();
}
