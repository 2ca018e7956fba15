// See own_waits.h. A task that parks is deep inside the JVM, under its locks, and can write nothing
// there. But most waits are made by few native methods: while a recording wants wisp.Park, ours
// stand before those of the JDK. They open a scope for the parks (scheduler/event_log.h), call the
// JDK's, and when it has returned the thread is in native code called by Java, where it may call
// Java. The entry to a monitor is no method; there the JVM's tool interface calls us on the thread.
//
// Native methods are exchanged by JNI's RegisterNatives, which may be done at any time (HotSpot
// drops the compiled wrapper). What the JDK's function is: libjvm and libnio export most.
// Unsafe.park is in a table inside libjvm, which Unsafe.registerNatives hands to RegisterNatives:
// we look on, once, with a JNI function of ours in its place (JVMTI, SetJNIFunctionTable).
#include "jvm/own_waits.h"

#include <stdlib.h>
#include <string.h>

#include <new>
#include <type_traits>

#include "jvm/flight_words.h"
#include "jvm/java_classes.h"
#include "jvm/tool_interface.h"
#include "platform/kernel.h"
#include "platform/log.h"
#include "scheduler/scheduler.h"

extern "C" __attribute__((visibility("hidden"))) const unsigned char wisp_native_swap_classes[];

namespace wisp {
namespace {

enum Place : uint32_t { kPark, kSleep, kWait, kPoll, kEventPoll, kSocketRead, kAccept, kMonitor };

jclass g_flight = nullptr, g_swapper = nullptr;
jmethodID g_describe = nullptr, g_commit = nullptr, g_swap = nullptr;
jvmtiEnv* g_tools = nullptr;

// ---- on the waiting thread ---------------------------------------------------------------------

void write_one(JNIEnv* env, const LogEvent& event, const stats::WaitNames& names, Place place) {
  jlong words[kFlightWords];
  flight_words(words, event, names);
  jlongArray array = env->NewLongArray(kFlightWords);
  if (array == nullptr) return;
  env->SetLongArrayRegion(array, 0, kFlightWords, words);
  jobject park = env->CallStaticObjectMethod(g_flight, g_describe, array, static_cast<jint>(place));
  if (park != nullptr) {
    env->CallVoidMethod(park, g_commit);
    env->DeleteLocalRef(park);
  }
  env->DeleteLocalRef(array);
}

// An exception that the wait has thrown stays.
void write(JNIEnv* env, const LogScope& scope, Place place) {
  if (scope.count == 0) return;
  jthrowable thrown = env->ExceptionOccurred();
  if (thrown != nullptr) env->ExceptionClear();
  // What parks in there is not written by this thread again.
  LogScope inner;
  inner.count = LogScope::kRoom;
  bool opened = log_scope_open(&inner);
  stats::WaitNames names;
  for (uint32_t i = 0; i < scope.count; ++i) {
    write_one(env, scope.events[i], names, place);
    if (env->ExceptionCheck()) env->ExceptionClear();  // no memory, or the stack's end
  }
  if (opened) log_scope_close();
  if (thrown != nullptr) {
    env->Throw(thrown);
    env->DeleteLocalRef(thrown);
  }
}

template <Place kPlace>
std::atomic<void*> g_jdk{nullptr};  // the JDK's function

template <Place kPlace, class R, class... A>
struct Watched {
  static R JNICALL call(JNIEnv* env, A... arguments) {
    // acquire: whoever registered this function had stored the other before. That it is seen here
    // is not promised on every machine, so ask until it is.
    void* jdk;
    while ((jdk = g_jdk<kPlace>.load(std::memory_order_acquire)) == nullptr) kernel::sched_yield();
    auto function = reinterpret_cast<R(JNICALL*)(JNIEnv*, A...)>(jdk);
    LogScope scope;
    if (!log_scope_open(&scope)) return function(env, arguments...);
    if constexpr (std::is_void_v<R>) {
      function(env, arguments...);
      log_scope_close();
      write(env, scope, kPlace);
    } else {
      R result = function(env, arguments...);
      log_scope_close();
      write(env, scope, kPlace);
      return result;
    }
  }
};

// Between the two the thread is in the JVM: the scope cannot be on its stack.
void JNICALL enters(jvmtiEnv*, JNIEnv*, jthread, jobject) {
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
  write(env, *scope, kMonitor);
  free(scope);
}

// ---- the methods -------------------------------------------------------------------------------

struct Method {
  const char *type, *name, *signature;
  const char *library, *symbol;  // null: in the table of Unsafe
  void* ours;
  std::atomic<void*>* jdk;
  jclass holder = nullptr;
  bool absent = false, watched = false;
};

template <Place kPlace, class R, class... A>
constexpr Method method(const char* type, const char* name, const char* signature,
                        const char* library, const char* symbol) {
  return {type,          name,   signature,
          library,       symbol, reinterpret_cast<void*>(&Watched<kPlace, R, A...>::call),
          &g_jdk<kPlace>};
}

// Names by JDK: Thread.sleep 11, sleep0 21, sleepNanos0 25; Object.wait 11, wait0 21. A name that
// is no native method there is not registered.
Method g_methods[] = {
    method<kPark, void, jobject, jboolean, jlong>("jdk/internal/misc/Unsafe", "park", "(ZJ)V",
                                                  nullptr, nullptr),
    method<kSleep, void, jclass, jlong>("java/lang/Thread", "sleep", "(J)V", "libjvm.so",
                                        "JVM_Sleep"),
    method<kSleep, void, jclass, jlong>("java/lang/Thread", "sleep0", "(J)V", "libjvm.so",
                                        "JVM_Sleep"),
    method<kSleep, void, jclass, jlong>("java/lang/Thread", "sleepNanos0", "(J)V", "libjvm.so",
                                        "JVM_SleepNanos"),
    method<kWait, void, jobject, jlong>("java/lang/Object", "wait", "(J)V", "libjvm.so",
                                        "JVM_MonitorWait"),
    method<kWait, void, jobject, jlong>("java/lang/Object", "wait0", "(J)V", "libjvm.so",
                                        "JVM_MonitorWait"),
    method<kPoll, jint, jclass, jobject, jint, jlong>("sun/nio/ch/Net", "poll",
                                                      "(Ljava/io/FileDescriptor;IJ)I", "libnio.so",
                                                      "Java_sun_nio_ch_Net_poll"),
    method<kEventPoll, jint, jclass, jint, jlong, jint, jint>(
        "sun/nio/ch/EPoll", "wait", "(IJII)I", "libnio.so", "Java_sun_nio_ch_EPoll_wait"),
    method<kSocketRead, jint, jobject, jobject, jbyteArray, jint, jint, jint>(
        "java/net/SocketInputStream", "socketRead0", "(Ljava/io/FileDescriptor;[BIII)I",
        "libnet.so", "Java_java_net_SocketInputStream_socketRead0"),
    method<kAccept, void, jobject, jobject>("java/net/PlainSocketImpl", "socketAccept",
                                            "(Ljava/net/SocketImpl;)V", "libnet.so",
                                            "Java_java_net_PlainSocketImpl_socketAccept"),
};

// ---- Unsafe's table ----------------------------------------------------------------------------

const jniNativeInterface* g_real = nullptr;
JNIEnv* g_looking = nullptr;

jint JNICALL look_on(JNIEnv* env, jclass type, const JNINativeMethod* table, jint count) {
  if (env != g_looking) return g_real->RegisterNatives(env, type, table, count);
  for (jint i = 0; i < count; ++i)
    if (strcmp(table[i].name, "park") == 0 && strcmp(table[i].signature, "(ZJ)V") == 0)
      g_jdk<kPark>.store(table[i].fnPtr, std::memory_order_release);
  return JNI_OK;
}

void find_park(JNIEnv* env, jclass unsafe) {
  jmethodID registers = env->GetStaticMethodID(unsafe, "registerNatives", "()V");
  jniNativeInterface* table = nullptr;
  if (registers == nullptr || g_tools->GetJNIFunctionTable(&table) != JVMTI_ERROR_NONE) return;
  static jniNativeInterface real;  // others may still be in look_on when all is over
  real = *table;
  g_real = &real;
  g_looking = env;
  table->RegisterNatives = &look_on;
  if (g_tools->SetJNIFunctionTable(table) == JVMTI_ERROR_NONE) {
    env->CallStaticVoidMethod(unsafe, registers);
    g_tools->SetJNIFunctionTable(g_real);
  }
  g_tools->Deallocate(reinterpret_cast<unsigned char*>(table));
}

// ---- exchange, by the observer
// -------------------------------------------------------------------

// False: not now, perhaps later.
bool find(JNIEnv* env, Method* m) {
  void* symbol = nullptr;
  if (m->library != nullptr) {
    symbol = library_symbol(m->library, m->symbol);
    // A class whose library is not loaded has not been used; asking for it would load it.
    if (symbol == nullptr) {
      m->absent = strcmp(m->library, "libjvm.so") == 0;
      return false;
    }
  }
  jclass type = env->FindClass(m->type);
  if (type != nullptr && m->library == nullptr) find_park(env, type);
  if (symbol != nullptr) m->jdk->store(symbol, std::memory_order_release);
  env->ExceptionClear();
  if (type == nullptr || m->jdk->load(std::memory_order_relaxed) == nullptr) {
    m->absent = true;
    return false;
  }
  m->holder = static_cast<jclass>(env->NewGlobalRef(type));
  return m->holder != nullptr;
}

void exchange(JNIEnv* env, Method* m, bool on) {
  if (m->absent || m->watched == on) return;
  if (m->holder == nullptr && !find(env, m)) return;
  void* function = on ? m->ours : m->jdk->load(std::memory_order_relaxed);
  JNINativeMethod entry{const_cast<char*>(m->name), const_cast<char*>(m->signature), function};
  if (env->RegisterNatives(m->holder, &entry, 1) == JNI_OK)
    m->watched = on;
  else
    m->absent = true;  // no native method in this JDK
  env->ExceptionClear();
}

// The native of wisp.observe.NativeSwap.
void JNICALL swap_all(JNIEnv* env, jclass, jboolean on) {
  for (Method& m : g_methods) exchange(env, &m, on == JNI_TRUE);
}

jvmtiEnv* make_tools(JNIEnv* env) {
  JavaVM* vm = nullptr;
  if (env->GetJavaVM(&vm) != JNI_OK) return nullptr;
  jvmtiCapabilities wanted{};
  wanted.can_generate_monitor_events = 1;
  jvmtiEventCallbacks callbacks{};
  callbacks.MonitorContendedEnter = &enters;
  callbacks.MonitorContendedEntered = &entered;
  return tool_interface(vm, wanted, callbacks);
}

}  // namespace

void own_waits_prepare(JNIEnv* env, jclass flight) {
  static char kName[] = "swapAll", kSignature[] = "(Z)V";
  static const JNINativeMethod kNative = {kName, kSignature, reinterpret_cast<void*>(&swap_all)};
  g_flight = static_cast<jclass>(env->NewGlobalRef(flight));
  g_describe = env->GetStaticMethodID(flight, "ownWait", "([JI)Lwisp/flight/Park;");
  jclass event = env->FindClass("jdk/jfr/Event");
  g_commit = event != nullptr ? env->GetMethodID(event, "commit", "()V") : nullptr;
  jclass swapper = define_classes(env, wisp_native_swap_classes, nullptr);
  if (g_describe != nullptr && g_commit != nullptr && swapper != nullptr &&
      env->RegisterNatives(swapper, &kNative, 1) == 0) {
    g_swap = env->GetStaticMethodID(swapper, "swap", "(Z)V");
    g_swapper = static_cast<jclass>(env->NewGlobalRef(swapper));
    g_tools = make_tools(env);
  }
  if (g_swap == nullptr || g_tools == nullptr) verbose("no thread writes its own waits");
  env->ExceptionClear();
}

void own_waits_want(JNIEnv* env, bool on) {
  if (g_swap == nullptr || g_tools == nullptr) return;
  env->CallStaticVoidMethod(g_swapper, g_swap, static_cast<jboolean>(on));
  env->ExceptionClear();
  g_tools->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE,
                                    JVMTI_EVENT_MONITOR_CONTENDED_ENTER, nullptr);
  if (on)
    g_tools->SetEventNotificationMode(JVMTI_ENABLE, JVMTI_EVENT_MONITOR_CONTENDED_ENTERED, nullptr);
}

}  // namespace wisp
