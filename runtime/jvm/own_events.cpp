// See own_events.h. A task that parks is deep inside the JVM, under its locks, and can write
// nothing there. But most waits are made by few native methods: while a recording wants wisp.Park,
// ours stand before those of the JDK (native_swap.h). They open a scope for the parks
// (scheduler/event_log.h), call the JDK's, and when it has returned the thread is in native code
// called by Java, where it may call Java. The entry to a monitor is no method; there, and when a
// thread begins and ends, the JVM's tool interface calls us on the thread. In the same places it
// takes out of the log what others noted of it.
#include "jvm/own_events.h"

#include <stdlib.h>

#include <initializer_list>
#include <new>

#include "jvm/flight_words.h"
#include "jvm/java_classes.h"
#include "jvm/native_swap.h"
#include "jvm/tool_interface.h"
#include "platform/log.h"
#include "scheduler/scheduler.h"

namespace wisp {
namespace {

jclass g_flight = nullptr;
jmethodID g_own = nullptr, g_commit = nullptr;
jclass g_thread = nullptr;
jmethodID g_current = nullptr, g_is_virtual = nullptr;  // the latter from JDK 19 on
jvmtiEnv* g_tools = nullptr;

// Java makes and fills the event; it is committed from here, so that the native method or the code
// that entered the monitor is the first frame of its stack.
void write(JNIEnv* env, const LogEvent& event, const stats::WaitNames& names, WaitPlace place) {
  jlong words[kFlightWords];
  flight_words(words, event, names);
  jlongArray array = env->NewLongArray(kFlightWords);
  if (array != nullptr) {
    env->SetLongArrayRegion(array, 0, kFlightWords, words);
    jobject made = env->CallStaticObjectMethod(g_flight, g_own, array, static_cast<jint>(place));
    if (!env->ExceptionCheck() && made != nullptr) env->CallVoidMethod(made, g_commit);
    if (made != nullptr) env->DeleteLocalRef(made);
    env->DeleteLocalRef(array);
  }
  if (env->ExceptionCheck()) env->ExceptionClear();  // no memory, or the stack's end
}

// Between the two the thread is in the JVM: the scope cannot be on its stack.
void JNICALL enters(jvmtiEnv*, JNIEnv* env, jthread, jobject) {
  if (own_events_on_virtual(env)) return;
  void* memory = malloc(sizeof(LogScope));
  if (memory == nullptr) return;
  auto* scope = new (memory) LogScope;
  scope->of_monitor = true;
  if (!log_scope_open(scope)) free(scope);
}

// Stays switched on when `enters` is not any more: what that made is freed here.
void JNICALL entered(jvmtiEnv*, JNIEnv* env, jthread, jobject) {
  LogScope* scope = log_scope_close();
  if (scope == nullptr) return;
  if (!scope->of_monitor) {
    log_scope_open(scope);  // of a method that waits and enters again
    return;
  }
  own_wait_write(env, *scope, WaitPlace::kMonitor);
  free(scope);
}

void write_life(JNIEnv* env, LogKind kind) {
  LogEvent event;
  if (!log_describe(kind, &event)) return;  // no task
  stats::WaitNames names;
  write(env, event, names, WaitPlace::kPark);
}
void JNICALL begins(jvmtiEnv*, JNIEnv* env, jthread) { write_life(env, LogKind::Start); }
void JNICALL ends(jvmtiEnv*, JNIEnv* env, jthread) {
  own_wait_write(env, LogScope(), WaitPlace::kUnknown);
  write_life(env, LogKind::End);
}

jvmtiEnv* make_tools(JNIEnv* env) {
  JavaVM* vm = nullptr;
  if (env->GetJavaVM(&vm) != JNI_OK) return nullptr;
  jvmtiCapabilities wanted{};
  wanted.can_generate_monitor_events = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.MonitorContendedEnter = &enters;
  callbacks.MonitorContendedEntered = &entered;
  callbacks.ThreadStart = &begins;
  callbacks.ThreadEnd = &ends;
  return tool_interface(vm, wanted, callbacks);
}

void switch_event(jvmtiEvent event, bool on) {
  g_tools->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, event, nullptr);
}

}  // namespace

bool own_events_on_virtual(JNIEnv* env) {
  if (g_is_virtual == nullptr) return false;
  jobject thread = env->CallStaticObjectMethod(g_thread, g_current);
  bool is = !env->ExceptionCheck() && thread != nullptr &&
            env->CallBooleanMethod(thread, g_is_virtual) == JNI_TRUE;
  if (thread != nullptr) env->DeleteLocalRef(thread);
  if (!env->ExceptionCheck()) return is;
  env->ExceptionClear();  // the stack's end
  return true;
}

void own_wait_write(JNIEnv* env, const LogScope& scope, WaitPlace place) {
  bool more = log_has_own();
  if (scope.count == 0 && !more) return;
  jthrowable thrown = env->ExceptionOccurred();
  if (thrown != nullptr) env->ExceptionClear();
  // What parks in there is not written by this thread again.
  LogScope inner;
  inner.count = LogScope::kRoom;
  bool opened = log_scope_open(&inner);
  stats::WaitNames names;
  for (uint32_t i = 0; i < scope.count; ++i) write(env, scope.events[i], names, place);
  // What the log has is about the thread that carries a virtual one, which would write it.
  if (more && !own_events_on_virtual(env)) {
    LogEvent others[LogScope::kRoom];
    uint32_t count = log_take_own(others, LogScope::kRoom);
    for (uint32_t i = 0; i < count; ++i) write(env, others[i], names, WaitPlace::kUnknown);
  }
  if (opened) log_scope_close();
  if (thrown != nullptr) {
    env->Throw(thrown);
    env->DeleteLocalRef(thrown);
  }
}

void own_events_prepare(JNIEnv* env, jclass flight) {
  g_flight = static_cast<jclass>(env->NewGlobalRef(flight));
  g_own = env->GetStaticMethodID(flight, "own", "([JI)Ljdk/jfr/Event;");
  jclass event = env->FindClass("jdk/jfr/Event");
  g_commit = event != nullptr ? env->GetMethodID(event, "commit", "()V") : nullptr;
  jclass thread = env->FindClass("java/lang/Thread");
  g_thread = static_cast<jclass>(env->NewGlobalRef(thread));
  g_current = env->GetStaticMethodID(thread, "currentThread", "()Ljava/lang/Thread;");
  // Not asked in vain: the error would be in the recording.
  if (env->GetVersion() >= kJdk19) g_is_virtual = env->GetMethodID(thread, "isVirtual", "()Z");
  env->ExceptionClear();
  if (g_own != nullptr && g_commit != nullptr) g_tools = make_tools(env);
  if (g_tools != nullptr && !native_swap_prepare(env, g_tools)) g_tools = nullptr;
  if (g_tools == nullptr) verbose("no thread writes events of its own");
  env->ExceptionClear();
}

bool own_events_want(JNIEnv* env, bool waits, bool lives) {
  if (g_tools == nullptr) return false;
  native_swap(env, waits);
  switch_event(JVMTI_EVENT_MONITOR_CONTENDED_ENTER, waits);
  if (waits) switch_event(JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, true);
  for (jvmtiEvent event : {JVMTI_EVENT_THREAD_START, JVMTI_EVENT_THREAD_END})
    switch_event(event, lives);
  return true;
}

}  // namespace wisp
