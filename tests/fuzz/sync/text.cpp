// Random numbers, events, times and texts.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "sync/steps.h"

namespace steps {

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void Events::add(const char* what, long a, long b, long c) {
  int at = written_.fetch_add(1);
  if (at >= kRoom) return;
  list_[at] = Event{what, a, b, c};
  ready_.fetch_add(1);
}

std::vector<std::string> Events::take() {
  std::map<std::string, int> counted;
  int upto = std::min(ready_.load(), kRoom);
  for (; taken_ < upto; ++taken_) {
    const Event& e = list_[taken_];
    ++counted[format(e.what, e.a, e.b, e.c)];
  }
  std::vector<std::string> lines;
  for (auto& [text, n] : counted)
    lines.push_back(n == 1 ? text : format("%s x%d", text.c_str(), n));
  return lines;
}

Result by_errno(long rc, std::string note) { return Result{rc, rc == -1 ? errno : 0, note}; }
Result by_number(int error, std::string note) { return Result{error, error, note}; }

std::string error_name(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : format("%d", error);
}

std::string format(const char* f, ...) {
  char text[512];
  va_list list;
  va_start(list, f);
  vsnprintf(text, sizeof text, f, list);
  va_end(list);
  return text;
}

uint64_t now_ns(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

timespec after_ms(clockid_t clock, long ms) {
  int64_t at = static_cast<int64_t>(now_ns(clock)) + ms * 1000000;
  return timespec{at / 1000000000, at % 1000000000};
}

void sleep_ms(long ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

std::string unless_after(clockid_t clock, uint64_t start, long ms) {
  return static_cast<int64_t>(now_ns(clock) - start) < ms * 1000000 - 1000 ? "early" : "";
}

}  // namespace steps
