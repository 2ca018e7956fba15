// How a failure is told: the trace, the seed that repeats it, who is stuck where.
#include <stdio.h>
#include <stdlib.h>

#include <sstream>

#include "engine.h"

namespace model {

namespace {
constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
constexpr const char* kOpNames[] = {"start",      "load",       "await", "store",      "rmw",
                                    "fence",      "membarrier", "lock",  "futex_wait", "asleep",
                                    "futex_wake", "step",       "yield", "quiet",      "done"};
}  // namespace

void Engine::replay(Result& result, const std::string& seed) {
  g_engine = this;
  tracing_ = true;
  std::istringstream in(seed);
  std::string part;
  std::getline(in, part, ':');  // the bound: see model::replay
  std::getline(in, part, ':');
  std::istringstream writes(part);
  for (std::string one; std::getline(writes, one, ',');) {
    Writes w;
    if (!one.empty()) w.thread = one[0] == '*' ? kSeveral : digit(one[0]);
    if (!one.empty()) w.locks = strtoull(one.c_str() + 1, nullptr, 16);
    writes_.push_back(w);
  }
  std::getline(in, part, ':');
  for (char c : part) choices_.push_back({uint32_t(digit(c)), 0});
  result.failed = run_once() == End::Failed;
  result.message = message_;
  result.trace = trace_;
  result.seed = seed;
  g_engine = nullptr;
}

// "BOUND:WRITES:CHOICES"; the first two are part of it because they shape the list of choices.
std::string Engine::seed() const {
  std::ostringstream out;
  if (options_.preemptions >= 0) out << options_.preemptions;
  out << ':' << std::hex;
  for (const Writes& w : writes_at_start_) {
    if (w.thread != kNobody) out << (w.thread == kSeveral ? '*' : kDigits[w.thread]);
    if (w.thread != kNobody && w.locks != 0) out << w.locks;
    out << ',';
  }
  std::string s = out.str();
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
