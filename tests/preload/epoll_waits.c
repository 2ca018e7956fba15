// A task's wait in epoll_wait, epoll_pwait and epoll_pwait2: time limits, wrong arguments, signals
// and masks of the call's own, all as the kernel has them. The one who ends a wait is a task as
// well, as in native_waits.c.
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "preload.h"

enum form { kWait, kPwait, kPwaitMask, kPwait2, kPwait2Mask };
static int g_forms = kPwait2Mask + 1;
static int has_mask(int form) { return form == kPwaitMask || form == kPwait2Mask; }
static int is_pwait2(int form) { return form >= kPwait2; }

// ms < 0: no limit. The forms without a mask leave it out.
static int wait_in(int form, int epoll, struct epoll_event* events, int max, int ms,
                   const sigset_t* mask) {
  if (!has_mask(form)) mask = NULL;
  if (form == kWait) return epoll_wait(epoll, events, max, ms);
  if (!is_pwait2(form)) return epoll_pwait(epoll, events, max, ms, mask);
  struct timespec limit = {ms / 1000, ms % 1000 * 1000000};
  return epoll_pwait2(epoll, events, max, ms < 0 ? NULL : &limit, mask);
}

static sigset_t g_none, g_outside;
static volatile sig_atomic_t g_handled;
static sigset_t g_inside;  // the mask that the handler found
static void handler(int signal) {
  (void)signal;
  pthread_sigmask(SIG_BLOCK, NULL, &g_inside);
  ++g_handled;
}
static void install(int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaddset(&action.sa_mask, SIGUSR2);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}
static int is_blocked(int signal) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  return sigismember(&now, signal);
}

// An instance with one quiet pipe in it.
struct watched {
  int epoll, in, out;
};
static struct watched watch(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  struct watched w = {epoll_create1(EPOLL_CLOEXEC), ends[0], ends[1]};
  struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = 4711}};
  CHECK(w.epoll >= 0 && epoll_ctl(w.epoll, EPOLL_CTL_ADD, w.in, &event) == 0);
  return w;
}
static void unwatch(struct watched w) { close(w.epoll), close(w.in), close(w.out); }
static void empty(struct watched w) {
  char c;
  CHECK(read(w.in, &c, 1) == 1);
}

static int is_event(const struct epoll_event* e) {
  return e->events == EPOLLIN && e->data.u64 == 4711;
}

// --- time limits
static void ends_in_time(void) {
  struct watched w = watch();
  for (int form = 0; form < g_forms; ++form) {
    struct epoll_event event = {.events = 0};
    CHECK(wait_in(form, w.epoll, &event, 1, 0, &g_none) == 0);
    struct timespec start = started();
    CHECK(wait_in(form, w.epoll, &event, 1, 50, &g_none) == 0 && ms_since(&start) >= 49);
    CHECK(event.events == 0);  // nothing was written there
    const int limits[] = {-1, INT_MAX, INT_MIN};
    for (int i = 0; i < 3; ++i) {
      pthread_t writer = java(writes_later, (void*)(long)w.out);
      CHECK(wait_in(form, w.epoll, &event, 1, limits[i], &g_none) == 1 && is_event(&event));
      join(writer);
      CHECK(wait_in(form, w.epoll, &event, 1, 0, &g_none) == 1);  // it is still there
      empty(w);
    }
    if (!is_pwait2(form)) continue;
    struct timespec longest = {LONG_MAX, 999999999};
    pthread_t writer = java(writes_later, (void*)(long)w.out);
    CHECK(epoll_pwait2(w.epoll, &event, 1, &longest, has_mask(form) ? &g_none : NULL) == 1);
    join(writer);
    empty(w);
  }
  unwatch(w);
}

// --- no more events than there is room for
static void takes_what_fits(void) {
  int epoll = epoll_create1(EPOLL_CLOEXEC), ends[3][2];
  for (int i = 0; i < 3; ++i) {
    struct epoll_event event = {.events = EPOLLIN};
    CHECK(pipe(ends[i]) == 0 && write(ends[i][1], "x", 1) == 1);
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[i][0], &event) == 0);
  }
  for (int form = 0; form < g_forms; ++form) {
    struct epoll_event events[5];
    memset(events, 0, sizeof events);
    CHECK(wait_in(form, epoll, events, 2, -1, &g_none) == 2 && events[2].events == 0);
    CHECK(wait_in(form, epoll, events, 5, -1, &g_none) == 3 && events[3].events == 0);
  }
  for (int i = 0; i < 3; ++i) close(ends[i][0]), close(ends[i][1]);
  close(epoll);
}

