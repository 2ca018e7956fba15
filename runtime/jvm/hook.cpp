// Functions that libjava imports from libjvm and that we stand in front of.
//
// JVM_StartThread, the door every Java thread passes: libjava binds Thread.start0 to this name
// through the global scope, so a preloaded definition wins. GC, compiler and VM threads never pass
// here. We only mark the calling thread; the pthread_create inside HotSpot's version does the rest.
#include <dlfcn.h>
#include <jni.h>

#include "interpose/entry.h"
#include "jvm/java_thread.h"
#include "jvm/loaded_library.h"
#include "platform/log.h"
#include "sync/sleep.h"

namespace wisp {

std::atomic<void (*)(JNIEnv*)> g_java_thread_starts{nullptr};

// HotSpot's own version of a function we define. F is its type; found once, then one load.
template <typename F>
static F hotspot(std::atomic<F>* cache, const char* name) {
  F f = cache->load(std::memory_order_relaxed);
  if (WISP_LIKELY(f != nullptr)) return f;
  void* found = dlsym(RTLD_NEXT, name);
  // A program that loaded the JVM with RTLD_LOCAL: its names are not in the global scope.
  if (found == nullptr)
    if (void* jvm = loaded_library_named("libjvm.so")) found = dlsym(jvm, name);
  if (found == nullptr) fatal("%s: no JVM found", name);
  f = reinterpret_cast<F>(found);
  cache->store(f, std::memory_order_relaxed);
  return f;
}

using StartThread = void (*)(JNIEnv*, jobject);
using Yield = void (*)(JNIEnv*, jclass);
static std::atomic<StartThread> g_start_thread{nullptr};
static std::atomic<Yield> g_yield{nullptr};

}  // namespace wisp

WISP_EXPORT void JVM_StartThread(JNIEnv* env, jobject thread) {
  using namespace wisp;
  StartThread start = hotspot(&g_start_thread, "JVM_StartThread");
  if (WISP_UNLIKELY(g_java_thread_starts.load(std::memory_order_relaxed) != nullptr))
    g_java_thread_starts.load(std::memory_order_relaxed)(env);
  if (!interposing() || !java_thread_converts(env, thread)) {
    start(env, thread);
    return;
  }
  thread_self().next_create_is_java = true;
  thread_self().next_java_id = java_thread_id(env, thread);
  start(env, thread);
  thread_self().next_create_is_java = false;  // it threw before it created anything
}

// Thread.yield. HotSpot's version enters the VM (two state transitions with fences, a handle mark)
// only to call sched_yield; the thread may as well yield in native state, where safepoints do not
// wait for it. That is half the price of a yield.
WISP_EXPORT void JVM_Yield(JNIEnv* env, jclass thread_class) {
  using namespace wisp;
  if (WISP_LIKELY(interposing() && current_task() != nullptr)) {
    task_yield();
    return;
  }
  hotspot(&g_yield, "JVM_Yield")(env, thread_class);
}
