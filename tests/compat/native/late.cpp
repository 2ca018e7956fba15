// Loaded late by JniCases: initialised thread-locals, one of them in static TLS.
#include <string>

__attribute__((tls_model("initial-exec"))) static thread_local int early = 40;
static thread_local int dynamic_one = 1000;
static thread_local std::string words = "w";

extern "C" int late_next() {
  words += "w";
  return ++early + ++dynamic_one + static_cast<int>(words.size());  // 41 + 1001 + 2 at first
}
