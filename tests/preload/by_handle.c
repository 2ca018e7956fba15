// Functions of libc found by libc's own handle, as java.lang.foreign and jnr-ffi find them: what
// waits in them keeps no carrier (in the variant whose SysMonitor looks each ten seconds that
// shows), and they are about the task. What other handles say stays theirs.
#include <dlfcn.h>
#include <math.h>

#include "preload.h"

static void* g_libc;
static void* of_libc(const char* name) {
  void* found = dlsym(g_libc, name);
  CHECK(found != NULL && dlerror() == NULL);
  return found;
}

typedef ssize_t (*moves_bytes)(int, void*, size_t);
struct ends {
  int in, out;
};

static void* answers(void* argument) {
  struct ends* ends = argument;
  moves_bytes get = (moves_bytes)of_libc("read"), put = (moves_bytes)of_libc("write");
  char byte;
  while (get(ends->in, &byte, 1) == 1) CHECK(put(ends->out, &byte, 1) == 1);
  close(ends->out);
  return NULL;
}

static void* asks(void* unused) {
  moves_bytes get = (moves_bytes)of_libc("read"), put = (moves_bytes)of_libc("write");
  int (*make)(int*) = (int (*)(int*))of_libc("pipe");
  int there[2], back[2];
  CHECK(make(there) == 0 && make(back) == 0);
  struct ends ends = {there[0], back[1]};
  struct timespec start = started();
  pthread_t thread = java(answers, &ends);
  for (int i = 0; i < 100; ++i) {
    char byte = (char)i;
    CHECK(put(there[1], &byte, 1) == 1 && get(back[0], &byte, 1) == 1 && byte == (char)i);
  }
  if (getenv("TEST_PATIENCE_MS") != NULL)
    CHECK(ms_since(&start) < atol(getenv("TEST_PATIENCE_MS")));
  CHECK(close(there[1]) == 0);
  char byte;
  CHECK(get(back[0], &byte, 1) == 0);
  join(thread);
  CHECK(close(back[0]) == 0 && close(there[0]) == 0);
  pid_t (*own_tid)(void) = (pid_t(*)(void))of_libc("gettid");
  CHECK(own_tid() == gettid());
  return unused;
}

static void others_are_theirs(void) {
  CHECK(dlsym(g_libc, "no_such_function") == NULL && dlerror() != NULL);
  void* libm = dlopen("libm.so.6", RTLD_LAZY);
  CHECK(libm != NULL && dlsym(libm, "cos") != NULL);
  // By way of what libm needs: libc's, as by libc's own.
  CHECK(dlsym(libm, "read") == of_libc("read"));
  CHECK(dlsym(RTLD_DEFAULT, "read") == (void*)read);
  CHECK(dlsym(g_libc, "strlen") == dlsym(RTLD_DEFAULT, "strlen"));
  void* module = dlopen(BY_HANDLE_MODULE, RTLD_LAZY);
  CHECK(module != NULL);
  int (*own)(void) = (int (*)(void))dlsym(module, "pthread_yield");
  CHECK(own != NULL && dlerror() == NULL && own() == 7);
}

int main(void) {
  check_tasks();
  g_libc = dlopen("libc.so.6", RTLD_LAZY);
  CHECK(g_libc != NULL);
  CHECK(of_libc("read") == (void*)read && of_libc("pthread_create") == (void*)pthread_create);
  others_are_theirs();
  asks(NULL);
  join(java(asks, NULL));
  return 0;
}
