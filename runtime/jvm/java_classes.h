// The Java classes that live in this library (java/agent), and the JVM they are given to.
#pragma once
#include <jni.h>
#include <stddef.h>

namespace wisp {

// Defines the classes of a block (jvm/CMakeLists.txt: a 32-bit length and a class file, each after
// what it refers to; a length of 0 ends it) in `loader`, null = the boot loader. Returns the last
// one; null with an exception pending.
jclass define_classes(JNIEnv* env, const unsigned char* block, jobject loader);

// A symbol of libjvm, wherever that was loaded from; null if there is none.
void* jvm_symbol(const char* name);
// The same of any library of the JDK, by its file's name; null also while it is not loaded.
void* library_symbol(const char* file, const char* name);
// The JVM of this process, null while there is none.
JavaVM* created_vm();

// What JNI's GetVersion says from JDK 19 on; jni.h of older ones has no name for it.
constexpr jint kJdk19 = 0x00130000;

// The natives that WispCounter and wisp.flight.Flight share: the numbers of all carriers.
jlongArray JNICALL java_carriers(JNIEnv* env, jclass);

}  // namespace wisp
