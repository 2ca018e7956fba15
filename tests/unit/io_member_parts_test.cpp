// Members of the program's epoll instances in the parts of the event pump: io/epoll_strays.h.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <thread>

#include "io/epoll_item.h"
#include "io/epoll_wait.h"
#include "io/event_pump.h"
#include "scheduler/internal.h"
#include "sync/sleep.h"
#include "unit/epoll_support.h"

namespace wisp::test {
namespace {

using io::kStrays;

class IoMemberParts : public ::testing::Test {
 protected:
  void SetUp() override {
    start_scheduler();
    if (pump_parts() == 1) GTEST_SKIP() << "there is one part only";
  }
};

io::Descriptor* record(int fd) { return io::descriptor_find(fd); }
uint32_t part_of(int fd) { return record(fd)->part.load(); }

long look(int epoll, io::Look how) {
  epoll_event e;
  return io::epoll_look(epoll, record(epoll), &e, 1, how);
}

// One that is always ready, so that each look reports it and no wait changes where it belongs.
TEST_F(IoMemberParts, WhoWaitsInTheInstanceIsFollowed) {
  run_tasks({[] {
    for (int attempt = 0; attempt < 100; ++attempt) {
      int epoll = instance(), source = event_source();
      signal(source);
      uint32_t wanted = kAnyPart;
      EXPECT_TRUE(until([&] { return (wanted = pump_part_wanted()) != kAnyPart; }));
      uint32_t other = (wanted + 1) % pump_parts(), life = life_of_number(source), looks = 0;
      EXPECT_EQ(io::make_ready(source, record(source), life, false, other), io::Wait::Ready);
      EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, source, EPOLLIN), 0);
      record(source)->strays = 0;  // the ADD is as a wait
      bool same = true;
      for (; part_of(source) == other && looks < 2 * kStrays; ++looks) {
        same &= pump_part_wanted() == wanted;
        EXPECT_EQ(look(epoll, io::Look::Told), 1);
        same &= pump_part_wanted() == wanted;
      }
      if (same) {
        EXPECT_EQ(looks, kStrays + 1) << "at the next look";
        EXPECT_EQ(part_of(source), wanted);
        EXPECT_EQ(record(epoll)->epoll.load()->part.load(), wanted) << "for those that come";
      }
      EXPECT_EQ(take(source), 1);
      EXPECT_EQ(look(epoll, io::Look::Exactly), 0);
      signal(source);
      EXPECT_EQ(look(epoll, io::Look::Exactly), 1) << "looked for where it went";
      close_fd(source), close_fd(epoll);
      if (same) return;  // else carriers went to sleep or got up meanwhile
    }
    ADD_FAILURE() << "the other carriers do not rest";
  }});
}

// Where it goes the new registration tells what is there: of one that has been told that is too
// much.
TEST_F(IoMemberParts, AnEdgeThatIsLeftIsNotToldAgain) {
  run_tasks({[] {
    for (int attempt = 0; attempt < 100; ++attempt) {
      int epoll = instance(), source = event_source();
      uint32_t wanted = kAnyPart;
      EXPECT_TRUE(until([&] { return (wanted = pump_part_wanted()) != kAnyPart; }));
      uint32_t other = (wanted + 1) % pump_parts(), life = life_of_number(source);
      EXPECT_EQ(io::make_ready(source, record(source), life, false, other), io::Wait::Ready);
      EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, source, EPOLLIN | EPOLLET), 0);
      bool same = true;
      auto told = [&] {
        {
          RuntimeEntry entry;
          drain_events((PumpParts{1} << pump_parts()) - 1);
        }
        return look(epoll, io::Look::Told);
      };
      auto reports = [&](bool taken) {
        for (uint32_t i = 0; i < 2 * kStrays; ++i) {
          signal(source);
          same &= pump_part_wanted() == wanted;
          EXPECT_TRUE(until([&] { return told() == 1; })) << i;
          if (taken) {
            EXPECT_GT(take(source), 0);
          }
          EXPECT_EQ(told(), 0) << i;
          same &= pump_part_wanted() == wanted;
        }
      };
      reports(false);
      if (same) {
        EXPECT_EQ(part_of(source), other);
      }
      reports(true);
      if (same) {
        EXPECT_EQ(part_of(source), wanted);
      }
      close_fd(source), close_fd(epoll);
      if (same) return;
    }
    ADD_FAILURE() << "the other carriers do not rest";
  }});
}

// A look with a timeout of 0 sees all that was there before it, wherever the member is just going.
TEST_F(IoMemberParts, AnExactLookSeesOneOnItsWay) {
  constexpr int kLooks = 4000;
  int epoll = instance(), source = event_source();
  std::atomic<bool> over{false};
  std::thread mover;
  run_tasks({[&] {
    EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, source, EPOLLIN), 0);
    uint32_t life = life_of_number(source);
    mover = std::thread([&over, source, life] {
      for (uint32_t part = 0; !over; part = (part + 1) % pump_parts()) {
        io::pump_move(source, record(source), life, part);
        ::usleep(1);  // a look waits until none is on its way
      }
    });
    uint64_t moves = io::pump_counts().moves;
    int missed = 0, wrong = 0;
    for (int i = 0; i < kLooks; ++i) {
      signal(source);
      if (look(epoll, io::Look::Exactly) != 1) ++missed;
      (void)take(source);
      if (look(epoll, io::Look::Exactly) != 0) ++wrong;
      if (i % 16 == 15) look(epoll, io::Look::Told);  // no poller that is given to the kernel
    }
    EXPECT_TRUE(until([&] { return io::pump_counts().moves > moves; }));
    over = true;
    EXPECT_EQ(missed, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(in_user_space(epoll));
  }});
  mover.join();
  close_fd(source), close_fd(epoll);
}

