// See java_thread.h. Thread keeps its Runnable in the field `target` up to JDK 18 and in
// `holder.task` (Thread.FieldHolder) from 19 on, JDK-8284161. Names come through methods, whose
// signatures never changed.
#include "jvm/java_thread.h"

#include <stdlib.h>
#include <string.h>

#include "jvm/rules.h"
#include "jvm/start.h"
#include "platform/compiler.h"

namespace wisp {

// The field that `type` declares: a subclass may have one of the same name.
static jobject field(JNIEnv* env, jobject object, jclass type, const char* name,
                     const char* signature) {
  jfieldID id = env->GetFieldID(type, name, signature);
  if (id == nullptr) {
    env->ExceptionClear();  // NoSuchFieldError: another JDK's Thread
    return nullptr;
  }
  return env->GetObjectField(object, id);
}

// The result of a String-returning method without arguments, malloc'ed; null when it failed.
static char* string_of(JNIEnv* env, jobject object, const char* method) {
  if (object == nullptr) return nullptr;
  jclass type = env->GetObjectClass(object);
  jmethodID id = env->GetMethodID(type, method, "()Ljava/lang/String;");
  jstring text = nullptr;
  if (id != nullptr) text = static_cast<jstring>(env->CallObjectMethod(object, id));
  if (env->ExceptionCheck()) env->ExceptionClear();
  if (text == nullptr) return nullptr;
  const char* bytes = env->GetStringUTFChars(text, nullptr);
  if (bytes == nullptr) {
    env->ExceptionClear();
    return nullptr;
  }
  char* copy = strdup(bytes);
  env->ReleaseStringUTFChars(text, bytes);
  if (copy != nullptr) utf8_from_modified(copy);
  return copy;
}

static char* class_name(JNIEnv* env, jobject object) {
  return object == nullptr ? nullptr : string_of(env, env->GetObjectClass(object), "getName");
}

static jobject runnable_of(JNIEnv* env, jobject thread) {
  jclass type = env->FindClass("java/lang/Thread");
  if (type == nullptr) {
    env->ExceptionClear();
    return nullptr;
  }
  if (jobject target = field(env, thread, type, "target", "Ljava/lang/Runnable;")) return target;
  jobject holder = field(env, thread, type, "holder", "Ljava/lang/Thread$FieldHolder;");
  if (holder == nullptr) return nullptr;
  return field(env, holder, env->GetObjectClass(holder), "task", "Ljava/lang/Runnable;");
}

bool java_thread_converts(JNIEnv* env, jobject thread) {
  if (g_options.black.count == 0 && g_options.white.count == 0) return true;
  if (env->PushLocalFrame(16) != 0) {
    env->ExceptionClear();
    return true;
  }
  char* name = string_of(env, thread, "getName");
  char* type = class_name(env, thread);
  char* runnable = class_name(env, runnable_of(env, thread));
  env->PopLocalFrame(nullptr);
  bool converts = rules_convert(g_options.black, g_options.white, name, type, runnable);
  free(name);
  free(type);
  free(runnable);
  return converts;
}

uint64_t java_thread_id(JNIEnv* env, jobject thread) {
  if (env == nullptr) return 0;  // no JVM: WISP=always, tests/preload
  // Class Thread is never unloaded, so the id stays good; a race finds the same one twice.
  static std::atomic<jfieldID> cached{nullptr};
  jfieldID id = cached.load(std::memory_order_relaxed);
  if (WISP_UNLIKELY(id == nullptr)) {
    jclass type = env->FindClass("java/lang/Thread");
    if (type != nullptr) id = env->GetFieldID(type, "tid", "J");
    env->ExceptionClear();
    if (type != nullptr) env->DeleteLocalRef(type);
    if (id == nullptr) return 0;
    cached.store(id, std::memory_order_relaxed);
  }
  return static_cast<uint64_t>(env->GetLongField(thread, id));
}

}  // namespace wisp
