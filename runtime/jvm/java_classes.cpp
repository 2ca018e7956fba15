// See java_classes.h.
#include "jvm/java_classes.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

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
    if (last == nullptr) return nullptr;
    at += sizeof length + length;
  }
}

static int open_jvm(dl_phdr_info* info, size_t, void* handle) {
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr || strcmp(slash, "/libjvm.so") != 0) return 0;
  *static_cast<void**>(handle) = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  return 1;
}

void* jvm_symbol(const char* name) {
  static void* handle = nullptr;  // a race finds the same one twice
  if (handle == nullptr) dl_iterate_phdr(open_jvm, &handle);
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
