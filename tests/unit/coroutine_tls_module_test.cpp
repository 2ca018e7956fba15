// Thread-local storage of libraries that are loaded while thread blocks exist.
#include <gtest/gtest.h>

#include "coroutine_test_support.h"

#if WISP_SWITCH_FS

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "coroutine/context.h"
#include "platform/compiler.h"

using namespace wisp;
using namespace wisp::test;

namespace {

struct Library {
  void* handle;
  int* (*plain)();
  int* (*zero)();
  char* (*big)();
  int* (*object)();
  int (*live_objects)();

  explicit Library(const char* path) {
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      abort();
    }
    load(&plain, "module_plain");
    load(&zero, "module_zero");
    load(&big, "module_big");
    load(&object, "module_object");
    load(&live_objects, "module_live_objects");
  }
  ~Library() { dlclose(handle); }

  template <typename F>
  void load(F* function, const char* name) {
    *function = reinterpret_cast<F>(dlsym(handle, name));
  }
  void expect_fresh_then_spoil() const {
    EXPECT_EQ(*plain(), 42);
    EXPECT_EQ(*zero(), 0);
    EXPECT_EQ(big()[599], 0);
    EXPECT_EQ(*object(), 7);
    *plain() = *zero() = *object() = 1;
    memset(big(), 1, 600);
  }
};

class TlsModule : public ::testing::TestWithParam<const char*> {};

TEST_P(TlsModule, IsSeparatePerBlockAndFreshAfterReset) {
  Library library(GetParam());
  Block first, second;
  for (int round = 0; round < 3; round++) {
    for (Block* block : {&first, &second}) {
      run_as_thread(
          block, [&] { library.expect_fresh_then_spoil(); }, round > 0);
      EXPECT_EQ(library.live_objects(), 0);
    }
  }
  EXPECT_EQ(*library.plain(), 42);
}

TEST_P(TlsModule, LoadedAfterTheBlocksWereMade) {
  Block loader, other;
  std::unique_ptr<Library> library;
  Coroutine bystander(
      [&](Coroutine& self) {
        thread_block_first_run();
        self.yield();
        library->expect_fresh_then_spoil();
        self.yield();
        EXPECT_EQ(*library->plain(), 1);
        thread_block_exit_hooks(self.block());
      },
      &other);
  bystander.resume();  // in the middle of its life when the library comes
  int* plain_of_loader = nullptr;
  run_as_thread(&loader, [&] {
    thread_block_before_dlopen(&loader);
    library = std::make_unique<Library>(GetParam());
    thread_block_init_late_modules(&loader, true);
    plain_of_loader = library->plain();
    library->expect_fresh_then_spoil();
  });
  thread_block_init_late_modules(&other, false);
  bystander.resume();
  thread_block_init_late_modules(&other, false);  // nothing new: must not overwrite
  bystander.run();
  EXPECT_NE(library->plain(), plain_of_loader);
  EXPECT_EQ(library->live_objects(), 0);
}

TEST_P(TlsModule, UnloadedAndLoadedAgain) {
  Block block;
  for (int round = 0; round < 4; round++) {
    // Alternates, so that a module number and its storage change hands.
    Library library(round % 2 == 0 ? WISP_DYNAMIC_TLS_MODULE : WISP_STATIC_TLS_MODULE);
    thread_block_init_late_modules(&block, false);
    run_as_thread(
        &block, [&] { library.expect_fresh_then_spoil(); }, round > 0);
  }
  run_as_thread(
      &block, [] {}, true);
}

__thread int t_marker = 5;

// A check of every block runs after each dlopen, whatever the creator of a block is doing: it must
// neither overwrite a block that has just been filled nor touch one that is gone.
TEST(TlsModuleRace, ABlockIsMadeAndDestroyedUnderChecks) {
  ThreadBlock block;
  std::atomic<bool> stop{false};
  std::thread checker([&] {
    while (!stop.load(std::memory_order_relaxed)) thread_block_init_late_modules(&block, false);
  });
  ptrdiff_t distance =
      static_cast<ptrdiff_t>(reinterpret_cast<uintptr_t>(&t_marker) - thread_pointer());
  int wiped = 0;
  for (int i = 0; i < 20'000; i++) {
    bool made = thread_block_create(&block, 1);
    EXPECT_TRUE(made);
    if (!made) break;
    auto* marker = reinterpret_cast<volatile int*>(block.tp + static_cast<uintptr_t>(distance));
    wiped += *marker != 5;
    *marker = 6;
    for (int k = 0; k < 200; k++) cpu_pause();
    wiped += *marker != 6;
    thread_block_destroy(&block);
  }
  stop = true;
  checker.join();
  EXPECT_EQ(wiped, 0);
}

const char* name_of(const ::testing::TestParamInfo<const char*>& info) {
  return strcmp(info.param, WISP_STATIC_TLS_MODULE) == 0 ? "Static" : "Dynamic";
}

INSTANTIATE_TEST_SUITE_P(Model, TlsModule,
                         ::testing::Values(WISP_DYNAMIC_TLS_MODULE, WISP_STATIC_TLS_MODULE),
                         name_of);

}  // namespace

#endif
