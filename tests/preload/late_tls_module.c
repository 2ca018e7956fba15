// A library with initial-exec TLS, loaded late: its initial image must be in every thread.
static __thread int value __attribute__((tls_model("initial-exec"))) = 12345;
__attribute__((visibility("default"))) int next_value(void) { return value++; }
