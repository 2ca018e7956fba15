// Another preloaded library stands for functions of libc (stand_ins_module.c): it is called, by
// tasks as by threads. Proxies (connect), other roots (open) and tests (fsync) work so.
#include <dlfcn.h>
#include <fcntl.h>

#include "sockets.h"

static void* calls(void* unused) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(fd, (struct sockaddr*)&address, sizeof address) == -1 && errno == EXDEV);
  close(fd);
  fd = open("/stands/for/null", O_RDONLY);
  CHECK(fd >= 0 && fsync(fd) == 0 && close(fd) == 0);
  fd = openat(AT_FDCWD, "/stands/for/null", O_RDONLY);
  CHECK(fd >= 0 && fdatasync(fd) == 0 && close(fd) == 0);
  CHECK(open("/not/there", O_RDONLY) == -1 && errno == ENOENT);
  CHECK(fsync(-1) == 0);
  return unused;
}

// In which libc is alone a lock is ours, all of it: libc's writer says so in another word, too. A
// thread that the runtime made itself is nobody who may wait in libc.
static void locks_are_ours(void) {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  CHECK(pthread_rwlock_wrlock(&lock) == 0);
  CHECK((lock.__data.__wrphase_futex == 0) == (getenv("EXPECT_TASKS") != NULL));
  CHECK(pthread_rwlock_unlock(&lock) == 0);
}

// libc's handle gives libc's function as long as another library stands for that one: what that
// library found there, it calls.
static void handles_are_passed_by(void) {
  void* libc = dlopen("libc.so.6", RTLD_LAZY);
  CHECK(libc != NULL && dlsym(libc, "connect") != NULL && dlsym(libc, "connect") != (void*)connect);
  CHECK(dlsym(libc, "read") == (void*)read);
}

int main(void) {
  check_tasks();
  handles_are_passed_by();
  locks_are_ours();
  calls(NULL);
  join(java(calls, NULL));
  return 0;
}