// --- wrong arguments are wrong at once, however long the wait would be
static void refuses(void) {
  struct watched w = watch();
  int closed = dup(w.in), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  CHECK(closed >= 0 && file >= 0 && close(closed) == 0);
  const int limits[] = {0, 50, -1};
  for (int form = 0; form < g_forms; ++form) {
    struct epoll_event event;
    for (int i = 0; i < 3; ++i) {
      const int rooms[] = {0, -1, INT_MIN, INT_MAX};
      for (int k = 0; k < 4; ++k)
        CHECK(wait_in(form, w.epoll, &event, rooms[k], limits[i], &g_none) == -1 &&
              errno == EINVAL);
      const int bad[] = {-1, INT_MAX, closed}, others[] = {w.in, w.out, file};
      for (int k = 0; k < 3; ++k) {
        CHECK(wait_in(form, bad[k], &event, 1, limits[i], &g_none) == -1 && errno == EBADF);
        CHECK(wait_in(form, others[k], &event, 1, limits[i], &g_none) == -1 && errno == EINVAL);
      }
    }
    if (!is_pwait2(form)) continue;
    const struct timespec bad[] = {{-1, 0}, {0, -1}, {0, 1000000000}, {LONG_MIN, 0}, {1, LONG_MAX}};
    for (int i = 0; i < 5; ++i) {
      const sigset_t* mask = has_mask(form) ? &g_none : NULL;
      CHECK(epoll_pwait2(w.epoll, &event, 1, &bad[i], mask) == -1 && errno == EINVAL);
    }
  }
  CHECK(write(w.out, "x", 1) == 1);  // and while something is there
  for (int form = 0; form < g_forms; ++form) {
    struct epoll_event event;
    CHECK(wait_in(form, w.epoll, &event, 0, -1, &g_none) == -1 && errno == EINVAL);
    CHECK(wait_in(form, w.epoll, &event, 1, -1, &g_none) == 1 && is_event(&event));
  }
  close(file);
  unwatch(w);
}

// --- every handler ends the wait, one with SA_RESTART as well (signal(7))
static void ends_for_handlers(void) {
  struct watched w = watch();
  for (int round = 0; round < 4 * g_forms; ++round) {
    install(round & 1 ? SA_RESTART : 0);
    int before = g_handled;
    struct epoll_event event;
    struct nagging killer;
    begin_nagging(&killer, SIGUSR1);
    CHECK(wait_in(round / 4, w.epoll, &event, 1, round & 2 ? 100000 : -1, &g_none) == -1);
    CHECK(errno == EINTR && g_handled > before);
    end_nagging(&killer);
  }
  // No handler runs for an ignored one. (Left out: the forms with a mask. On a task all is blocked
  // for a moment before those, and what is sent just then ends the wait even if it is ignored, as
  // one that had been blocked outside does on a plain thread.)
  for (int form = 0; form < g_forms; ++form) {
    if (has_mask(form)) continue;
    struct epoll_event event;
    struct nagging killer;
    begin_nagging(&killer, SIGWINCH);
    pthread_t writer = java(writes_later, (void*)(long)w.out);
    CHECK(wait_in(form, w.epoll, &event, 1, -1, &g_none) == 1 && is_event(&event));
    end_nagging(&killer);
    join(writer);
    empty(w);
  }
  unwatch(w);
}

// --- a mask of the call's own
static pthread_t g_sleeper;
static void* kills_and_writes(void* fd) {
  kills_later((void*)g_sleeper);
  return writes_later(fd);
}

// Blocked outside, open inside: while it waits, and when it was there before. The handler runs
// under the call's mask, with what its action adds; afterwards the thread's own mask is back.
static void opens(struct watched w, int form) {
  sigset_t inside = g_none;
  sigaddset(&inside, SIGURG);
  for (int round = 0; round < 8; ++round) {
    install(round & 1 ? SA_RESTART : 0);
    int before = g_handled;
    pthread_t killer = 0;
    if (round & 2)
      killer = java(kills_later, (void*)g_sleeper);
    else
      CHECK(pthread_kill(g_sleeper, SIGUSR1) == 0);
    struct epoll_event event;
    int r = wait_in(form, w.epoll, &event, 1, round & 4 ? 100000 : -1, &inside);
    CHECK(r == -1 && errno == EINTR && g_handled == before + 1);
    CHECK(sigismember(&g_inside, SIGURG) && sigismember(&g_inside, SIGUSR1));
    CHECK(sigismember(&g_inside, SIGUSR2) && !sigismember(&g_inside, SIGHUP));
    CHECK(is_blocked(SIGUSR1) && is_blocked(SIGHUP));
    CHECK(!is_blocked(SIGUSR2) && !is_blocked(SIGURG));
    if (killer != 0) join(killer);
  }
}

