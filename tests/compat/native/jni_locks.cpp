// Native half of JniCases.java: locks between tasks and pthreads of the library's own, what C++
// makes of them, and those that processes share.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "jni_cases.h"

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
