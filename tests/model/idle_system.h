// SysMonitor, the threads and what they run, around the idle protocol (idle_wake.h); sysmon.cpp's
// look_at and sysmon_main. Keep alike.
#pragma once
#include "idle_worker.h"

namespace idle_model {

struct System : Workers {
  using Workers::Workers;

  // --- sysmon.cpp: the parts that replace a wake-up. Its timed looks come when nothing else moves.
  // Nothing else moves.
  void help_stuck() {
    if (idle.wakeable() != 0 || has(kSysmonKeepsBack))
      announce_work(true);
    else
      wake_searcher(true);
  }
  void sysmon_main() {
    for (uint64_t quiet = 0;;) {
      model::forget(quiet);
      kick.store(0);
      bool starving = false;
      for (int i = 0; i < shape.carriers && !has(kSysmonOnlyGlobal); ++i) {
        Carrier* c = &carrier[i];
        if (!c->anything_queued() || idle.idle() == 0) continue;
        starving = true;
        // Left to it for now: by the next look it has come to them, or does not move.
        if (left_to_it(c))
          c->moves.store(0, relaxed);
        else
          help_stuck();
      }
      if (!global_empty() && idle.idle() != 0) help_stuck();
      if (idle.spares() == 0 && started.load() < static_cast<uint32_t>(shape.late_workers)) {
        started.fetch_add(1);
        if (any_work_visible()) starving = true;
      }
      // Sleeps for ever only while all is idle; else looks again after a while.
      auto all_idle = [this] { return idle.idle() == static_cast<uint32_t>(shape.carriers); };
      bool for_ever = all_idle() && global_empty() && !starving;
      model::fence();
      if (for_ever && !all_idle()) for_ever = false;
      if (kick.load() != 0) continue;
      // `leaves`: its long sleep is for ever too, and it does not begin that while something waits
      // (carriers_moved); so who leaves a task to its carrier has to tell it.
      bool soon = shape.leaves ? starving || any_work_visible() : !for_ever;
      if (soon && quiet < 3) {
        ++quiet;
        model::when_quiet();
        continue;
      }
      kick.futex_wait(0);
    }
  }

  // --- the threads
  void worker_main(Worker* w, uint32_t late_number) {
    if (late_number != 0)
      started.await([=](uint32_t n) { return n >= late_number; });
    else
      sleep_until_bound(w), awake(w);  // published by the constructor
    for (;;) {
      Task* t = next_task(w);
      run(w, t->program);
    }
  }
  void run(Worker* w, Program program) {
    Carrier* c = w->carrier;
    if (shape.homes || shape.leaves) MODEL_CHECK(c->busy.load(relaxed) != 0);
    switch (program) {
      case Program::Leaf:
        if (leaves_run.fetch_add(1) >= shape.brief && shape.meet != 0)
          leaves_run.await([this](uint32_t n) { return n >= shape.brief + shape.meet; });
        break;
      case Program::Fork2:
        for (int i = 0; i < 2; ++i) {
          c->queue.push(&leaf);
          announce_work();
        }
        break;
      case Program::WaitForLeaf:
        c->queue.push(&leaf);
        announce_work();
        [[fallthrough]];
      case Program::AwaitLeaf:
        leaves_run.await([](uint32_t n) { return n != 0; });
        break;
      case Program::NextThenBlock:
        c->next.exchange(&leaf);
        [[fallthrough]];
      case Program::RingThenBlock:
      case Program::BlockForLeaf:
        if (program == Program::RingThenBlock) c->queue.push(&leaf);
        enter_blocking_region(w);
        leaves_run.await([](uint32_t n) { return n != 0; });
        if (Carrier* again = idle.take_carrier(w)) mark_busy(again);
        break;
    }
    ran.add(1);
  }
};

}  // namespace idle_model
