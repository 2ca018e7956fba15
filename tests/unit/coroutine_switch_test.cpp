// The context switch: what it must preserve, and that unwinding works on a coroutine's stack.
#include <fenv.h>
#include <gtest/gtest.h>
#include <unwind.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "coroutine_registers.h"
#include "coroutine_test_support.h"

using namespace wisp;
using namespace wisp::test;

namespace {

void yield_step(void* argument) { static_cast<Coroutine*>(argument)->yield(); }
void resume_step(void* argument) { static_cast<Coroutine*>(argument)->resume(); }

void expect_registers_preserved() {
  long changed_inside = -1;
  Coroutine coroutine([&](Coroutine& self) {
    changed_inside = registers_changed(yield_step, &self, 0x1111111100000000);
  });
  EXPECT_EQ(registers_changed(resume_step, &coroutine, 0x2222222200000000), 0);
  EXPECT_EQ(registers_changed(resume_step, &coroutine, 0x3333333300000000), 0);
  EXPECT_EQ(changed_inside, 0);
}

TEST(Switch, PreservesCalleeSavedRegisters) { expect_registers_preserved(); }

#if defined(__x86_64__)
TEST(Switch, SyscallEntryPreservesThemToo) {
  bool saved = fs_by_instruction;
  fs_by_instruction = false;
  expect_registers_preserved();
  fs_by_instruction = saved;
}
#endif

TEST(Switch, CarriesTheArgumentBothWays) {
  struct Pair {
    Context outside, inside;
    Fiber home, fiber;
    std::vector<int> seen;
  } pair;
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 64 * 1024, 4096));
  fiber_adopt_thread(&pair.home);
  fiber_create(&pair.fiber, stack.base, stack.size);
  auto entry = [](void* argument, void* user) {
    auto* p = static_cast<Pair*>(user);
    fiber_enter(&p->fiber);
    for (;;) {
      p->seen.push_back(*static_cast<int*>(argument));
      int answer = p->seen.back() * 10;
      fiber_leave(&p->fiber, &p->home, false);
      argument = switch_context(&p->inside, &p->outside, thread_pointer(), &answer);
      fiber_enter(&p->fiber);
    }
  };
  context_init(&pair.inside, stack_start(stack), entry, &pair);
  for (int i = 1; i <= 3; i++) {
    fiber_leave(&pair.home, &pair.fiber, false);
    void* answer = switch_context(&pair.outside, &pair.inside, thread_pointer(), &i);
    fiber_enter(&pair.home);
    EXPECT_EQ(*static_cast<int*>(answer), i * 10);
  }
  EXPECT_EQ(pair.seen, (std::vector<int>{1, 2, 3}));
  fiber_destroy(&pair.fiber);
  stack_release(&stack);
}

TEST(Switch, RoundingModeBelongsToTheFlow) {
  int inside = -1;
  Coroutine coroutine([&](Coroutine& self) {
    fesetround(FE_UPWARD);
    self.yield();
    inside = fegetround();
  });
  coroutine.resume();
  EXPECT_EQ(fegetround(), FE_TONEAREST);
  fesetround(FE_DOWNWARD);
  coroutine.resume();
  EXPECT_EQ(fegetround(), FE_DOWNWARD);
  EXPECT_EQ(inside, FE_UPWARD);
  fesetround(FE_TONEAREST);
}

TEST(Switch, RoundingModeIsInheritedFromTheCreator) {
  fesetround(FE_TOWARDZERO);
  int inside = -1;
  Coroutine coroutine([&](Coroutine&) { inside = fegetround(); });
  fesetround(FE_TONEAREST);
  coroutine.run();
  EXPECT_EQ(inside, FE_TOWARDZERO);
  EXPECT_EQ(fegetround(), FE_TONEAREST);
}