// Blocked inside: the wait goes on, until its time or an event; the signal comes afterwards.
static void closes(struct watched w, int form) {
  sigset_t usr1 = g_none, pending;
  sigaddset(&usr1, SIGUSR1);
  int before = g_handled;
  struct epoll_event event;
  CHECK(pthread_kill(g_sleeper, SIGUSR1) == 0);
  struct timespec start = started();
  CHECK(wait_in(form, w.epoll, &event, 1, 50, &usr1) == 0 && ms_since(&start) >= 49);
  CHECK(g_handled == before && sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
  pthread_t writer = java(writes_later, (void*)(long)w.out);
  CHECK(wait_in(form, w.epoll, &event, 1, -1, &usr1) == 1 && is_event(&event));
  join(writer);
  empty(w);
  CHECK(g_handled == before);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) == 0 && g_handled == before + 1);

  writer = java(kills_and_writes, (void*)(long)w.out);  // open outside
  CHECK(wait_in(form, w.epoll, &event, 1, -1, &usr1) == 1 && g_handled == before + 2);
  join(writer);
  empty(w);
  CHECK(!is_blocked(SIGUSR1));
  CHECK(pthread_sigmask(SIG_SETMASK, &g_outside, NULL) == 0);
}

static void* waits(void* unused) {
  ends_in_time();
  takes_what_fits();
  refuses();
  ends_for_handlers();
  return unused;
}
static void* waits_with_masks(void* unused) {
  g_outside = g_none;
  sigaddset(&g_outside, SIGUSR1);
  sigaddset(&g_outside, SIGHUP);
  CHECK(pthread_sigmask(SIG_SETMASK, &g_outside, NULL) == 0);
  g_sleeper = pthread_self();
  struct watched w = watch();
  for (int form = 0; form < g_forms; ++form) {
    if (!has_mask(form)) continue;
    opens(w, form);
    closes(w, form);
  }
  unwatch(w);
  refuses();
  CHECK(is_blocked(SIGUSR1) && is_blocked(SIGHUP));
  return unused;
}

// select(2) on an instance whose number is beyond FD_SETSIZE.
static void* selects_beyond(void* unused) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  if (limit.rlim_max < 2048) return puts("SKIPPED: select: too few descriptors"), unused;
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 2048;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  int first = eventfd(0, EFD_CLOEXEC), last = first;
  while (last < FD_SETSIZE) CHECK((last = eventfd(0, EFD_CLOEXEC)) >= 0);
  int epoll = epoll_create1(EPOLL_CLOEXEC), pipe_ends[2];
  CHECK(epoll > last && epoll < 2048 && pipe(pipe_ends) == 0);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event) == 0);
  pthread_t writer = java(writes_later, (void*)(long)pipe_ends[1]);
  unsigned long bits[2048 / 64] = {0};
  bits[epoll / 64] |= 1ul << epoll % 64;
  struct timeval most = {20, 0};
  CHECK(select(epoll + 1, (fd_set*)bits, NULL, NULL, &most) == 1);
  join(writer);
  close(epoll), close(pipe_ends[0]), close(pipe_ends[1]);
  for (int fd = last; fd >= first; --fd) close(fd);
  limit.rlim_cur = before;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  return unused;
}

int main(void) {
  alarm(120);
  check_tasks();
  sigemptyset(&g_none);
  struct timespec zero = {0, 0};
  struct epoll_event event;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_pwait2(epoll, &event, 1, &zero, NULL) == -1 && errno == ENOSYS) {
    puts("SKIPPED: epoll_pwait2: not in this kernel");
    g_forms = kPwait2;
  }
  close(epoll);
  join(java(waits, NULL));
  join(java(waits_with_masks, NULL));
  join(java(selects_beyond, NULL));
  puts("ok");
  return 0;
}
