// Thread blocks: what a coroutine with its own thread pointer sees of the C library.
#include <gtest/gtest.h>

#include "coroutine_test_support.h"

#if WISP_SWITCH_FS

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <netdb.h>
#include <resolv.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace wisp;
using namespace wisp::test;

namespace {

thread_local int counter = 5;
thread_local int touched;

TEST(ThreadBlock, HasItsOwnIdentity) {
  Block block;
  pthread_t self{}, outside = pthread_self();
  uintptr_t tp = 0;
  run_as_thread(&block, [&] {
    self = pthread_self();
    tp = thread_pointer();
  });
  EXPECT_EQ(tp, block.tp);
  EXPECT_EQ(self, thread_block_self(block));
  EXPECT_EQ(thread_pointer_of(self), block.tp);
  EXPECT_NE(self, outside);
  EXPECT_EQ(pthread_self(), outside);
}

TEST(ThreadBlock, IdsAreUniqueAndSettable) {
  std::vector<Block> blocks(20);
  std::set<uint32_t> ids;
  std::set<uintptr_t> pointers;
  for (Block& block : blocks) {
    ids.insert(thread_block_tid(block));
    pointers.insert(block.tp);
  }
  EXPECT_EQ(ids.size(), blocks.size());
  EXPECT_EQ(pointers.size(), blocks.size());
  thread_block_set_tid(blocks[0], 77);
  EXPECT_EQ(thread_block_tid(blocks[0]), 77u);
}

TEST(ThreadBlock, ErrnoAndThreadLocalsAreSeparate) {
  Block first, second;
  auto body = [](int value) {
    return [value](Coroutine& self) {
      thread_block_first_run();
      EXPECT_EQ(errno, 0);
      EXPECT_EQ(counter, 5);
      errno = value;
      counter = value;
      self.yield();
      EXPECT_EQ(errno, value);
      EXPECT_EQ(counter, value);
    };
  };
  Coroutine a(body(101), &first), b(body(102), &second);
  errno = 100;
  counter = 100;
  while (a.resume() | b.resume()) {
    EXPECT_EQ(errno, 100);
    EXPECT_EQ(counter, 100);
  }
  EXPECT_EQ(errno, 100);
  counter = 5;
}

TEST(ThreadBlock, ResetGivesAFreshThread) {
  Block block;
  for (int round = 0; round < 3; round++) {
    run_as_thread(
        &block,
        [] {
          EXPECT_EQ(errno, 0);
          EXPECT_EQ(h_errno, 0);
          EXPECT_EQ(counter, 5);
          EXPECT_EQ(touched, 0);
          EXPECT_EQ(dlerror(), nullptr);
          EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE);
          int state = -1;
          pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
          EXPECT_EQ(state, PTHREAD_CANCEL_ENABLE);
          EXPECT_EQ(dlopen("/does/not/exist", RTLD_NOW), nullptr);
          uselocale(newlocale(LC_ALL_MASK, "C", nullptr));
          errno = h_errno = counter = touched = 99;
        },
        round > 0);
  }
}

TEST(ThreadBlock, MallocAcrossBlocks) {
  Block first, second;
  std::vector<char*> memory;
  run_as_thread(&first, [&] {
    for (size_t i = 0; i < 1000; i++) {
      memory.push_back(static_cast<char*>(malloc(i * 7 % 3000 + 1)));
      memory.back()[0] = 'x';
    }
  });
  run_as_thread(&second, [&] {
    for (size_t i = 0; i < 500; i++) free(memory[i]);
  });
  for (size_t i = 500; i < memory.size(); i++) free(memory[i]);
}

TEST(ThreadBlock, CpuIsTheRealOne) {
  Block block;
  run_as_thread(&block, [] {
    cpu_set_t old, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      if (!CPU_ISSET(cpu, &old) || sched_setaffinity(0, sizeof one, &one) != 0) continue;
      EXPECT_EQ(sched_getcpu(), cpu);
    }
    sched_setaffinity(0, sizeof old, &old);
  });
}

