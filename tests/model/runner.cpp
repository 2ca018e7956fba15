// explore(), replay() and the runner of test files.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

namespace model {

Result replay(const Options& options, const Scenario& scenario, const std::string& seed) {
  Options o = options;
  o.preemptions = seed[0] == ':' ? -1 : atoi(seed.c_str());
  Result r;
  Engine(o, scenario).replay(r, seed);
  return r;
}

Result explore(const Options& options, const Scenario& scenario) {
  Result r;
  Engine(options, scenario).explore(r);
  if (!r.failed) return r;
  // Found; now with as few preemptions as possible, for the reader.
  for (int bound = 0; bound <= 4 && options.preemptions < 0; ++bound) {
    Options o = options;
    o.preemptions = bound;
    o.max_states = 500000;
    Result simple;
    Engine(o, scenario).explore(simple);
    if (simple.failed) {
      r.message = simple.message;
      r.seed = simple.seed;
      break;
    }
  }
  r.trace = replay(options, scenario, r.seed).trace;
  return r;
}

int run_cases(int argc, char** argv, const std::vector<Case>& cases) {
  const bool all_but = argc > 1 && strcmp(argv[1], "--all-but") == 0;
  auto named = [&](const Case& c) {
    for (int i = 2; i < argc; ++i)
      if (strcmp(argv[i], c.name) == 0) return true;
    return false;
  };
  int bad = 0, ran = 0, left_out = 0;
  for (const Case& c : cases) {
    if (all_but && named(c)) {
      ++left_out;
      continue;
    }
    if (argc > 1 && !all_but && strcmp(argv[1], c.name) != 0) continue;
    ++ran;
    clock_t begin = clock();
    Result r = argc > 2 && !all_but ? replay(c.options, c.scenario, argv[2])
                                    : explore(c.options, c.scenario);
    double s = static_cast<double>(clock() - begin) / CLOCKS_PER_SEC;  // of processor time
    bool as_expected = c.must_fail_with != nullptr
                           ? r.failed && r.message.find(c.must_fail_with) != std::string::npos
                           : !r.failed && r.complete;
    printf("%-44s %s %9llu states %9llu executions %6.2f s%s\n", c.name,
           r.failed ? "fails " : "passes", static_cast<unsigned long long>(r.states),
           static_cast<unsigned long long>(r.executions), s, r.complete ? "" : "  INCOMPLETE");
    if (!as_expected || (argc > 1 && !all_but)) {
      printf("%s", r.trace.c_str());
      if (r.failed)
        printf("  => %s\n  replay: %s %s %s\n", r.message.c_str(), argv[0], c.name, r.seed.c_str());
    }
    if (!as_expected) {
      printf("  UNEXPECTED: should %s %s\n", c.must_fail_with != nullptr ? "fail with" : "pass",
             c.must_fail_with != nullptr ? c.must_fail_with : "");
      ++bad;
    }
    fflush(stdout);
  }
  if (ran == 0) fprintf(stderr, "no such case: %s\n", argv[1]);
  // Each case is somebody's: one left out under a wrong name would run nowhere.
  const bool unknown = all_but && left_out != argc - 2;
  if (unknown) fprintf(stderr, "--all-but: a name is no case's\n");
  return bad != 0 || ran == 0 || unknown;
}

}  // namespace model
