// See stand_ins.c. What it stands for is found behind it, as in libraries of this kind.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int connect(int fd, const struct sockaddr* address, socklen_t length) {
  (void)fd, (void)address, (void)length;
  errno = EXDEV;
  return -1;
}

int openat(int dir, const char* path, int flags, ...) {
  int (*next)(int, const char*, int, ...) =
      (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat");
  return next(dir, strcmp(path, "/stands/for/null") == 0 ? "/dev/null" : path, flags, 0600);
}
int open(const char* path, int flags, ...) { return openat(AT_FDCWD, path, flags); }

int fsync(int fd) {
  (void)fd;
  return 0;
}
int fdatasync(int fd) { return fsync(fd); }

static void* lingers(void* unused) {
  usleep(300000);
  return unused;
}
// As if the first thread of all, when it has been joined, were still on its way out of the kernel.
int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*), void* arg) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (next == NULL) {
    next = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(
        RTLD_NEXT, "pthread_create");
    pthread_t other;
    if (next(&other, NULL, lingers, NULL) == 0) pthread_detach(other);
  }
  return next(thread, attr, run, arg);
}
