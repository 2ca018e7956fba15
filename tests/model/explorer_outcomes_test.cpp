// The explorer against a second opinion: for random little programs, the set of final outcomes that
// explore() reaches must equal the set that a plain breadth-first interpreter of x86-TSO reaches.
// The interpreter shares no code with the engine, keeps whole states and cuts nothing off; its
// membarrier is the kernel's (an interrupt per processor, in any order, draining its buffer).
#include <stdio.h>

#include <map>
#include <random>
#include <set>

#include "model.h"

namespace {

enum class Kind { Load, Store, SeqCstStore, Add, Swap01, Fence, Membarrier };
struct Instruction {
  Kind kind;
  int loc, value;
};
using Program = std::vector<std::vector<Instruction>>;  // per thread
constexpr int kLocs = 2;
using Outcome = std::vector<int>;  // memory, then what each thread read, in program order

struct State {
  std::vector<int> memory = std::vector<int>(kLocs, 0);
  struct Cpu {
    size_t pc = 0;
    std::vector<std::pair<int, int>> buffer;
    std::vector<int> reads;
    std::set<int> waits_for;  // membarrier: processors still to be interrupted
    bool in_membarrier = false;
    auto operator<=>(const Cpu&) const = default;
  };
  std::vector<Cpu> cpus;
  auto operator<=>(const State&) const = default;
};

void drain_one(State& s, size_t i) {
  s.memory[s.cpus[i].buffer.front().first] = s.cpus[i].buffer.front().second;
  s.cpus[i].buffer.erase(s.cpus[i].buffer.begin());
}

// All states one step after `s`.
std::vector<State> successors(const Program& program, const State& s) {
  std::vector<State> out;
  for (size_t i = 0; i < s.cpus.size(); ++i) {
    if (!s.cpus[i].buffer.empty()) {
      out.push_back(s);
      drain_one(out.back(), i);
    }
    for (int j : s.cpus[i].waits_for) {
      out.push_back(s);
      while (!out.back().cpus[j].buffer.empty()) drain_one(out.back(), j);
      out.back().cpus[i].waits_for.erase(j);
    }
    if (s.cpus[i].pc == program[i].size()) continue;
    const Instruction& in = program[i][s.cpus[i].pc];
    bool needs_drained = in.kind != Kind::Load && in.kind != Kind::Store;
    if (needs_drained && !s.cpus[i].buffer.empty()) continue;
    State n = s;
    State::Cpu& c = n.cpus[i];
    int& cell = n.memory[in.loc];
    ++c.pc;
    switch (in.kind) {
      case Kind::Load: {
        int v = cell;
        for (auto& [loc, value] : c.buffer)
          if (loc == in.loc) v = value;
        c.reads.push_back(v);
        break;
      }
      case Kind::Store:
        c.buffer.push_back({in.loc, in.value});
        break;
      case Kind::SeqCstStore:
        cell = in.value;
        break;
      case Kind::Add:
        c.reads.push_back(cell);
        cell += in.value;
        break;
      case Kind::Swap01:
        c.reads.push_back(cell);
        if (cell == 0) cell = in.value;
        break;
      case Kind::Fence:
        break;
      case Kind::Membarrier:
        if (!c.in_membarrier) {
          c.in_membarrier = true;
          --c.pc;
          for (size_t j = 0; j < s.cpus.size(); ++j)
            if (j != i) c.waits_for.insert(static_cast<int>(j));
        } else if (!c.waits_for.empty()) {
          continue;
        } else {
          c.in_membarrier = false;
        }
    }
    out.push_back(std::move(n));
  }
  return out;
}

std::set<Outcome> by_interpreter(const Program& program) {
  std::set<State> seen;
  std::set<Outcome> outcomes;
  State first;
  first.cpus.resize(program.size());
  std::vector<State> todo{first};
  seen.insert(first);
  while (!todo.empty()) {
    State s = std::move(todo.back());
    todo.pop_back();
    std::vector<State> next = successors(program, s);
    if (next.empty()) {
      Outcome o = s.memory;
      for (State::Cpu& c : s.cpus) o.insert(o.end(), c.reads.begin(), c.reads.end());
      outcomes.insert(o);
    }
    for (State& n : next)
      if (seen.insert(n).second) todo.push_back(std::move(n));
  }
  return outcomes;
}

std::set<Outcome> by_explorer(const Program& program, model::Options options) {
  std::set<Outcome> outcomes;
  options.restarted = [&] { outcomes.clear(); };
  struct Shared {
    model::Atomic<int> cells[kLocs];
    int reads[4][8];
    int count[4] = {};
  };
  auto scenario = [&](model::Test& t) {
    Shared& s = t.make<Shared>();
    for (size_t i = 0; i < program.size(); ++i)
      t.thread("t", [&, i] {
        for (const Instruction& in : program[i]) {
          model::Atomic<int>& cell = s.cells[in.loc];
          auto read = [&](int v) { s.reads[i][s.count[i]++] = v; };
          int zero = 0;
          switch (in.kind) {
            case Kind::Load:
              read(cell.load(std::memory_order_acquire));
              break;
            case Kind::Store:
              cell.store(in.value, std::memory_order_release);
              break;
            case Kind::SeqCstStore:
              cell.store(in.value);
              break;
            case Kind::Add:
              read(cell.fetch_add(in.value));
              break;
            case Kind::Swap01:
              read((cell.compare_exchange_strong(zero, in.value), zero));
              break;
            case Kind::Fence:
              model::fence();
              break;
            case Kind::Membarrier:
              model::membarrier();
              break;
          }
        }
      });
    t.finally([&] {
      Outcome o;
      for (auto& c : s.cells) o.push_back(c.load());
      for (size_t i = 0; i < program.size(); ++i)
        o.insert(o.end(), s.reads[i], s.reads[i] + s.count[i]);
      outcomes.insert(o);
    });
  };
  model::Result r = model::explore(options, scenario);
  if (r.failed || !r.complete) {
    printf("explorer stopped: %s\n%s", r.message.c_str(), r.trace.c_str());
    return {};
  }
  return outcomes;
}

Program random_program(std::mt19937& rng) {
  Program p(2 + rng() % 2);
  int value = 0;
  for (auto& thread : p) {
    size_t length = p.size() == 2 ? 2 + rng() % 4 : 2 + rng() % 2;
    for (size_t i = 0; i < length; ++i) {
      uint32_t dice = rng() % 16;
      Kind k = dice < 6    ? Kind::Load
               : dice < 11 ? Kind::Store
               : dice < 12 ? Kind::SeqCstStore
               : dice < 13 ? Kind::Add
               : dice < 14 ? Kind::Swap01
               : dice < 15 ? Kind::Fence
                           : Kind::Membarrier;
      thread.push_back({k, static_cast<int>(rng() % kLocs), ++value});
    }
  }
  return p;
}

}  // namespace

int main() {
  size_t programs = 0, outcomes = 0, weak = 0;
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    std::mt19937 rng(seed);
    Program p = random_program(rng);
    std::set<Outcome> expected = by_interpreter(p);
    model::Options values, sequential;
    values.by_value = true;
    sequential.sequential = true;
    for (const model::Options& o : {model::Options{}, values}) {
      std::set<Outcome> got = by_explorer(p, o);
      if (got != expected) {
        printf("seed %u by_value %d: %zu outcomes, expected %zu\n", seed, o.by_value, got.size(),
               expected.size());
        return 1;
      }
    }
    ++programs;
    outcomes += expected.size();
    weak += by_explorer(p, sequential).size() < expected.size();
  }
  printf("%zu programs, %zu outcomes, all the same; %zu programs can tell TSO from SC\n", programs,
         outcomes, weak);
  return weak > 50 ? 0 : 1;  // else the programs are too tame to prove anything
}
