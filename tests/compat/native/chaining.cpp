// A JNI library that installs a handler of its own for SIGSEGV after the JVM has installed its:
// with the JDK's libjsig.so preloaded the JVM's stays, and this one gets what the JVM does not
// know.
#include <jni.h>
#include <signal.h>
#include <string.h>

#include <atomic>

static std::atomic<int> g_handled{0};

static void own_handler(int, siginfo_t*, void*) { ++g_handled; }

extern "C" JNIEXPORT jboolean JNICALL Java_Chaining_install(JNIEnv*, jclass) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = own_handler;
  act.sa_flags = SA_SIGINFO;
  return sigaction(SIGSEGV, &act, nullptr) == 0;
}

extern "C" JNIEXPORT jint JNICALL Java_Chaining_handled(JNIEnv*, jclass) { return g_handled; }
