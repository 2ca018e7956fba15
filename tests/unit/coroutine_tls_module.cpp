// A library with thread-local state for coroutine_tls_module_test.cpp to load.
#include <atomic>

namespace {

std::atomic<int> live_objects{0};

struct Counted {
  Counted() { live_objects++; }
  ~Counted() { live_objects--; }
  int value = 7;
};

__thread int plain = 42;
__thread int zero;
__thread char big[600];
thread_local Counted object;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int* module_plain() { return &plain; }
__attribute__((visibility("default"))) int* module_zero() { return &zero; }
__attribute__((visibility("default"))) char* module_big() { return big; }
__attribute__((visibility("default"))) int* module_object() { return &object.value; }
__attribute__((visibility("default"))) int module_live_objects() { return live_objects; }
}
