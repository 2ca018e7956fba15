// Binds the libc functions that the library calls by name to the version that glibc 2.28 has of
// them, so that one built on a newer machine loads on an older one: glibc 2.34 gave everything that
// it took over from libpthread and libdl a new version. Included by the compiler's command line in
// every file of the library (runtime/CMakeLists.txt); tests/library/linkage_test.py names what is
// missing here.
#pragma once

#if defined(__x86_64__)
#define WISP_OLD_SYMBOL(name, version) asm(".symver " #name ", " #name "@" version);
#else
// 64-bit ARM: everything older is of the first version that has the architecture.
#define WISP_OLD_SYMBOL(name, version) asm(".symver " #name ", " #name "@GLIBC_2.17");
#endif

WISP_OLD_SYMBOL(_pthread_cleanup_pop, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(_pthread_cleanup_push, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(dladdr, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(dladdr1, "GLIBC_2.3.3")
WISP_OLD_SYMBOL(dlsym, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(dlvsym, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(pthread_barrier_init, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(pthread_barrierattr_init, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(pthread_barrierattr_setpshared, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(pthread_condattr_setclock, "GLIBC_2.3.3")
WISP_OLD_SYMBOL(pthread_condattr_setpshared, "GLIBC_2.2.5")
WISP_OLD_SYMBOL(sem_init, "GLIBC_2.2.5")

#undef WISP_OLD_SYMBOL
