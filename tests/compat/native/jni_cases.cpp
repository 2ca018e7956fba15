// Native half of JniCases.java: what a JNI library may do on a thread, none of it known to Wisp.
// Each function returns a number or text that does not depend on timing. Locks are in
// jni_locks.cpp.
#include "jni_cases.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../preload/by_kernel.h"

static JavaVM* vm;

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* the_vm, void*) {
  vm = the_vm;
  return JNI_VERSION_1_8;
}

// ---- blocking and spinning

JNI(void, rawSleep)(JNIEnv*, jclass, jint ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000L};
  by_kernel(SYS_nanosleep, reinterpret_cast<long>(&t), 0, 0);
}

static int pipe_ends[2];
JNI(void, rawPipeOpen)(JNIEnv*, jclass) {
  if (pipe(pipe_ends) != 0) abort();
}
JNI(jint, rawPipeRead)(JNIEnv*, jclass) {
  unsigned char c = 0;
  long n = by_kernel(SYS_read, pipe_ends[0], reinterpret_cast<long>(&c), 1);
  return n == 1 ? c : static_cast<jint>(n);
}
JNI(void, rawPipeWrite)(JNIEnv*, jclass, jint value) {
  unsigned char c = static_cast<unsigned char>(value);
  by_kernel(SYS_write, pipe_ends[1], reinterpret_cast<long>(&c), 1);
}

static std::atomic<int> flag{0};
JNI(void, flagSpin)(JNIEnv*, jclass, jint value) {
  while (flag.load(std::memory_order_relaxed) != value) {
  }
}
JNI(void, flagSet)(JNIEnv*, jclass, jint value) { flag.store(value); }

JNI(jlong, spin)(JNIEnv*, jclass, jint ms) {
  timespec end = in_ms(CLOCK_MONOTONIC, ms), now;
  unsigned long n = 0;
  do {
    for (int i = 0; i < 1000; ++i) asm volatile("" : "+r"(n));
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
  return 0;
}

// A futex of its own, by a raw system call, that Wisp cannot see.
static std::atomic<int> futex_word{0};
JNI(void, rawFutexWait)(JNIEnv*, jclass) {
  while (futex_word.load() == 0)
    by_kernel4(SYS_futex, reinterpret_cast<long>(&futex_word), 128, 0, 0);
}
JNI(void, rawFutexWake)(JNIEnv*, jclass) {
  futex_word.store(1);
  by_kernel(SYS_futex, reinterpret_cast<long>(&futex_word), 129, 1 << 30);
}

// ---- thread-local storage

static std::atomic<int> locals_made{0}, locals_ended{0}, keys_ended{0}, key_order_wrong{0};
namespace {
struct Local {
  std::string words = "fresh";
  int uses = 0;
  Local() { ++locals_made; }
  ~Local() {
    if (words.find("fresh") == 0) ++locals_ended;
  }
};
thread_local Local local;
thread_local int plain_local = 7;
pthread_key_t key;
pthread_key_t key_again;
pthread_once_t key_once = PTHREAD_ONCE_INIT;
void key_end(void* value) {
  if (*static_cast<int*>(value) == 42) ++keys_ended;
  free(value);
}
// Sets itself again once: POSIX runs destructors until nothing is left (or four rounds).
void key_again_end(void* value) {
  if (value == reinterpret_cast<void*>(1))
    pthread_setspecific(key_again, reinterpret_cast<void*>(2));
  else
    ++keys_ended;
}
}  // namespace

JNI(jint, localUse)(JNIEnv*, jclass) {
  local.words += "+";
  plain_local += 1;
  return ++local.uses * 100 + plain_local;
}
JNI(jint, localsEnded)(JNIEnv*, jclass) { return locals_ended.load(); }
JNI(jint, localsMade)(JNIEnv*, jclass) { return locals_made.load(); }
JNI(jint, keyUse)(JNIEnv*, jclass) {
  pthread_once(&key_once, [] {
    pthread_key_create(&key, key_end);
    pthread_key_create(&key_again, key_again_end);
  });
  bool first = pthread_getspecific(key) == nullptr;
  if (first) {
    int* value = static_cast<int*>(malloc(sizeof(int)));
    *value = 42;
    pthread_setspecific(key, value);
    pthread_setspecific(key_again, reinterpret_cast<void*>(1));
  }
  return first ? 1 : 0;
}
JNI(jint, keysEnded)(JNIEnv*, jclass) { return keys_ended.load(); }

// ---- a library that comes late, with thread-locals

static int (*late_next)() = nullptr;
JNI(jboolean, lateLoad)(JNIEnv* env, jclass, jstring path) {
  const char* chars = env->GetStringUTFChars(path, nullptr);
  void* handle = dlopen(chars, RTLD_NOW);
  if (handle == nullptr) fprintf(stderr, "%s\n", dlerror());
  env->ReleaseStringUTFChars(path, chars);
  if (handle == nullptr) return JNI_FALSE;
  late_next = reinterpret_cast<int (*)()>(dlsym(handle, "late_next"));
  return late_next != nullptr;
}
JNI(jint, lateNext)(JNIEnv*, jclass) { return late_next(); }

// ---- C++ exceptions

static int thrower(int depth) {
  struct Guard {
    int* n;
    ~Guard() { ++*n; }
  };
  static thread_local int unwound;
  if (depth == 0) {
    unwound = 0;
    sleep_ms(1);
    throw std::runtime_error("bottom");
  }
  Guard guard{&unwound};
  thrower(depth - 1);
  return unwound;
}

JNI(jint, exceptions)(JNIEnv* env, jclass c, jobject callback) {
  jmethodID run = env->GetMethodID(env->FindClass("java/lang/Runnable"), "run", "()V");
  (void)c;
  int caught = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      thrower(10);
    } catch (const std::runtime_error& e) {
      // Blocks with an exception in flight: __cxa_get_globals is per thread.
      env->CallVoidMethod(callback, run);
      if (env->ExceptionCheck()) return -1;
      if (std::string(e.what()) == "bottom") ++caught;
      try {
        sleep_ms(0);
        throw 5;
      } catch (int five) {
        if (five == 5 && std::uncaught_exceptions() == 0) ++caught;
      }
    }
  }
  return caught;
}

