// Has a function of its own that libwisp.so stands for, and that libc no longer has.
int pthread_yield(void);
__attribute__((visibility("default"))) int pthread_yield(void) { return 7; }
