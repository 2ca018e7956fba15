// Many coroutines with thread blocks, moved between two kernel threads.
#include <gtest/gtest.h>

#include "coroutine_test_support.h"

#if WISP_SWITCH_FS

#include <errno.h>
#include <stdio.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace wisp;
using namespace wisp::test;

namespace {

thread_local int local = 11;
thread_local std::string text = "fresh";

// Work that leans on everything a thread block provides; a switch lies between each use.
void work(Coroutine& self, int id, std::atomic<int>* failures) {
  thread_block_first_run();
  bool ok = errno == 0 && local == 11 && text == "fresh";
  void* memory = nullptr;
  for (int step = 0; step < 5; step++) {
    local = id + step;
    text += std::to_string(id);
    free(memory);
    memory = malloc(static_cast<size_t>(id % 2000 + 1));
    char buffer[32];
    snprintf(buffer, sizeof buffer, "%d/%.2f", id, step * 0.5);
    std::string before = buffer;
    try {
      throw std::runtime_error(before);
    } catch (const std::exception& e) {
      errno = id % 100;  // here, as a successful malloc may set it
      self.yield();
      ok = ok && errno == id % 100 && before == e.what();
    }
    ok = ok && local == id + step && memory != nullptr;
  }
  free(memory);
  if (!ok) (*failures)++;
  thread_block_exit_hooks(self.block());
}

using Coroutines = std::vector<std::unique_ptr<Coroutine>>;

// Each round splits the coroutines anew, so that many move to the other kernel thread.
void run_on_two_threads(Coroutines& all) {
  std::atomic<bool> more{true};
  while (more) {
    more = false;
    std::atomic<size_t> next{0};
    auto worker = [&] {
      for (size_t i; (i = next++) < all.size();) {
        if (all[i] && all[i]->resume()) {
          more = true;
        } else {
          all[i].reset();
        }
      }
    };
    std::thread a(worker), b(worker);
    a.join();
    b.join();
  }
}

TEST(Stress, TenThousandThreadBlocks) {
  std::atomic<int> failures{0};
  std::vector<Block> blocks(10'000);
  Coroutines all;
  for (int i = 0; i < 10'000; i++) {
    auto body = [i, &failures](Coroutine& self) { work(self, i, &failures); };
    all.push_back(std::make_unique<Coroutine>(body, &blocks[static_cast<size_t>(i)], 64 * 1024));
  }
  run_on_two_threads(all);
  EXPECT_EQ(failures, 0);
}

TEST(Stress, RecycledBlocks) {
  std::atomic<int> failures{0};
  std::vector<Block> blocks(50);
  for (int generation = 0; generation < 100; generation++) {
    Coroutines all;
    for (Block& block : blocks) {
      auto body = [generation, &failures](Coroutine& self) {
        if (generation > 0) thread_block_reset(self.block());
        work(self, generation, &failures);
      };
      all.push_back(std::make_unique<Coroutine>(body, &block));
    }
    run_on_two_threads(all);
  }
  EXPECT_EQ(failures, 0);
}

}  // namespace

#endif
