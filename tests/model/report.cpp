// How a failure is told: the trace, the seed that repeats it, who is stuck where.
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

namespace model {

namespace {
constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
constexpr const char* kOpNames[] = {"start",      "load",       "await", "store",      "rmw",
                                    "fence",      "membarrier", "lock",  "futex_wait", "asleep",
                                    "futex_wake", "step",       "quiet", "done"};
}  // namespace

void Engine::replay(Result& result, const std::string& seed) {
  g_engine = this;
  tracing_ = true;
  size_t first = seed.find(':'), second = seed.find(':', first + 1);
  for (size_t i = first + 1; i < second; ++i)
    writer_.push_back(seed[i] == '*' ? kSeveral : seed[i] == '-' ? kNobody : digit(seed[i]));
  for (size_t i = second + 1; i < seed.size(); ++i)
    choices_.push_back({uint32_t(digit(seed[i])), 0});
  result.failed = run_once() == End::Failed;
  result.message = message_;
  result.trace = trace_;
  result.seed = seed;
  g_engine = nullptr;
}

// "BOUND:WRITERS:CHOICES"; the first two are part of it because they shape the list of choices.
std::string Engine::seed() const {
  std::string s = options_.preemptions < 0 ? "x:" : std::to_string(options_.preemptions) + ":";
  for (int w : writer_at_start_) s += w == kSeveral ? '*' : w == kNobody ? '-' : kDigits[w];
  s += ':';
  for (size_t i = 0; i < depth_; ++i) s += kDigits[choices_[i].taken];
  return s;
}

// --- words
std::string Engine::name_of(int loc) const {
  if (loc < 0 || loc >= static_cast<int>(locations_.size())) return "";
  const char* name = locations_[loc].name;
  return name != nullptr ? name : "a" + std::to_string(loc);
}

std::string Engine::stuck() const {
  std::string s;
  for (const Thread* t : threads_) {
    if (t->pending.op == Op::Done) continue;
    const char* slash = strrchr(t->pending.at.file, '/');
    s += std::string(s.empty() ? "" : ", ") + t->name + " at " + kOpNames[int(t->pending.op)] +
         " " + name_of(t->pending.loc) + " (" +
         (slash != nullptr ? slash + 1 : t->pending.at.file) + ":" +
         std::to_string(t->pending.at.line) + ")";
  }
  return s;
}

void Engine::log(const char* what, int loc, uint64_t value) {
  if (!tracing_) return;
  const Thread* t = current_ == kOutside ? nullptr : threads_[current_];
  const char* file = t != nullptr ? t->pending.at.file : "";
  const char* slash = strrchr(file, '/');
  char line[200];
  snprintf(line, sizeof line, "  %-10s %-22s:%-4d %s %s = %llx\n",
           t != nullptr ? t->name : "(alone)", slash != nullptr ? slash + 1 : file,
           t != nullptr ? t->pending.at.line : 0, what, name_of(loc).c_str(),
           static_cast<unsigned long long>(value));
  trace_ += line;
}

void Engine::fail(const std::string& what, Site at) {
  if (test_ == nullptr || threads_.empty()) {
    fprintf(stderr, "model: failure during set-up: %s\n", what.c_str());
    abort();
  }
  failed_ = true;
  const char* slash = strrchr(at.file, '/');
  message_ =
      what + " (" + (slash != nullptr ? slash + 1 : at.file) + ":" + std::to_string(at.line) + ")";
  _longjmp(engine_, 1);
}

void Engine::log_flush(const Thread& t, const Buffered& b) {
  if (!tracing_) return;
  char line[200];
  snprintf(line, sizeof line, "  %-10s %-27s ... %s = %llx reaches memory\n", t.name, "",
           name_of(b.loc).c_str(), static_cast<unsigned long long>(b.value));
  trace_ += line;
}

}  // namespace model
