// The list of this process's threads, /proc/self/task and /proc/PID/task, as a thread of this
// process reads it: with the tasks, without the workers, which are none of the program's threads.
// Profilers take from there whom to ask (async-profiler signals them, or sets timers on their CPU
// clocks), monitoring libraries whom to tell of (OSHI). Other spellings of the name, such as
// /proc/self/./task, are the kernel's list.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "platform/kernel.h"
#include "scheduler/internal.h"

using namespace wisp;

namespace {

// An open list. Its place here is under the lock; what is in it is its reader's, who must not close
// it while he reads, nor read it twice at once (POSIX).
struct ThreadList {
  DIR* dir;
  ThreadList* next;
  bool kernel_ended;
  WispTask* at;  // once the kernel's entries have ended; tasks are never freed
  dirent entry;
};

SpinLock g_lock;  // a leaf
ThreadList* g_lists = nullptr;
// relaxed: who reads a list has got it from whoever opened it.
std::atomic<uint32_t> g_count{0};

bool among_tasks() { return interposing() && scheduler_running(); }

bool names_threads(const char* path, size_t length) {
  char own[32];
  snprintf(own, sizeof own, "/proc/%d/task", kernel::getpid());
  if (length != 0 && path[length - 1] == '/') --length;
  auto is = [&](const char* name) {
    return length == strlen(name) && memcmp(path, name, length) == 0;
  };
  return is("/proc/self/task") || is(own);
}

bool is_list_of_threads(int fd) {
  char link[40], path[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long length = kernel::call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(link),
                             reinterpret_cast<long>(path), sizeof path);
  return length > 0 && names_threads(path, static_cast<size_t>(length));
}

// Out of memory: it stays the kernel's list.
void watch(DIR* dir) {
  auto* list = static_cast<ThreadList*>(calloc(1, sizeof(ThreadList)));
  if (list == nullptr) return;
  list->dir = dir;
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  list->next = g_lists;
  g_lists = list;
  g_count.fetch_add(1, std::memory_order_relaxed);
}

ThreadList** place_of(DIR* dir) {
  ThreadList** p = &g_lists;
  while (*p != nullptr && (*p)->dir != dir) p = &(*p)->next;
  return p;
}

// Null: another folder. In a forked child as well, which has no tasks.
ThreadList* watched(DIR* dir) {
  if (WISP_LIKELY(g_count.load(std::memory_order_relaxed) == 0) || !among_tasks()) return nullptr;
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  return *place_of(dir);
}

void forget(DIR* dir) {
  if (WISP_LIKELY(g_count.load(std::memory_order_relaxed) == 0) || !among_tasks()) return;
  ThreadList* list;
  {
    RuntimeEntry entry;
    SpinGuard guard(g_lock);
    ThreadList** p = place_of(dir);
    list = *p;
    if (list == nullptr) return;  // another folder
    *p = list->next;
    g_count.fetch_sub(1, std::memory_order_relaxed);
  }
  free(list);
}

bool is_worker(const char* name) {
  int tid = atoi(name);  // 0: "." and ".."
  if (tid == 0) return false;
  for (Worker* w = g_scheduler.all_workers.load(std::memory_order_acquire); w != nullptr;
       w = w->all_next)
    if (w->tid.load(std::memory_order_relaxed) == tid) return true;
  return false;
}

dirent* next_task(ThreadList* list) {
  for (; list->at != nullptr; list->at = list->at->all_next) {
    const WispTask* task = list->at;
    if (task->state.load(std::memory_order_relaxed) == TaskState::Dead) continue;
    list->at = task->all_next;
    dirent* e = &list->entry;
    int length = snprintf(e->d_name, sizeof e->d_name, "%u", task->tid);
    e->d_ino = task->tid;
    e->d_type = DT_DIR;
    e->d_reclen = static_cast<unsigned short>(
        (offsetof(dirent, d_name) + static_cast<size_t>(length) + 1 + 7) & ~size_t{7});
    return e;
  }
  return nullptr;
}

dirent* next_thread(ThreadList* list) {
  int before = errno;
  while (!list->kernel_ended) {
    errno = 0;
    dirent* e = real::readdir(list->dir);
    if (e == nullptr) {
      if (errno != 0) return nullptr;
      list->kernel_ended = true;
      list->at = all_tasks();
    } else if (!is_worker(e->d_name)) {
      errno = before;
      return e;
    }
  }
  errno = before;
  return next_task(list);
}

}  // namespace

WISP_EXPORT DIR* opendir(const char* path) {
  real::ensure();
  DIR* dir = real::opendir(path);
  if (dir != nullptr && path[0] == '/' && path[1] == 'p' && among_tasks() &&
      names_threads(path, strlen(path)))
    watch(dir);
  return dir;
}

WISP_EXPORT DIR* fdopendir(int fd) {
  real::ensure();
  DIR* dir = real::fdopendir(fd);
  if (dir != nullptr && among_tasks() && is_list_of_threads(fd)) watch(dir);
  return dir;
}

WISP_EXPORT dirent* readdir(DIR* dir) {
  real::ensure();
  ThreadList* list = watched(dir);
  return WISP_LIKELY(list == nullptr) ? real::readdir(dir) : next_thread(list);
}

static int read_copied(DIR* dir, dirent* entry, dirent** result) {
  real::ensure();
  ThreadList* list = watched(dir);
  if (WISP_LIKELY(list == nullptr)) return real::readdir_r(dir, entry, result);
  int before = errno;
  errno = 0;
  const dirent* e = next_thread(list);
  int error = errno;
  errno = before;
  if (e != nullptr) memcpy(entry, e, e->d_reclen);
  *result = e != nullptr ? entry : nullptr;
  return error;
}

// The JDK reads folders by these (readdir64_r: JDK 8).
static_assert(sizeof(dirent64) == sizeof(dirent) &&
              offsetof(dirent64, d_name) == offsetof(dirent, d_name));
WISP_EXPORT dirent64* readdir64(DIR* dir) { return reinterpret_cast<dirent64*>(readdir(dir)); }
WISP_EXPORT int readdir_r(DIR* dir, dirent* entry, dirent** result) {
  return read_copied(dir, entry, result);
}
WISP_EXPORT int readdir64_r(DIR* dir, dirent64* entry, dirent64** result) {
  return read_copied(dir, reinterpret_cast<dirent*>(entry), reinterpret_cast<dirent**>(result));
}

WISP_EXPORT void rewinddir(DIR* dir) noexcept {
  real::ensure();
  if (ThreadList* list = watched(dir)) list->kernel_ended = false;
  real::rewinddir(dir);
}

WISP_EXPORT int closedir(DIR* dir) {
  real::ensure();
  forget(dir);
  return real::closedir(dir);
}
