// An agent's Agent_OnLoad is its own, however it refers to it, and Wisp's is found by the other
// name that JVMs ask for. Preloaded, with Wisp on and off.
#include <dlfcn.h>

#include "preload.h"

static void uses(int how) {
  void* agent = dlopen(AGENTS_MODULE, how | RTLD_LOCAL);
  if (agent == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(agent != NULL);
  int (*attach)(void*, char*, void*) = (int (*)(void*, char*, void*))dlsym(agent, "Agent_OnAttach");
  void* (*place)(void) = (void* (*)(void))dlsym(agent, "own_place");
  char options[] = "x";
  CHECK(attach(NULL, options, NULL) == 7 && options[0] == '!');
  CHECK(place() == dlsym(agent, "Agent_OnLoad"));
  Dl_info info;
  CHECK(dladdr(place(), &info) != 0 && strcmp(info.dli_fname, AGENTS_MODULE) == 0);
  CHECK(dlclose(agent) == 0);
}
static void* uses_all(void* a) {
  uses(RTLD_LAZY);
  uses(RTLD_NOW);
  return a;
}

int main(void) {
  check_tasks();
  uses_all(NULL);
  join(java(uses_all, NULL));
  CHECK(dlsym(RTLD_DEFAULT, "Agent_OnLoad") == NULL);
  const char* wisp = getenv("TEST_PRELOAD");
  CHECK((dlsym(RTLD_DEFAULT, "Agent_OnLoad_wisp") != NULL) == (wisp != NULL));
  // Nothing else is gone.
  CHECK(wisp == NULL || dlsym(RTLD_DEFAULT, "JVM_GetManagement") != NULL);
  return 0;
}
