// See collections.h. GarbageCollectionStart and -Finish are the pauses: the JVM posts them by its
// VM thread, inside the safepoint. (A collector that also works beside the program, as ZGC does,
// posts its pauses only.) The capability can be had at any time; the JVM pays for it with a test at
// each collection.
#include "jvm/collections.h"

#include <initializer_list>

#include "jvm/tool_interface.h"
#include "platform/log.h"
#include "scheduler/scheduler.h"
#include "scheduler/trace.h"

namespace wisp {
namespace {

jvmtiEnv* g_tools = nullptr;
bool g_on = false;

void note(TraceKind kind) {
  RuntimeEntry entry;
  trace(nullptr, kind, nullptr);
}
void JNICALL begins(jvmtiEnv*) { note(TraceKind::GcBegin); }
void JNICALL ends(jvmtiEnv*) { note(TraceKind::GcEnd); }

jvmtiEnv* make(JavaVM* vm) {
  jvmtiCapabilities wanted{};
  wanted.can_generate_garbage_collection_events = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.GarbageCollectionStart = &begins;
  callbacks.GarbageCollectionFinish = &ends;
  return tool_interface(vm, wanted, callbacks);
}

}  // namespace

void trace_collections(JavaVM* vm, bool on) {
  if (on == g_on) return;
  g_on = on;
  if (on && g_tools == nullptr) {
    g_tools = make(vm);
    if (g_tools == nullptr) verbose("no collections in the trace");
  }
  if (g_tools == nullptr) return;
  jvmtiEventMode mode = on ? JVMTI_ENABLE : JVMTI_DISABLE;
  for (jvmtiEvent event :
       {JVMTI_EVENT_GARBAGE_COLLECTION_START, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH})
    g_tools->SetEventNotificationMode(mode, event, nullptr);
}

}  // namespace wisp
