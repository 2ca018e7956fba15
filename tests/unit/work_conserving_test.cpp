// No task waits for a carrier while one is idle, nor for long while those that run do not give way.
// Tasks wake each other, sleep, read, give way and block in the kernel at random, in bursts out of
// a silence in which SysMonitor has fallen asleep; at a random moment whoever runs keeps its
// carrier until, on the carriers that are left, everybody runs who can, or, by hand-offs, just
// everybody who can. Who is forgotten then (trusted to somebody who does not look again, say) would
// otherwise come to light only with long-running tasks, and be helped by the next switch.
//
// WISP_FUZZ_SECONDS (default 2) and WISP_FUZZ_SEED in the environment, for long runs.
#include <sys/ioctl.h>

#include <random>

#include "unit/io_support.h"
#include "unit/overlooked.h"

namespace wisp::test {
namespace {

constexpr int kPlayers = 12;

enum class Where : uint8_t { Runs, OnKey, OnTimer, Reads, InKernel, Frozen };

struct Player {
  std::atomic<uint32_t> key{0};  // what it parks on; 1 wakes it
  std::atomic<uint64_t> deadline{0};
  std::atomic<Where> where{Where::Runs};
  std::atomic<WispTask*> task{nullptr};
  Pipe pipe;
  std::minstd_rand random;

  bool has_bytes() const {
    int n = 0;
    return ::ioctl(pipe.in, FIONREAD, &n) == 0 && n > 0;
  }
  // It could go on, or does.
  bool can_run() const {
    switch (where.load()) {
      case Where::OnKey:
        return key != 0;
      case Where::OnTimer:
        return key != 0 || monotonic_ns() > deadline;
      case Where::Reads:
        return has_bytes();
      default:
        return true;
    }
  }
};

struct Game {
  Player player[kPlayers];
  std::atomic<bool> freeze{false}, over{false};
  std::atomic<int> budget{0};  // so many more may be woken by players in this round
  std::atomic<int> left{kPlayers};