#if defined(__x86_64__)
TEST(Switch, X87ControlWordBelongsToTheFlow) {
  auto get = [] {
    uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
  };
  uint16_t original = get();
  uint16_t single_precision = original & ~0x300;
  uint16_t inside = 0;
  Coroutine coroutine([&](Coroutine& self) {
    asm volatile("fldcw %0" ::"m"(single_precision));
    self.yield();
    inside = get();
  });
  coroutine.resume();
  EXPECT_EQ(get(), original);
  coroutine.resume();
  EXPECT_EQ(get(), original);
  EXPECT_EQ(inside, single_precision);
}
#endif

TEST(Switch, StackIsAlignedAtEntry) {
  uintptr_t misaligned = 1;
  Coroutine coroutine([&](Coroutine&) {
    // The compiler places it by the ABI's promise, and does not realign for 16.
    alignas(16) volatile char aligned[16] = {};
    misaligned = reinterpret_cast<uintptr_t>(&aligned[0]) % 16;
  });
  coroutine.run();
  EXPECT_EQ(misaligned, 0u);
}

TEST(Switch, Nested) {
  std::string trace;
  Coroutine outer([&](Coroutine& self) {
    Coroutine inner([&](Coroutine& in) {
      trace += "b";
      in.yield();
      trace += "d";
    });
    trace += "a";
    inner.resume();
    trace += "c";
    self.yield();
    inner.resume();
    trace += "e";
  });
  outer.resume();
  trace += "|";
  outer.resume();
  EXPECT_EQ(trace, "abc|de");
}

TEST(Switch, ExceptionsStayInsideTheCoroutine) {
  std::string caught;
  Coroutine coroutine([&](Coroutine& self) {
    try {
      self.yield();
      std::vector<int> values(3);
      values.at(5) = 1;
    } catch (const std::out_of_range&) {
      caught = "out_of_range ";
    }
    try {
      throw std::runtime_error("kept over a switch");
    } catch (...) {
      self.yield();
      try {
        throw;
      } catch (const std::exception& e) {
        caught += e.what();
      }
    }
  });
  coroutine.run();
  EXPECT_EQ(caught, "out_of_range kept over a switch");
}

TEST(Switch, UnwinderStopsAtTheFirstFrame) {
  struct Count {
    int frames = 0;
    static _Unwind_Reason_Code step(_Unwind_Context*, void* self) {
      return ++static_cast<Count*>(self)->frames < 100 ? _URC_NO_REASON : _URC_NORMAL_STOP;
    }
  } count;
  _Unwind_Reason_Code reason = _URC_NO_REASON;
  Coroutine coroutine([&](Coroutine&) { reason = _Unwind_Backtrace(Count::step, &count); });
  coroutine.run();
  EXPECT_EQ(reason, _URC_END_OF_STACK);
  EXPECT_GT(count.frames, 2);
  EXPECT_LT(count.frames, 20);
}

#if !defined(__SANITIZE_THREAD__)
TEST(SwitchDeathTest, UncaughtExceptionTerminates) {
  EXPECT_DEATH(
      {
        Coroutine coroutine([](Coroutine&) { throw std::runtime_error("nobody catches me"); });
        coroutine.run();
      },
      "nobody catches me");
}
#endif

TEST(Switch, MovesBetweenKernelThreads) {
  Coroutine coroutine([&](Coroutine& self) {
    for (int i = 0; i < 4; i++) self.yield();
  });
  int ended = 0;
  for (int i = 0; i < 5; i++) {
    std::thread worker([&] { ended += coroutine.resume() ? 0 : 1; });
    worker.join();
  }
  EXPECT_EQ(ended, 1);
}

TEST(Switch, ManyCoroutines) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kCount = 200;
#else
  constexpr int kCount = 2000;
#endif
  long sum = 0;
  std::vector<std::unique_ptr<Coroutine>> all;
  for (int i = 0; i < kCount; i++) {
    auto body = [&sum, i](Coroutine& self) {
      for (int k = 0; k < 10; k++) self.yield();
      sum += i;
    };
    all.push_back(std::make_unique<Coroutine>(body, nullptr, 64 * 1024));
  }
  for (int round = 0; round < 11; round++) {
    for (auto& coroutine : all) coroutine->resume();
  }
  EXPECT_EQ(sum, long{kCount} * (kCount - 1) / 2);
}

}  // namespace
