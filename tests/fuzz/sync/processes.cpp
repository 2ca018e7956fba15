// Children of workers, and how the program ends.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sync/steps.h"

extern char** environ;

namespace steps {

namespace {

int g_gate[2];  // who reads it waits until the driver lets it go
std::atomic<int> g_forks{0};
pthread_mutex_t g_fork_mutex = PTHREAD_MUTEX_INITIALIZER;

void before() { g_world->elsewhere.add("before fork"); }
void in_parent() { g_world->elsewhere.add("after fork"); }
void in_child() { g_forks.fetch_add(1); }

void prepare(World&) {
  if (pipe2(g_gate, O_CLOEXEC) != 0) abort();
  pthread_atfork(before, in_parent, in_child);
}

void* waits_a_little(void* p) {
  sleep_ms(1);
  return p;
}

// What the child of a worker finds, as bits.
int look_around(Worker& who, pthread_t self, int forks) {
  int wrong = 0;
  if (!pthread_equal(pthread_self(), self)) wrong |= 1;
  if (gettid() != getpid()) wrong |= 2;
  if (g_forks.load() != forks + 1) wrong |= 4;
  if (t_me != &who) wrong |= 8;
  if (pthread_mutex_unlock(&g_fork_mutex) != 0 || pthread_mutex_lock(&g_fork_mutex) != 0)
    wrong |= 16;
  pthread_t t;
  void* value = nullptr;
  if (start_thread(Kind::Java, &t, nullptr, waits_a_little, &who) != 0 ||
      pthread_join(t, &value) != 0 || value != &who)
    wrong |= 32;
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&m);
  timespec at = after_ms(CLOCK_REALTIME, 1);
  if (pthread_cond_timedwait(&c, &m, &at) != ETIMEDOUT) wrong |= 64;
  return wrong;
}

std::string status_of(int status) {
  if (WIFEXITED(status)) return format("exited %d", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) return format("killed %d", WTERMSIG(status));
  return format("status %x", status);
}

bool make_fork(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int how = world.random.below(4);
  op->name = format("fork, the child ends by %d", how);
  op->body = [how](Worker& who) {
    pthread_t self = pthread_self();
    pthread_mutex_lock(&g_fork_mutex);
    int forks = g_forks.load();
    pid_t child = fork();
    if (child == 0) {
      int wrong = look_around(who, self, forks);
      if (how == 0) _exit(wrong);
      if (how == 1) quick_exit(wrong);
      if (how == 2) raise(SIGKILL);
      execl("/bin/sh", "sh", "-c", wrong == 0 ? "exit 9" : "exit 99", nullptr);
      _exit(127);
    }
    pthread_mutex_unlock(&g_fork_mutex);
    int status = 0;
    pid_t got;
    do got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    return Result{got == child, 0, status_of(status)};
  };
  return true;
}

bool make_child(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int how = world.random.below(5);
  static const char* const names[] = {"posix_spawn", "vfork", "system", "popen",
                                      "posix_spawn of nothing"};
  op->name = names[how];
  op->body = [how](Worker&) {
    int status = 0;
    pid_t child = -1;
    if (how == 0 || how == 4) {
      char name[] = "sh", flag[] = "-c", script[] = "exit 6";
      char* argv[] = {name, flag, script, nullptr};
      int e = posix_spawn(&child, how == 0 ? "/bin/sh" : "/nonexistent", nullptr, nullptr, argv,
                          environ);
      if (e != 0) return by_number(e);
    } else if (how == 1) {
      child = vfork();
      if (child == 0) _exit(4);
    } else if (how == 2) {
      return Result{0, 0, status_of(system("exit 3"))};
    } else {
      FILE* f = popen("echo hello; exit 2", "r");
      char line[32] = "";
      for (int tries = 0; tries < 100 && fgets(line, sizeof line, f) == nullptr; ++tries)
        clearerr(f);
      line[strcspn(line, "\n")] = 0;
      int end = pclose(f);
      return Result{0, 0, std::string(line) + " " + status_of(end)};
    }
    pid_t got;
    do got = waitpid(child, &status, 0);
    while (got < 0 && errno == EINTR);
    return Result{got == child, 0, status_of(status)};
  };
  return true;
}

// A wait for a child that lives on until it is let go; handlers may end the wait.
bool make_long(World& world, Worker* w, Op* op) {
  if (world.waiting("child") != nullptr) {
    op->name = "let the child go";
    op->body = [](Worker&) { return by_errno(write(g_gate[1], "x", 1)); };
    return true;
  }
  if (w == nullptr || world.count_busy() > world.workers_wanted - 2) return false;
  int how = world.random.below(3);
  op->name = format("wait %d for a child that lives on", how);
  op->ends_by_itself = false;
  op->waits_as = "child";
  op->body = [how](Worker&) {
    pid_t child = fork();
    if (child == 0) {
      close(g_gate[1]);  // so that it ends with its parent
      char c;
      while (read(g_gate[0], &c, 1) < 0) {
      }
      _exit(8);
    }
    int status = 0;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    long got = how == 0   ? waitpid(child, &status, 0)
               : how == 1 ? wait4(child, &status, 0, nullptr)
                          : waitid(P_PID, static_cast<id_t>(child), &info, WEXITED);
    int error = errno;
    if (got < 0) {
      // A handler has ended it; the child goes with it.
      kill(child, SIGKILL);
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
      return Result{-1, error};
    }
    return Result{
        how == 2 ? got : got == child, 0,
        how == 2 ? format("code %d status %d", info.si_code, info.si_status) : status_of(status)};
  };
  return true;
}

bool make_none(World&, Worker*, Op* op) {
  op->name = "waitpid of nobody";
  op->touches_others = false;
  op->body = [](Worker&) { return by_errno(waitpid(getpid(), nullptr, 0)); };
  return true;
}

void say_exit() { g_world->log("at exit"); }
void say_quick_exit() { g_world->log("at quick exit"); }

void* ends_later(void*) {
  sleep_ms(300);  // if the driver was a thread, its end is the program's, and comes first
  g_world->log("the last one ends the program");
  exit(13);
}

}  // namespace

