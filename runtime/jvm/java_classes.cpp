// See java_classes.h.
#include "jvm/java_classes.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "jvm/loaded_library.h"

namespace wisp {

jclass define_classes(JNIEnv* env, const unsigned char* block, jobject loader) {
  jclass last = nullptr;
  for (const unsigned char* at = block;;) {
    uint32_t length;
    memcpy(&length, at, sizeof length);
    if (length == 0) return last;
    if (last != nullptr) env->DeleteLocalRef(last);
    last = env->DefineClass(nullptr, loader, reinterpret_cast<const jbyte*>(at + sizeof length),
                            static_cast<jsize>(length));
    if (env->ExceptionCheck() || last == nullptr) return nullptr;
    at += sizeof length + length;
  }
}

void* jvm_symbol(const char* name) {
  static void* handle = nullptr;  // a race finds the same one twice
  if (handle == nullptr) handle = loaded_library_named("libjvm.so");
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

void* library_symbol(const char* file, const char* name) {
  void* handle = loaded_library_named(file);
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

JavaVM* created_vm() {
  using Created = jint (*)(JavaVM**, jsize, jsize*);
  auto created = reinterpret_cast<Created>(jvm_symbol("JNI_GetCreatedJavaVMs"));
  JavaVM* vm = nullptr;
  jsize count = 0;
  if (created == nullptr || created(&vm, 1, &count) != JNI_OK || count == 0) return nullptr;
  return vm;
}

}  // namespace wisp
