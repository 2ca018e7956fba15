// See stand_ins.c. What it stands for is found behind it, as in libraries of this kind.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

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