  static uint32_t draw(std::minstd_rand* random, uint32_t below) {
    return static_cast<uint32_t>((*random)() % below);
  }
  static void compute(uint64_t us) {
    for (uint64_t end = ticks() + us_to_ticks(us); ticks() < end;) cpu_pause();
  }
  // Anybody.
  void wake(Player* p) {
    if (p->where == Where::Reads) {
      if (::write(p->pipe.out, "x", 1) != 1) abort();
      return;
    }
    RuntimeEntry entry;
    p->key = 1;
    ParkingLot::unpark(&p->key, 1);
  }
  void freeze_here(Player* me) {
    if (!freeze) return;
    me->where = Where::Frozen;
    while (freeze) usleep(10);  // the kernel's own: it keeps its carrier, not the processor
    me->where = Where::Runs;
  }
  void await_key(Player* me, uint64_t deadline) {
    me->deadline = deadline;
    me->where = deadline == kForever ? Where::OnKey : Where::OnTimer;
    {
      RuntimeEntry entry;
      while (me->key == 0 &&
             park(&me->key, deadline, [&] { return me->key == 0; }) != WakeReason::TimedOut) {
      }
    }
    me->where = Where::Runs;
    me->key = 0;
  }
  void step(Player* me) {
    uint32_t kind = draw(&me->random, 12), length = draw(&me->random, 60);
    if (kind < 5) {
      if (budget.fetch_sub(1) > 0) wake(&player[draw(&me->random, kPlayers)]);
    } else if (kind < 7) {
      yield();
    } else if (kind == 7) {
      await_key(me, monotonic_ns() + 4000ull * length);
    } else if (kind == 8) {
      me->where = Where::InKernel;
      BlockingRegion region;
      usleep(length);
    } else if (kind == 9) {
      char c;
      me->where = Where::Reads;
      if (io::read(me->pipe.in, &c, 1) != 1) abort();
    } else {
      compute(length / 2);
    }
    me->where = Where::Runs;
  }
  void play(Player* me) {
    me->task = current_task();
    while (!over) {
      await_key(me, kForever);
      for (uint32_t n = 1 + draw(&me->random, 5); n != 0 && !over; --n) {
        freeze_here(me);
        step(me);
      }
      freeze_here(me);
    }
    --left;
  }
  bool quiet() const {
    for (const Player& p : player)
      if (p.can_run()) return false;
    return true;
  }
  // Each carrier has a task that keeps it.
  bool carriers_taken() const {
    int frozen = 0;
    for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i)
      for (const Player& p : player)
        frozen += p.where == Where::Frozen && p.task == g_scheduler.carriers[i].current.load();
    return frozen == static_cast<int>(g_scheduler.carrier_count);
  }
  bool all_run_who_can(bool by_hand_off) const {
    for (const Player& p : player)
      if (p.where != Where::Frozen && p.can_run()) return !by_hand_off && carriers_taken();
    return true;
  }
  // What there is to know when somebody was forgotten.
  std::string describe() const {
    const Scheduler& sched = g_scheduler;
    uint64_t now = monotonic_ns();
    auto us = [now](uint64_t at) {
      return at == ~0ull || at == kForever
                 ? "never"
                 : std::to_string(static_cast<int64_t>(at - now) / 1000) + " us";
    };
    std::string s = "idle " + std::to_string(sched.idle.idle()) + ", kept back " +
                    std::to_string(sched.idle.kept_back()) + ", searching " +
                    std::to_string(sched.idle.searching()) + ", spares " +
                    std::to_string(sched.idle.spares()) + ", in the pump " +
                    std::to_string(sched.idle.polling()) + ", global " +
                    std::to_string(sched.global.size()) + ", watched " + us(watched_deadline()) +
                    ", SysMonitor " + us(sysmon_wakes_at());
    for (const Player& p : player)
      s +=
          "\n  task " + std::to_string(&p - player) + " where " +
          std::to_string(static_cast<int>(p.where.load())) + (p.can_run() ? " can run" : "") +
          ", key " + std::to_string(p.key.load()) + ", deadline " + us(p.deadline.load()) +
          ", state " +
          (p.task == nullptr ? "-" : std::to_string(static_cast<int>(p.task.load()->state.load())));
    for (uint32_t i = 0; i < sched.carrier_count; ++i) {
      const Carrier& c = sched.carriers[i];
      s += "\n  carrier " + std::to_string(i) + (c.busy.idle() ? " idle" : " busy") + ", task " +
           number_of(c.current) + ", next " + number_of(c.next) + ", queued " +
           std::to_string(c.queued()) + ", timer " + us(c.next_deadline.load());
    }
    return s;
  }
  std::string number_of(const std::atomic<WispTask*>& task) const {
    for (const Player& p : player)
      if (p.task == task.load()) return std::to_string(&p - player);
    return task.load() == nullptr ? "-" : "?";
  }
};

uint64_t number(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr ? strtoull(text, nullptr, 10) : otherwise;
}

TEST(WorkConserving, EverybodyRunsWhoCan) {
  start_scheduler();
  Game game;
  uint32_t seed = static_cast<uint32_t>(number("WISP_FUZZ_SEED", monotonic_ns()));
  for (Player& p : game.player) {
    p.random.seed(seed + 1 + static_cast<uint32_t>(&p - game.player));
    spawn([&game, &p] { game.play(&p); });
  }
  std::minstd_rand random(seed);
  uint32_t rounds = 0, asleep = 0;
  uint64_t end = monotonic_ns() + number("WISP_FUZZ_SECONDS", 2) * 1'000'000'000;
  for (; monotonic_ns() < end; ++rounds) {
    ASSERT_TRUE(until([&] { return game.quiet(); }, kPatience))
        << game.describe() << ", seed " << seed;
    // For a few milliseconds at most: it may have a reason not to sleep.
    bool sleeps = false;
    for (uint64_t last = monotonic_ns() + 20'000'000; !sleeps && monotonic_ns() < last; usleep(50))
      sleeps = sysmon_sleeps();
    asleep += sleeps ? 1 : 0;
    // Where there are many SysMonitor decides that, when it is awake.
    if (uint32_t n = g_scheduler.carrier_count; n > 2 && Game::draw(&random, 2) == 0)
      g_scheduler.idle.keep_back(Game::draw(&random, n / 2 + 1));
    game.budget = static_cast<int>(Game::draw(&random, 12));
    for (uint32_t n = 1 + Game::draw(&random, 5); n != 0; --n) {
      game.wake(&game.player[Game::draw(&random, kPlayers)]);
      if (Game::draw(&random, 2) == 0) Game::compute(Game::draw(&random, 60));
    }
    Game::compute(Game::draw(&random, 60));
    game.freeze = true;
    bool by_hand_off = Game::draw(&random, 8) == 0;  // takes longer
    bool good = until([&] { return game.all_run_who_can(by_hand_off); }, kPatience);
    if (!good) {
      fprintf(stderr, "round %u, seed %u: %s\n", rounds, seed, game.describe().c_str());
      abort();  // the tasks use this stack
    }
    game.freeze = false;
  }
  if (!until([&] { return game.quiet(); }, kPatience)) abort();
  g_scheduler.idle.keep_back(0);
  game.over = true;
  for (Player& p : game.player) game.wake(&p);
  if (!until([&] { return game.left == 0; })) abort();
  printf("%u rounds, SysMonitor asleep in %u\n", rounds, asleep);
  EXPECT_GT(asleep, 10u);
}

// As many as there are carriers, woken in one go from outside while the carriers that have just run
// dry still search, and are trusted to: none may be content with the first one that it finds. Each
// computes until all of them do.
TEST(WorkConserving, WokenWhileCarriersGoIdle) {
  start_scheduler();
  const int n = carriers();
  constexpr uint64_t kLastsNs = 2'000'000'000, kLongestSearchNs = 60'000;
  std::atomic<uint32_t> round{0};
  std::atomic<uint64_t> together{0};
  std::atomic<int> gave_up{0}, left{n};
  for (int i = 0; i < n; ++i)
    spawn([&] {
      for (uint32_t done = 0;; ++done) {
        {
          RuntimeEntry entry;
          while (round == done) park(&round, kForever, [&] { return round == done; });
        }
        if (round == ~0u) break;
        ++together;
        if (!compute_until([&] { return together >= n * (done + 1ull); })) ++gave_up;
      }
      --left;
    });
  auto wake_all = [&](uint32_t next) {
    RuntimeEntry entry;
    round = next;
    ParkingLot::unpark(&round, ~0u);
  };
  uint64_t over = monotonic_ns() + kLastsNs;
  for (uint32_t i = 1; gave_up == 0 && monotonic_ns() < over; ++i) {
    wake_all(i);
    while (together < uint64_t{i} * n && gave_up == 0) cpu_pause();
    uint64_t pause = i * 7919ull % kLongestSearchNs;
    for (uint64_t now = monotonic_ns(), end = now + pause; now < end;) now = monotonic_ns();
  }
  wake_all(~0u);
  until([&] { return left == 0; });
  EXPECT_EQ(gave_up, 0) << "one of them computed, the other one waited for it";
  if (left != 0) abort();
}

}  // namespace
}  // namespace wisp::test
