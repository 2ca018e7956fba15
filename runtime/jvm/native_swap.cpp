// See native_swap.h. Native methods are exchanged by JNI's RegisterNatives, which may be done at
// any time (HotSpot drops the compiled wrapper). What the JDK's function is: libjvm and libnio
// export most. Unsafe.park is in a table inside libjvm, which Unsafe.registerNatives hands to
// RegisterNatives: we look on, once, with a JNI function of ours in its place (JVMTI,
// SetJNIFunctionTable).
#include "jvm/native_swap.h"

#include <string.h>

#include <type_traits>

#include "jvm/java_classes.h"
#include "jvm/own_events.h"
#include "platform/kernel.h"
#include "scheduler/event_log.h"

extern "C" __attribute__((visibility("hidden"))) const unsigned char wisp_native_swap_classes[];

namespace wisp {
namespace {

jclass g_swapper = nullptr;
jmethodID g_swap = nullptr;
jvmtiEnv* g_tools = nullptr;

template <WaitPlace kPlace>
std::atomic<void*> g_jdk{nullptr};  // the JDK's function

template <WaitPlace kPlace, class R, class... A>
struct Watched {
  static R JNICALL call(JNIEnv* env, A... arguments) {
    // acquire: whoever registered this function had stored the other before. That it is seen here
    // is not promised on every machine, so ask until it is.
    void* jdk;
    while ((jdk = g_jdk<kPlace>.load(std::memory_order_acquire)) == nullptr) kernel::sched_yield();
    auto function = reinterpret_cast<R(JNICALL*)(JNIEnv*, A...)>(jdk);
    LogScope scope;
    bool foreign = kPlace == WaitPlace::kWait && own_events_on_virtual(env);
    if (foreign || !log_scope_open(&scope)) return function(env, arguments...);
    if constexpr (std::is_void_v<R>) {
      function(env, arguments...);
      log_scope_close();
      own_wait_write(env, scope, kPlace);
    } else {
      R result = function(env, arguments...);
      log_scope_close();
      own_wait_write(env, scope, kPlace);
      return result;
    }
  }
};

// ---- the methods -------------------------------------------------------------------------------

struct Method {
  const char *type, *name, *signature;
  const char *library, *symbol;  // null: in the table of Unsafe
  void* ours;
  std::atomic<void*>* jdk;
  jclass holder = nullptr;
  bool absent = false, watched = false;
};

template <WaitPlace kPlace, class R, class... A>
constexpr Method method(const char* type, const char* name, const char* signature,
                        const char* library, const char* symbol) {
  return {type,          name,   signature,
          library,       symbol, reinterpret_cast<void*>(&Watched<kPlace, R, A...>::call),
          &g_jdk<kPlace>};
}

// Names by JDK: Thread.sleep 11, sleep0 21, sleepNanos0 25; Object.wait 11, wait0 21. A name that
// is no native method there is not registered. Which are there is not tried out: RegisterNatives
// and GetMethodID answer by an error thrown, and a recording lists those.
Method g_methods[] = {
    method<WaitPlace::kPark, void, jobject, jboolean, jlong>("jdk/internal/misc/Unsafe", "park",
                                                             "(ZJ)V", nullptr, nullptr),
    method<WaitPlace::kSleep, void, jclass, jlong>("java/lang/Thread", "sleep", "(J)V", "libjvm.so",
                                                   "JVM_Sleep"),
    method<WaitPlace::kSleep, void, jclass, jlong>("java/lang/Thread", "sleep0", "(J)V",
                                                   "libjvm.so", "JVM_Sleep"),
    method<WaitPlace::kSleep, void, jclass, jlong>("java/lang/Thread", "sleepNanos0", "(J)V",
                                                   "libjvm.so", "JVM_SleepNanos"),
    method<WaitPlace::kWait, void, jobject, jlong>("java/lang/Object", "wait", "(J)V", "libjvm.so",
                                                   "JVM_MonitorWait"),
    method<WaitPlace::kWait, void, jobject, jlong>("java/lang/Object", "wait0", "(J)V", "libjvm.so",
                                                   "JVM_MonitorWait"),
    method<WaitPlace::kPoll, jint, jclass, jobject, jint, jlong>(
        "sun/nio/ch/Net", "poll", "(Ljava/io/FileDescriptor;IJ)I", "libnio.so",
        "Java_sun_nio_ch_Net_poll"),
    method<WaitPlace::kEventPoll, jint, jclass, jint, jlong, jint, jint>(
        "sun/nio/ch/EPoll", "wait", "(IJII)I", "libnio.so", "Java_sun_nio_ch_EPoll_wait"),
    method<WaitPlace::kSocketRead, jint, jobject, jobject, jbyteArray, jint, jint, jint>(
        "java/net/SocketInputStream", "socketRead0", "(Ljava/io/FileDescriptor;[BIII)I",
        "libnet.so", "Java_java_net_SocketInputStream_socketRead0"),
    method<WaitPlace::kAccept, void, jobject, jobject>(
        "java/net/PlainSocketImpl", "socketAccept", "(Ljava/net/SocketImpl;)V", "libnet.so",
        "Java_java_net_PlainSocketImpl_socketAccept"),
};

// ---- Unsafe's table ----------------------------------------------------------------------------

const jniNativeInterface* g_real = nullptr;
JNIEnv* g_looking = nullptr;

jint JNICALL look_on(JNIEnv* env, jclass type, const JNINativeMethod* table, jint count) {
  if (env != g_looking) return g_real->RegisterNatives(env, type, table, count);
  for (jint i = 0; i < count; ++i)
    if (strcmp(table[i].name, "park") == 0 && strcmp(table[i].signature, "(ZJ)V") == 0)
      g_jdk<WaitPlace::kPark>.store(table[i].fnPtr, std::memory_order_release);
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

// ---- exchange, by the observer -----------------------------------------------------------------

bool is_native(jmethodID id, const Method& m) {
  char *name = nullptr, *signature = nullptr;
  if (g_tools->GetMethodName(id, &name, &signature, nullptr) != JVMTI_ERROR_NONE) return false;
  jboolean native = JNI_FALSE;
  if (strcmp(name, m.name) == 0 && strcmp(signature, m.signature) == 0 &&
      g_tools->IsMethodNative(id, &native) != JVMTI_ERROR_NONE)
    native = JNI_FALSE;
  g_tools->Deallocate(reinterpret_cast<unsigned char*>(name));
  g_tools->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return native == JNI_TRUE;
}

bool has_native(jclass type, const Method& m) {
  if (m.library == nullptr) return true;  // it stands in the table
  jint count = 0;
  jmethodID* all = nullptr;
  if (g_tools->GetClassMethods(type, &count, &all) != JVMTI_ERROR_NONE) return false;
  bool found = false;
  for (jint i = 0; i < count && !found; ++i) found = is_native(all[i], m);
  g_tools->Deallocate(reinterpret_cast<unsigned char*>(all));
  return found;
}

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
  if (type == nullptr || m->jdk->load(std::memory_order_relaxed) == nullptr ||
      !has_native(type, *m)) {
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
    m->absent = true;
  env->ExceptionClear();
}

// The native of wisp.observe.NativeSwap.
void JNICALL swap_all(JNIEnv* env, jclass, jboolean on) {
  for (Method& m : g_methods) exchange(env, &m, on == JNI_TRUE);
}

}  // namespace

bool native_swap_prepare(JNIEnv* env, jvmtiEnv* tools) {
  static char kName[] = "swapAll", kSignature[] = "(Z)V";
  static const JNINativeMethod kNative = {kName, kSignature, reinterpret_cast<void*>(&swap_all)};
  g_tools = tools;
  jclass swapper = define_classes(env, wisp_native_swap_classes, nullptr);
  if (swapper != nullptr && env->RegisterNatives(swapper, &kNative, 1) == 0) {
    g_swap = env->GetStaticMethodID(swapper, "swap", "(Z)V");
    g_swapper = static_cast<jclass>(env->NewGlobalRef(swapper));
  }
  env->ExceptionClear();
  return g_swap != nullptr && g_swapper != nullptr;
}

void native_swap(JNIEnv* env, bool ours) {
  env->CallStaticVoidMethod(g_swapper, g_swap, static_cast<jboolean>(ours));
  env->ExceptionClear();
}

}  // namespace wisp
