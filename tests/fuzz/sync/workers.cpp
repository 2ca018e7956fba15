// The workers' loop, and how they begin.
#include <semaphore.h>
#include <stdlib.h>

#include "fake_jvm.h"
#include "sync/signals.h"

namespace steps {

thread_local Worker* t_me = nullptr;

namespace {

sem_t g_idle_semaphore[kMaxWorkers];
int g_idle_pipe[kMaxWorkers][2];
pthread_mutex_t g_idle_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_idle_condition = PTHREAD_COND_INITIALIZER;

void wait_for_op(Worker& w) {
  // A request to cancel shall find the ops only.
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  char byte;
  switch (g_world->idle_by) {
    case IdleBy::Sleeps:
      while (w.state.load() != State::Given) {
        timespec t{0, 400000};
        nanosleep(&t, nullptr);
      }
      break;
    case IdleBy::Semaphore:
      while (sem_wait(&g_idle_semaphore[w.index]) != 0) {
      }
      break;
    case IdleBy::Pipe:
      while (read(g_idle_pipe[w.index][0], &byte, 1) != 1) {
      }
      break;
    case IdleBy::Condition:
      pthread_mutex_lock(&g_idle_mutex);
      while (w.state.load() != State::Given) pthread_cond_wait(&g_idle_condition, &g_idle_mutex);
      pthread_mutex_unlock(&g_idle_mutex);
      break;
  }
  pthread_setcancelstate(before, nullptr);
}

}  // namespace

void tell_worker(Worker& w) {
  switch (g_world->idle_by) {
    case IdleBy::Sleeps:
      w.state.store(State::Given);
      break;
    case IdleBy::Semaphore:
      w.state.store(State::Given);
      sem_post(&g_idle_semaphore[w.index]);
      break;
    case IdleBy::Pipe:
      w.state.store(State::Given);
      if (write(g_idle_pipe[w.index][1], "x", 1) != 1) abort();
      break;
    case IdleBy::Condition:
      pthread_mutex_lock(&g_idle_mutex);
      w.state.store(State::Given);
      pthread_cond_broadcast(&g_idle_condition);
      pthread_mutex_unlock(&g_idle_mutex);
      break;
  }
}

namespace {

void has_ended(void* worker) {
  Worker* w = static_cast<Worker*>(worker);
  w->events.add("its cleanup");
  w->state.store(State::Ended);
}

void look_at_identity(Worker& w) {
  if (!pthread_equal(pthread_self(), w.thread)) w.events.add("IDENTITY: pthread_self");
  if (gettid() != w.tid) w.events.add("IDENTITY: gettid");
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  if (bits_of(mask) != w.blocked) w.events.add("MASK is %ld", static_cast<long>(bits_of(mask)));
  if (t_me != &w) w.events.add("IDENTITY: thread_local");
}

void* worker_main(void* argument) {
  Worker& w = *static_cast<Worker*>(argument);
  t_me = &w;
  w.tid = gettid();
  w.thread = pthread_self();
  // The kernel's name of a native thread that a task has made is that of the worker.
  if (w.kind == Kind::Native) pthread_setname_np(w.thread, "native");
  pthread_cleanup_push(has_ended, &w);
  w.state.store(State::Idle);
  for (;;) {
    wait_for_op(w);
    look_at_identity(w);
    w.running.store(true);
    w.depth = 0;
    Result r = w.op->body(w);
    w.running.store(false);
    w.result = std::move(r);
    w.state.store(State::Done);
  }
  pthread_cleanup_pop(1);
  return nullptr;
}

}  // namespace

int start_thread(Kind kind, pthread_t* thread, const pthread_attr_t* attributes,
                 void* (*run)(void*), void* argument) {
  if (kind == Kind::Native) return pthread_create(thread, attributes, run, argument);
  return ::start_java(thread, attributes, run, argument);
}

bool World::start_worker(Kind kind, int index, const pthread_attr_t* attributes, const char* how) {
  static bool first = true;
  if (first)
    for (int i = 0; i < kMaxWorkers; ++i) {
      sem_init(&g_idle_semaphore[i], 0, 0);
      if (pipe(g_idle_pipe[i]) != 0) abort();
    }
  first = false;
  Worker& w = workers[index];
  w.index = index;
  w.canceled = w.detached = w.joined_by_op = w.has_stack = w.end_seen = w.cancel_off = false;
  w.kind = kind;
  w.blocked = 0;
  w.jump = nullptr;
  w.stop.store(false);
  pthread_t thread;
  int e = start_thread(kind, &thread, attributes, worker_main, &w);
  if (e != 0) {
    log("start w%d %s: %s", index, how, error_name(e).c_str());
    return false;
  }
  for (int i = 0; w.state.load() != State::Idle && i < 20000; ++i) sleep_ms(1);
  log("start w%d %s%s", index, how, w.idle() ? "" : " HANGS");
  return w.idle();
}

}  // namespace steps
