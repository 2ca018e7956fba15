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

namespace {
struct Search {
  const char* file;
  void* handle = nullptr;
};

int open_loaded(dl_phdr_info* info, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  const char* slash = info->dlpi_name != nullptr ? strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr || strcmp(slash + 1, search->file) != 0) return 0;
  search->handle = dlopen(info->dlpi_name, RTLD_NOLOAD | RTLD_LAZY);
  return 1;
}

void* open_library(const char* file) {
  Search search{file};
  dl_iterate_phdr(open_loaded, &search);
  return search.handle;
}
}  // namespace

void* jvm_symbol(const char* name) {
  static void* handle = nullptr;  // a race finds the same one twice
  if (handle == nullptr) handle = open_library("libjvm.so");
  return handle != nullptr ? dlsym(handle, name) : nullptr;
}

void* library_symbol(const char* file, const char* name) {
  void* handle = open_library(file);
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
