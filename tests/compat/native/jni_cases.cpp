// Native half of JniCases.java: what a JNI library may do on a thread, none of it known to Wisp.
// Each function returns a number or text that does not depend on timing.
#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define JNI(type, name) extern "C" JNIEXPORT type JNICALL Java_JniCases_##name

namespace {

JavaVM* vm;

// Past libc, so that nothing interposed sees it.
long raw(long nr, long a = 0, long b = 0, long c = 0, long d = 0) {
#if defined(__x86_64__)
  long ret;
  register long r10 asm("r10") = d;
  asm volatile("syscall"
               : "=a"(ret)
               : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
               : "rcx", "r11", "memory");
  return ret;
#else
  register long x8 asm("x8") = nr;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#endif
}

timespec in_ms(clockid_t clock, long ms) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms % 1000 * 1000000;
  t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

jstring text(JNIEnv* env, const std::string& s) { return env->NewStringUTF(s.c_str()); }

void sleep_ms(long ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* the_vm, void*) {
  vm = the_vm;
  return JNI_VERSION_1_8;
}

// ---- blocking and spinning
// -----------------------------------------------------------------------

JNI(void, rawSleep)(JNIEnv*, jclass, jint ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000L};
  raw(SYS_nanosleep, reinterpret_cast<long>(&t), 0);
}

static int pipe_ends[2];
JNI(void, rawPipeOpen)(JNIEnv*, jclass) {
  if (pipe(pipe_ends) != 0) abort();
}
JNI(jint, rawPipeRead)(JNIEnv*, jclass) {
  unsigned char c = 0;
  long n = raw(SYS_read, pipe_ends[0], reinterpret_cast<long>(&c), 1);
  return n == 1 ? c : static_cast<jint>(n);
}
JNI(void, rawPipeWrite)(JNIEnv*, jclass, jint value) {
  unsigned char c = static_cast<unsigned char>(value);
  raw(SYS_write, pipe_ends[1], reinterpret_cast<long>(&c), 1);
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
  while (futex_word.load() == 0) raw(SYS_futex, reinterpret_cast<long>(&futex_word), 128, 0, 0);
}
JNI(void, rawFutexWake)(JNIEnv*, jclass) {
  futex_word.store(1);
  raw(SYS_futex, reinterpret_cast<long>(&futex_word), 129, 1 << 30);
}

// ---- thread-local storage
// ------------------------------------------------------------------------

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
// -------------------------------------------------

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
// --------------------------------------------------------------------------------

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
// ----------------------------------------------------------------------

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

// ---- locks between tasks and own pthreads
// ------------------------------------------------------------

namespace {
pthread_mutex_t recursive, checking, timed = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t barrier;
sem_t semaphore;
pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
long counter[6];
std::atomic<int> serial{0}, turns{0};
int turn = 0, parties = 0;
std::mutex cpp_mutex;
std::condition_variable cpp_changed;
std::atomic<int> failures{0};
pthread_spinlock_t spin_lock;

#define EXPECT(what)                                                               \
  do {                                                                             \
    if (!(what)) {                                                                 \
      ++failures;                                                                  \
      fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #what, errno); \
    }                                                                              \
  } while (0)

void init_locks(int count) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checking, &attr);
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(count));
  sem_init(&semaphore, 0, 2);
  pthread_spin_init(&spin_lock, 0);
  parties = count;
}

// What each of `parties` threads does, tasks and kernel threads alike.
void use_locks(int me) {
  for (int i = 0; i < 300; ++i) {
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    ++counter[0];
    EXPECT(pthread_mutex_unlock(&recursive) == 0);
    if (i % 32 == me % 32) sleep_ms(0);
    EXPECT(pthread_mutex_unlock(&recursive) == 0);

    EXPECT(pthread_mutex_unlock(&checking) == EPERM);
    EXPECT(pthread_mutex_lock(&checking) == 0);
    EXPECT(pthread_mutex_lock(&checking) == EDEADLK);
    ++counter[1];
    EXPECT(pthread_mutex_unlock(&checking) == 0);

    timespec far = in_ms(CLOCK_REALTIME, 60000);
    EXPECT(pthread_mutex_timedlock(&timed, &far) == 0);
    ++counter[2];
    pthread_mutex_unlock(&timed);

    if (i % 8 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      ++counter[3];
      pthread_rwlock_unlock(&rwlock);
    } else {
      pthread_rwlock_rdlock(&rwlock);
      EXPECT(counter[3] >= 0);
      pthread_rwlock_unlock(&rwlock);
    }
    if (i % 4 == 0) {
      while (sem_wait(&semaphore) != 0) EXPECT(errno == EINTR);
      sem_post(&semaphore);
    }
    pthread_spin_lock(&spin_lock);
    ++counter[4];
    pthread_spin_unlock(&spin_lock);
    if (i % 10 == 0) {
      int r = pthread_barrier_wait(&barrier);
      if (r == PTHREAD_BARRIER_SERIAL_THREAD)
        ++serial;
      else
        EXPECT(r == 0);
    }
    if (i % 16 == 0) {  // strict turns over a condition, timed waits among them
      pthread_mutex_lock(&turn_lock);
      while (turn % parties != me) {
        if (me % 2 == 0) {
          timespec soon = in_ms(CLOCK_REALTIME, 50);
          pthread_cond_timedwait(&turn_changed, &turn_lock, &soon);
        } else {
          pthread_cond_wait(&turn_changed, &turn_lock);
        }
      }
      ++turn;
      ++turns;
      pthread_cond_broadcast(&turn_changed);
      pthread_mutex_unlock(&turn_lock);
    }
    {
      std::unique_lock<std::mutex> hold(cpp_mutex);
      ++counter[5];
      cpp_changed.notify_one();
      if (i % 50 == 7) cpp_changed.wait_for(hold, std::chrono::milliseconds(1));
    }
  }
  // Timeouts really time out.
  timespec past = in_ms(CLOCK_REALTIME, 5);
  static sem_t empty;
  EXPECT(sem_timedwait(&empty, &past) == -1 && errno == ETIMEDOUT);
  pthread_barrier_wait(&barrier);
  if (me == 0) pthread_mutex_lock(&timed);
  pthread_barrier_wait(&barrier);
  past = in_ms(CLOCK_REALTIME, 5);
  if (me != 0) EXPECT(pthread_mutex_timedlock(&timed, &past) == ETIMEDOUT);
  if (me != 0) EXPECT(pthread_mutex_trylock(&timed) == EBUSY);
  pthread_barrier_wait(&barrier);
  if (me == 0) pthread_mutex_unlock(&timed);
}
void* locks_main(void* me) {
  use_locks(static_cast<int>(reinterpret_cast<long>(me)));
  return nullptr;
}
std::vector<pthread_t> lock_threads;
}  // namespace