TEST(ThreadBlock, LibraryFunctionsWork) {
  Block block;
  run_as_thread(&block, [] {
    char text[64];
    snprintf(text, sizeof text, "%d %.3f %s", 42, 2.5, "word");
    EXPECT_STREQ(text, "42 2.500 word");
    EXPECT_EQ(strtod("1234.5e-1", nullptr), 123.45);
    EXPECT_TRUE(isalpha('a') && !isalpha('1'));
    EXPECT_EQ(toupper('q'), 'Q');
    EXPECT_NE(strerror(ENOENT), nullptr);
    EXPECT_STREQ(setlocale(LC_ALL, nullptr), "C");
    EXPECT_THROW(std::stoi("no number"), std::invalid_argument);
  });
}

TEST(ThreadBlock, ResolverStateIsPerBlock) {
  Block first, second;
  struct __res_state *a = nullptr, *b = nullptr;
  run_as_thread(&first, [&] { a = &_res; });
  run_as_thread(&second, [&] { b = &_res; });
  EXPECT_EQ(a, first.resolver);
  EXPECT_EQ(b, second.resolver);
  EXPECT_NE(a, &_res);
  for (int round = 0; round < 2; round++) {
    run_as_thread(
        &first,
        [] {
          struct addrinfo hints = {}, *result = nullptr;
          hints.ai_family = AF_INET;
          ASSERT_EQ(getaddrinfo("localhost", "80", &hints, &result), 0);
          EXPECT_NE(result, nullptr);
          freeaddrinfo(result);
          res_init();
          EXPECT_TRUE(_res.options & RES_INIT);
        },
        true);
    EXPECT_FALSE(a->options & RES_INIT);
  }
}

TEST(ThreadBlock, RobustAndRecursiveMutexesWork) {
  Block block;
  run_as_thread(&block, [] {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_t mutex;
    pthread_mutex_init(&mutex, &attributes);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_lock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    EXPECT_EQ(pthread_mutex_unlock(&mutex), EPERM);
    pthread_mutex_destroy(&mutex);
  });
}

TEST(ThreadBlock, StdioLockIsOwnedByTheBlock) {
  Block first, second;
  FILE* file = tmpfile();
  ASSERT_NE(file, nullptr);
  Coroutine holder(
      [&](Coroutine& self) {
        thread_block_first_run();
        flockfile(file);
        self.yield();
        funlockfile(file);
      },
      &first);
  holder.resume();
  run_as_thread(&second, [&] { EXPECT_NE(ftrylockfile(file), 0); });
  holder.resume();
  fclose(file);
}

TEST(ThreadBlock, ExceptionInFlightIsPerBlock) {
  Block first, second;
  auto body = [](const char* text) {
    return [text](Coroutine& self) {
      try {
        throw std::string(text);
      } catch (...) {
        self.yield();
        try {
          throw;
        } catch (const std::string& mine) {
          EXPECT_EQ(mine, text);
        }
        self.yield();
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    };
  };
  Coroutine a(body("a"), &first), b(body("b"), &second);
  while (a.resume() | b.resume()) {
  }
}

TEST(ThreadBlock, MovesBetweenKernelThreadsWithItsState) {
  Block block;
  long last = 0;
  Coroutine coroutine(
      [&](Coroutine& self) {
        thread_block_first_run();
        for (int i = 0; i < 10; i++) {
          EXPECT_EQ(counter, 5 + i);
          counter++;
          errno = i;
          long now = syscall(SYS_gettid);
          EXPECT_NE(now, last);
          last = now;
          self.yield();
          EXPECT_EQ(errno, i);
        }
      },
      &block);
  bool more = true;
  while (more) {
    std::thread other([&] { more = coroutine.resume(); });
    other.join();
    if (more) more = coroutine.resume();
  }
  EXPECT_EQ(counter, 5);
}

}  // namespace

#endif
