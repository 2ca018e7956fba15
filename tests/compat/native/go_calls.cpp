// Between GoCalls.java and tests/compat/go/library.go.
#include <dlfcn.h>
#include <jni.h>

namespace {

void* g_library = nullptr;

template <typename... A>
long call(const char* name, A... arguments) {
  auto f = reinterpret_cast<long (*)(A...)>(dlsym(g_library, name));
  return f != nullptr ? f(arguments...) : -1;
}

}  // namespace

extern "C" {

JNIEXPORT jstring JNICALL Java_GoCalls_load(JNIEnv* env, jclass, jstring path) {
  const char* file = env->GetStringUTFChars(path, nullptr);
  g_library = dlopen(file, RTLD_NOW);
  env->ReleaseStringUTFChars(path, file);
  return g_library == nullptr ? env->NewStringUTF(dlerror()) : nullptr;
}
JNIEXPORT jlong JNICALL Java_GoCalls_sum(JNIEnv*, jclass, jlong n) { return call("GoSum", n); }
JNIEXPORT jlong JNICALL Java_GoCalls_deep(JNIEnv*, jclass, jlong n) { return call("GoDeep", n); }
JNIEXPORT jlong JNICALL Java_GoCalls_nil(JNIEnv*, jclass) { return call("GoNil"); }
JNIEXPORT jlong JNICALL Java_GoCalls_serve(JNIEnv*, jclass) { return call("GoServe"); }
JNIEXPORT void JNICALL Java_GoCalls_sleep(JNIEnv*, jclass, jlong us) { call("GoSleep", us); }
JNIEXPORT void JNICALL Java_GoCalls_collect(JNIEnv*, jclass) { call("GoCollect"); }

}  // extern "C"
