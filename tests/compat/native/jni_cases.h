// What the native halves of JniCases.java share.
#pragma once
#include <jni.h>
#include <time.h>

#include <string>

#define JNI(type, name) extern "C" JNIEXPORT type JNICALL Java_JniCases_##name

inline timespec in_ms(clockid_t clock, long ms) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms % 1000 * 1000000;
  t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

inline jstring text(JNIEnv* env, const std::string& s) { return env->NewStringUTF(s.c_str()); }

inline void sleep_ms(long ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
}