// This thread's registrations in that part fail from now on, as without memory.
void refuse_registrations(uint32_t part) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(io::pump_instance(part)), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_ADD, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

// Taken out of its part, and not let into the other one: its events come all the same.
TEST_F(IoMemberParts, OneThatCannotGoThereIsTheKernels) {
  run_tasks({[] {
    int epoll = instance(), source = event_source();
    EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, source, EPOLLIN), 0);
    std::thread mover([source] {
      uint32_t other = (part_of(source) + 1) % pump_parts();
      refuse_registrations(other);
      io::pump_move(source, record(source), life_of_number(source), other);
    });
    mover.join();
    EXPECT_EQ(record(source)->state.load() & (io::kRegistered | io::kRegistering), 0u);
    std::thread signaller([source] {
      ::usleep(2000);
      signal(source);
    });
    epoll_event e;
    constexpr uint64_t kLimitNs = 20'000'000'000;
    EXPECT_EQ(io::epoll_wait_until(epoll, &e, 1, monotonic_ns() + kLimitNs), 1);
    signaller.join();
    close_fd(source), close_fd(epoll);
  }});
}

// Event loops, one to each pair of pipes, whose members are in the wrong part at every report.
TEST_F(IoMemberParts, NothingIsLostOnTheWay) {
  constexpr int kLoops = 6, kTrips = 3000;
  for (uint32_t mode : {0u, uint32_t{EPOLLET}}) {
    std::vector<std::pair<Pipe, Pipe>> pipes(kLoops);
    std::atomic<bool> over{false};
    std::thread mover([&] {
      for (uint32_t part = 0; !over; part = (part + 1) % pump_parts())
        for (auto& [there, back] : pipes)
          io::pump_move(there.in, record(there.in), life_of_number(there.in), part);
    });
    std::vector<std::function<void()>> bodies;
    std::atomic<int> trips{0};
    for (auto& p : pipes) {
      bodies.push_back([&p, mode] {
        int epoll = instance();
        EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, p.first.in, EPOLLIN | mode), 0);
        char c = 'x';
        while (c != 'e') {
          epoll_event e;
          EXPECT_EQ(io::epoll_wait_until(epoll, &e, 1, kForever), 1);
          // Moves make events of what has been read by now.
          if (int n = 0; ::ioctl(p.first.in, FIONREAD, &n) != 0 || n == 0) continue;
          EXPECT_EQ(::read(p.first.in, &c, 1), 1);
          EXPECT_EQ(::write(p.second.out, &c, 1), 1);
        }
        close_fd(epoll);
      });
      bodies.push_back([&p, &trips] {
        for (int t = 1; t <= kTrips; ++t) {
          char c = t == kTrips ? 'e' : 'x';
          EXPECT_EQ(::write(p.first.out, &c, 1), 1);
          EXPECT_EQ(io::read(p.second.in, &c, 1), 1);
          ++trips;
        }
      });
    }
    run_tasks(bodies);
    over = true;
    mover.join();
    EXPECT_EQ(trips, kLoops * kTrips);
    for (auto& [there, back] : pipes)
      close_fd(there.in), close_fd(there.out), close_fd(back.in), close_fd(back.out);
  }
}

// Event loops with one member each, whose events another program makes, as it were: one carrier is
// kept back, or has nothing to do most of the time, and all members come to the part that the other
// one looks at. (Those of the one that is kept back would wake a worker of its own.)
TEST_F(IoMemberParts, OfFewLoopsAllComeTogether) {
  uint32_t all = g_scheduler.carrier_count;
  if (all != 2) GTEST_SKIP() << "the rule is for two or three";
  constexpr int kLoops = 3;
  Pipe there[kLoops], back[kLoops];
  std::vector<std::thread> others;
  std::vector<std::function<void()>> loops;
  std::atomic<bool> stop{false};
  for (int i = 0; i < kLoops; ++i) {
    others.emplace_back([in = there[i].in, out = back[i].out] {
      char c;
      while (::read(in, &c, 1) == 1) EXPECT_EQ(::write(out, &c, 1), 1);
    });
    loops.push_back([&, in = back[i].in, out = there[i].out] {
      int epoll = instance();
      EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, in, EPOLLIN), 0);
      char c = 'x';
      epoll_event e;
      while (!stop && ::write(out, &c, 1) == 1 &&
             io::epoll_wait_until(epoll, &e, 1, kForever) == 1 && ::read(in, &c, 1) == 1) {
      }
      close_fd(out), close_fd(epoll);
    });
  }
  // One may be kept back since another test: then all begin where they belong.
  bool at_once = g_scheduler.idle.kept_back() != 0;
  uint64_t moves = io::pump_counts().moves;
  bool together = false;
  std::thread watcher([&] {
    together = until([&] {
      bool first = at_once || io::pump_counts().moves > moves;
      for (const Pipe& p : back)
        first &= part_of(p.in) == 0 && (record(p.in)->state.load() & io::kRegistered) != 0;
      return first;
    });
    stop = true;
  });
  run_tasks(loops);
  watcher.join();
  EXPECT_TRUE(together);
  for (std::thread& t : others) t.join();
  for (int i = 0; i < kLoops; ++i)
    close_fd(there[i].in), close_fd(back[i].in), close_fd(back[i].out);
}

}  // namespace
}  // namespace wisp::test
