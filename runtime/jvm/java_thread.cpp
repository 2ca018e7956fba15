// See java_thread.h. Thread keeps its Runnable in the field `target` up to JDK 18 and in
// `holder.task` (Thread.FieldHolder) from 19 on, JDK-8284161. Names come through methods, whose
// signatures never changed.
#include "jvm/java_thread.h"

#include <stdlib.h>
#include <string.h>

#include "jvm/java_classes.h"
#include "jvm/rules.h"
#include "jvm/start.h"
#include "platform/compiler.h"

namespace wisp {

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

// Class Thread and its FieldHolder are never unloaded, so the ids stay good; a race finds the same
// ones twice.
static std::atomic<jfieldID> g_holder{nullptr};    // of Thread; null: there is none
static std::atomic<jfieldID> g_runnable{nullptr};  // of it, else of Thread; null: not looked for

// By the version, for GetFieldID answers by an error thrown. Of the class that declares it: a
// subclass may have a field of the same name.
static jfieldID find_runnable(JNIEnv* env) {
  jclass type = env->FindClass("java/lang/Thread");
  if (type == nullptr) return nullptr;
  bool held = env->GetVersion() >= kJdk19;
  if (held) {
    jfieldID holder = env->GetFieldID(type, "holder", "Ljava/lang/Thread$FieldHolder;");
    type = holder != nullptr ? env->FindClass("java/lang/Thread$FieldHolder") : nullptr;
    if (type == nullptr) return nullptr;
    g_holder.store(holder, std::memory_order_relaxed);
  }
  jfieldID id = env->GetFieldID(type, held ? "task" : "target", "Ljava/lang/Runnable;");
  // release: who sees it sees the holder.
  if (id != nullptr) g_runnable.store(id, std::memory_order_release);
  return id;
}

static jobject runnable_of(JNIEnv* env, jobject thread) {
  jfieldID id = g_runnable.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(id == nullptr)) {
    id = find_runnable(env);
    env->ExceptionClear();
    if (id == nullptr) return nullptr;
  }
  jfieldID holder = g_holder.load(std::memory_order_relaxed);
  if (holder != nullptr) thread = env->GetObjectField(thread, holder);
  return thread != nullptr ? env->GetObjectField(thread, id) : nullptr;
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