Family process_family() {
  return {"process", prepare, {make_fork, make_child, make_long, make_none}};
}

void end_program(World& world) {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  atexit(say_exit);
  at_quick_exit(say_quick_exit);
  int how = world.random.below(10);
  Worker* w = world.random.one_in(3) ? nullptr : world.idle_worker();
  if (w != nullptr && w->canceled) w = nullptr;  // what it would write is where it is cancelled
  if (how == 0) {
    world.log("the driver returns");
    return;
  }
  static const char* const names[] = {"",
                                      "exit",
                                      "_exit",
                                      "quick_exit",
                                      "abort",
                                      "SIGKILL",
                                      "SIGTERM's default",
                                      "exec",
                                      "pthread_exit of the driver",
                                      "exit by another"};
  Op op;
  op.name = names[how];
  op.body = [how](Worker&) {
    switch (how) {
      case 1:
        exit(5);
      case 2:
        _exit(6);
      case 3:
        quick_exit(7);
      case 4:
        abort();
      case 5:
        raise(SIGKILL);
        break;
      case 6: {
        signal(SIGTERM, SIG_DFL);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        raise(SIGTERM);
        break;
      }
      case 7:
        execl("/bin/sh", "sh", "-c", "echo executed; exit 11", nullptr);
        break;
      default: {
        pthread_t t;
        pthread_attr_t a;
        pthread_attr_init(&a);
        pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
        if (start_thread(Kind::Java, &t, &a, ends_later, nullptr) != 0) _exit(77);
        if (how == 8) pthread_exit(nullptr);
        sleep_ms(1000);
        _exit(78);
      }
    }
    return Result{-2};
  };
  if (how >= 8) w = nullptr;
  world.give(w, std::move(op));
  world.log("still here");
}

}  // namespace steps