// ---- own pthreads that attach

namespace {
struct Attach {
  jobject callback;
  std::atomic<int>* done;
};
void* attach_main(void* argument) {
  Attach* a = static_cast<Attach*>(argument);
  for (int round = 0; round < 3; ++round) {
    JNIEnv* env;
    if (vm->AttachCurrentThread(reinterpret_cast<void**>(&env), nullptr) != JNI_OK) return nullptr;
    jmethodID run = env->GetMethodID(env->FindClass("java/lang/Runnable"), "run", "()V");
    bool good = true;
    for (int i = 0; i < 50 && good; ++i) {
      env->CallVoidMethod(a->callback, run);
      good = !env->ExceptionCheck();
    }
    if (good) ++*a->done;
    vm->DetachCurrentThread();
  }
  return a;
}
}  // namespace

JNI(jint, attach)(JNIEnv* env, jclass, jobject callback, jint threads) {
  std::atomic<int> done{0};
  Attach a{env->NewGlobalRef(callback), &done};
  std::vector<pthread_t> made(static_cast<size_t>(threads));
  for (pthread_t& t : made)
    if (pthread_create(&t, nullptr, attach_main, &a) != 0) return -1;
  int joined = 0;
  for (pthread_t t : made) {
    void* result = nullptr;
    if (pthread_join(t, &result) == 0 && result == &a) ++joined;
  }
  env->DeleteGlobalRef(a.callback);
  return done.load() * 100 + joined;
}

// ---- monitors

JNI(void, monitors)(JNIEnv* env, jclass, jobject lock, jintArray cell, jint rounds) {
  for (int i = 0; i < rounds; ++i) {
    env->MonitorEnter(lock);
    env->MonitorEnter(lock);
    jint v;
    env->GetIntArrayRegion(cell, 0, 1, &v);
    if (i % 16 == 0) sleep_ms(1);  // held over a wait
    ++v;
    env->SetIntArrayRegion(cell, 0, 1, &v);
    env->MonitorExit(lock);
    env->MonitorExit(lock);
  }
}

// Holds off the collector, sleeping.
JNI(jint, critical)(JNIEnv* env, jclass, jintArray array) {
  jint* p = static_cast<jint*>(env->GetPrimitiveArrayCritical(array, nullptr));
  sleep_ms(5);
  p[0] += 1;
  jint v = p[0];
  env->ReleasePrimitiveArrayCritical(array, p, 0);
  return v;
}

// ---- identity, limits, death

JNI(jboolean, identity)(JNIEnv*, jclass) {
  pthread_t self = pthread_self();
  long tid = syscall(SYS_gettid);
  sleep_ms(2);
  pthread_attr_t attr;
  void* base;
  size_t size;
  char name[16], *here = name;
  bool ok = pthread_equal(self, pthread_self()) && tid == syscall(SYS_gettid);
  ok =
      ok && pthread_getattr_np(self, &attr) == 0 && pthread_attr_getstack(&attr, &base, &size) == 0;
  ok = ok && here >= static_cast<char*>(base) && here < static_cast<char*>(base) + size;
  return ok && pthread_getname_np(self, name, sizeof name) == 0;
}

JNI(void, crash)(JNIEnv*, jclass) { *reinterpret_cast<volatile int*>(8) = 1; }
JNI(void, abortNow)(JNIEnv*, jclass) { abort(); }
JNI(jlong, address)(JNIEnv*, jclass, jint kind) {
  rlimit r;
  getrlimit(kind, &r);
  return static_cast<jlong>(r.rlim_cur);
}
JNI(void, limit)(JNIEnv*, jclass, jint kind, jlong value) {
  rlimit r;
  getrlimit(kind, &r);
  r.rlim_cur = static_cast<rlim_t>(value);
  setrlimit(kind, &r);
}
