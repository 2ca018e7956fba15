// Files that are put under a number inside libc, and files of which poll(2) says less than they do.
#include <fcntl.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

#include "preload.h"

static char g_folder[] = "/tmp/odd_files_XXXXXX", g_path[64];

static void* reads_a_byte(void* fd) {
  char c;
  CHECK(read((int)(long)fd, &c, 1) == 1);
  return (void*)(long)c;
}
static char byte_of(pthread_t reader) {
  void* byte;
  CHECK(pthread_join(reader, &byte) == 0);
  return (char)(long)byte;
}

// ---- freopen: another file has the number, and no close was seen

static void* reopens(void* again) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  FILE* stream = fdopen(ends[0], "r");
  pthread_t reader = java(reads_a_byte, (void*)(long)ends[0]);
  sleep_ms(50);  // it waits, so the descriptor is registered with the pump
  CHECK(write(ends[1], "a", 1) == 1 && byte_of(reader) == 'a');

  CHECK(mkfifo(g_path, 0600) == 0);
  int writer = open(g_path, O_RDWR);
  FILE* (*reopen)(const char*, const char*, FILE*) = again != NULL ? freopen64 : freopen;
  CHECK((stream = reopen(g_path, "r", stream)) != NULL && fileno(stream) == ends[0]);
  reader = java(reads_a_byte, (void*)(long)ends[0]);
  sleep_ms(50);
  CHECK(write(writer, "b", 1) == 1 && byte_of(reader) == 'b');

  CHECK((stream = reopen("/dev/zero", "r", stream)) != NULL && fileno(stream) == ends[0]);
  CHECK(byte_of(java(reads_a_byte, (void*)(long)ends[0])) == 0);
  CHECK(reopen("/tmp/no/such/file", "r", stream) == NULL && errno == ENOENT);
  char c;
  CHECK(read(ends[0], &c, 1) == -1 && errno == EBADF);
  CHECK(unlink(g_path) == 0 && close(writer) == 0 && close(ends[1]) == 0);
  return NULL;
}

// ---- a fanotify group takes answers, and is never ready for them

static void* opens(void* unused) {
  int fd = open(g_path, O_RDONLY);
  CHECK(fd >= 0 && close(fd) == 0);
  return unused;
}
static void* allows(void* group) {
  struct fanotify_event_metadata event;
  CHECK(read((int)(long)group, &event, sizeof event) == sizeof event);
  struct fanotify_response answer = {event.fd, FAN_ALLOW};
  CHECK(write((int)(long)group, &answer, sizeof answer) == sizeof answer);
  CHECK(close(event.fd) == 0);
  return NULL;
}
static void answers(void) {
  int group = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
  if (group < 0) return;  // for root only, and where the kernel has it
  CHECK(close(open(g_path, O_CREAT | O_WRONLY, 0600)) == 0);
  if (fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, g_path) == 0) {
    pthread_t listener = java(allows, (void*)(long)group);
    join(java(opens, NULL));
    join(listener);
  }
  CHECK(close(group) == 0 && unlink(g_path) == 0);
}

// ---- a counter that is full

static void* adds(void* fd) {
  uint64_t one = 1;
  CHECK(write((int)(long)fd, &one, sizeof one) == sizeof one);
  return NULL;
}
static void* fills(void* unused) {
  int fd = eventfd(0, 0);
  uint64_t most = UINT64_MAX - 1, none = UINT64_MAX, value;
  CHECK(write(fd, &most, sizeof most) == sizeof most);
  CHECK(write(fd, &none, sizeof none) == -1 && errno == EINVAL);
  pthread_t writer = java(adds, (void*)(long)fd);
  sleep_ms(50);
  CHECK(read(fd, &value, sizeof value) == sizeof value && value == most);
  join(writer);
  CHECK(read(fd, &value, sizeof value) == sizeof value && value == 1);
  CHECK(close(fd) == 0);
  return unused;
}

int main(void) {
  check_tasks();
  alarm(100);
  CHECK(mkdtemp(g_folder) != NULL);
  snprintf(g_path, sizeof g_path, "%s/file", g_folder);
  join(java(reopens, NULL));
  join(java(reopens, g_path));
  answers();
  join(java(fills, NULL));
  CHECK(rmdir(g_folder) == 0);
  return 0;
}