// `tasks` Java threads call locksUse; half as many kernel threads of our own take part.
JNI(void, locksInit)(JNIEnv*, jclass, jint tasks, jint own) {
  init_locks(tasks + own);
  for (int i = 0; i < own; ++i) {
    pthread_t t;
    pthread_create(&t, nullptr, locks_main, reinterpret_cast<void*>(static_cast<long>(tasks + i)));
    lock_threads.push_back(t);
  }
}
JNI(void, locksUse)(JNIEnv*, jclass, jint me) { use_locks(me); }
JNI(jstring, locksEnd)(JNIEnv* env, jclass) {
  for (pthread_t t : lock_threads) pthread_join(t, nullptr);
  std::string s;
  for (long c : counter) s += std::to_string(c) + " ";
  s += "serial " + std::to_string(serial.load()) + " turns " + std::to_string(turns.load()) +
       " failures " + std::to_string(failures.load());
  return text(env, s);
}

static std::atomic<int> once_runs{0};
static pthread_once_t slow_once = PTHREAD_ONCE_INIT;
JNI(jint, once)(JNIEnv*, jclass) {
  pthread_once(&slow_once, [] {
    sleep_ms(50);
    ++once_runs;
  });
  return once_runs.load();
}
static std::string& magic_static() {
  static std::string* made = [] {
    sleep_ms(50);
    ++once_runs;
    return new std::string("once");
  }();
  return *made;
}
JNI(jint, magicStatic)(JNIEnv*, jclass) {
  return static_cast<jint>(magic_static().size()) + once_runs;
}

JNI(jint, futures)(JNIEnv*, jclass) {
  std::vector<std::future<int>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(std::async(std::launch::async, [i] {
      sleep_ms(i);
      if (i == 5) throw std::runtime_error("five");
      return i;
    }));
  int sum = 0;
  for (auto& f : all) try {
      sum += f.get();
    } catch (const std::runtime_error&) {
      sum += 1000;
    }
  std::thread t([&sum] { sum += 10000; });
  t.join();
  return sum;
}

// ---- process-shared and robust
// ------------------------------------------------------------------------

namespace {
struct Shared {
  pthread_mutex_t robust, plain;
  pthread_cond_t changed;
  sem_t sem;
  int value;
};
}  // namespace

JNI(jstring, shared)(JNIEnv* env, jclass) {
  Shared* s = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&s->plain, &attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&s->robust, &attr);
  pthread_condattr_t cattr;
  pthread_condattr_init(&cattr);
  pthread_condattr_setpshared(&cattr, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&s->changed, &cattr);
  sem_init(&s->sem, 1, 0);
  pid_t child = fork();
  if (child == 0) {
    if (pthread_mutex_lock(&s->robust) != 0) _exit(3);
    pthread_mutex_lock(&s->plain);
    s->value = 1;
    pthread_cond_signal(&s->changed);
    while (s->value != 2) pthread_cond_wait(&s->changed, &s->plain);
    pthread_mutex_unlock(&s->plain);
    sem_post(&s->sem);
    struct timespec t {
      0, 30000000
    };
    nanosleep(&t, nullptr);
    _exit(7);  // with the robust mutex held
  }
  std::string out;
  pthread_mutex_lock(&s->plain);
  while (s->value != 1) pthread_cond_wait(&s->changed, &s->plain);
  s->value = 2;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->plain);
  int r;
  while ((r = sem_wait(&s->sem)) != 0 && errno == EINTR) {
  }
  out += "sem " + std::to_string(r);
  r = pthread_mutex_lock(&s->robust);
  out += r == EOWNERDEAD ? " owner dead" : " robust " + std::to_string(r);
  pthread_mutex_consistent(&s->robust);
  out += " unlock " + std::to_string(pthread_mutex_unlock(&s->robust));
  out += " lock " + std::to_string(pthread_mutex_lock(&s->robust));
  pthread_mutex_unlock(&s->robust);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  out += " exit " + std::to_string(WEXITSTATUS(status));
  munmap(s, sizeof(Shared));
  return text(env, out);
}

// A robust mutex whose owner thread ends with it held, inside one process.
static pthread_mutex_t robust_here;
JNI(void, robustInit)(JNIEnv*, jclass) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust_here, &attr);
}
JNI(jint, robustLock)(JNIEnv*, jclass) { return pthread_mutex_lock(&robust_here); }
JNI(jint, robustRepair)(JNIEnv*, jclass) {
  return pthread_mutex_consistent(&robust_here) * 100 + pthread_mutex_unlock(&robust_here);
}

// ---- monitors
// -------------------------------------------------------------------------------------------

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
// ------------------------------------------------------------------------------

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
