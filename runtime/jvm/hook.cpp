// JVM_StartThread, the door every Java thread passes: libjava binds Thread.start0 to this name
// through the global scope, so a preloaded definition wins. GC, compiler and VM threads never pass
// here. We only mark the calling thread; the pthread_create inside HotSpot's version does the rest.
#include <dlfcn.h>
#include <jni.h>
#include <link.h>
#include <string.h>

#include "interpose/entry.h"
#include "jvm/java_thread.h"
#include "jvm/start.h"
#include "platform/log.h"

namespace wisp {

using StartThread = void (*)(JNIEnv*, jobject);
static std::atomic<StartThread> g_start_thread{nullptr};

// A program that loaded the JVM with RTLD_LOCAL: its name is not in the global scope.
static int find_local_jvm(dl_phdr_info* info, size_t, void* result) {
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr || strcmp(slash, "/libjvm.so") != 0) return 0;
  // The handle is kept: a JVM is never unloaded.
  void* handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return 0;
  *static_cast<void**>(result) = dlsym(handle, "JVM_StartThread");
  return 1;
}

static StartThread hotspot_start_thread() {
  StartThread f = g_start_thread.load(std::memory_order_relaxed);
  if (f != nullptr) return f;
  void* symbol = dlsym(RTLD_NEXT, "JVM_StartThread");
  if (symbol == nullptr) dl_iterate_phdr(find_local_jvm, &symbol);
  if (symbol == nullptr) fatal("JVM_StartThread: no JVM found");
  f = reinterpret_cast<StartThread>(symbol);
  g_start_thread.store(f, std::memory_order_relaxed);
  return f;
}

}  // namespace wisp

WISP_EXPORT void JVM_StartThread(JNIEnv* env, jobject thread) {
  using namespace wisp;
  StartThread start = hotspot_start_thread();
  if (!interposing() || !java_thread_converts(env, thread)) {
    start(env, thread);
    return;
  }
  thread_self().next_create_is_java = true;
  start(env, thread);
  thread_self().next_create_is_java = false;  // it threw before it created anything
}
