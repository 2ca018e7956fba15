// Who waits to receive is woken by who has sent at the other end, if that is in this process:
// io/partners.h.
#include "io/partners.h"
#include "scheduler/internal.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

// Both ends in the pump, which they are after a first wait each.
template <typename Pair>
struct Known : Pair {
  using Pair::a, Pair::b;
  Known() {
    for (int fd : {a, b}) {
      io::Descriptor* d = io::descriptor_find(fd);
      EXPECT_EQ(io::make_ready(fd, d, io::life_of(d->state.load()), false, 0), io::Wait::Ready);
    }
    EXPECT_NE(io::descriptor_find(a)->partner.load(), 0u);
  }
  void close() { close_fd(a), close_fd(b); }
};
using KnownPair = Known<TcpPair>;
// Written to at a.
struct PipePair : Pipe {
  int a = out, b = in;
  PipePair() { io::make_partners(a, b); }
};

bool somebody_receives(int fd) { return (io::descriptor_find(fd)->in.load() & 1) != 0; }

char receive_one(int fd) {
  char c = 0;
  EXPECT_EQ(io::receive(fd, &c, 1, 0, nullptr, nullptr), 1);
  return c;
}
void send_one(int fd, char c) { EXPECT_EQ(io::send(fd, &c, 1, 0, nullptr, 0), 1); }
void send_message_of_two(int fd, char c) {
  char d = c;
  iovec parts[] = {{&c, 1}, {&d, 1}};
  msghdr m{};
  m.msg_iov = parts, m.msg_iovlen = 2;
  EXPECT_EQ(io::send_message(fd, &m, 0), 2);
}

class IoPartnerWake : public ::testing::Test {
 protected:
  void SetUp() override { start_scheduler(); }

  // How often of 20 times `send`, which goes to who waits at the pair's b, has woken it by the time
  // it returns. (The pump may be faster now and then, and thieves may be in the way.)
  template <typename Pair = TcpPair, typename Send>
  static int woken_by(Send&& send) {
    constexpr int kTimes = 20;
    std::atomic<int> woken{0}, received{0};
    Known<Pair> pair;
    run_tasks({[&] {
                 for (int i = 0; i < kTimes; ++i) {
                   yield_until([&] { return received == i && somebody_receives(pair.b); });
                   send(pair.a);
                   woken += !somebody_receives(pair.b);
                 }
               },
               [&] {
                 char c[2];
                 for (int i = 0; i < kTimes; ++i) {
                   io::read(pair.b, c, sizeof c);
                   uint64_t later = in_ms(1);  // the pump's event has come by then
                   yield_until([&] { return monotonic_ns() > later; });
                   ++received;
                 }
               }});
    pair.close();
    return woken;
  }
};

// So that it is woken where its partner runs, not at its home (scheduler/home.h).
TEST_F(IoPartnerWake, WhoWaitsForItSaysSo) {
  if (carriers() != 1) GTEST_SKIP() << "its own flag: read here while it cannot run";
  auto says = [](int to, int from) {
    std::atomic<WispTask*> waits{nullptr};
    bool said = false, later = true;
    run_tasks({[&] {
                 yield_until([&] { return waits.load() != nullptr && somebody_receives(from); });
                 said = waits.load()->awaits_partner;
                 send_one(to, 'x');
               },
               [&] {
                 waits = current_task();
                 receive_one(from);
                 later = current_task()->awaits_partner;
               }});
    EXPECT_FALSE(later);
    return said;
  };
  KnownPair pair;
  EXPECT_TRUE(says(pair.a, pair.b));
  LocalPair local;
  EXPECT_FALSE(says(local.a, local.b));
  pair.close();
  close_fd(local.a), close_fd(local.b);
}

TEST_F(IoPartnerWake, ByTheSend) {
  EXPECT_GE(woken_by([](int fd) { send_one(fd, 'x'); }), 15);
}
TEST_F(IoPartnerWake, ByAMessage) {
  EXPECT_GE(woken_by([](int fd) { send_message_of_two(fd, 'x'); }), 15);
}
TEST_F(IoPartnerWake, OfALocalSocket) {
  EXPECT_GE(woken_by<LocalPair>([](int fd) { send_one(fd, 'x'); }), 15);
}
TEST_F(IoPartnerWake, OfAPipe) {
  EXPECT_GE(woken_by<PipePair>([](int fd) { EXPECT_EQ(io::write(fd, "x", 1), 1); }), 15);
}
// The JDK's sockets with a time limit are non-blocking ones.
TEST_F(IoPartnerWake, FromANonBlockingSocket) {
  EXPECT_GE(woken_by([](int fd) {
              io::descriptor_set_nonblocking(fd, true);
              send_one(fd, 'x');
            }),
            15);
}

// A wake-up without a byte changes nothing.
TEST_F(IoPartnerWake, ForNothing) {
  KnownPair pair;
  run_tasks({[&] {
               for (int i = 0; i < 100; ++i) {
                 yield_until([&] { return somebody_receives(pair.b); });
                 {
                   RuntimeEntry entry;
                   io::word_move(&io::descriptor_find(pair.b)->in, 1);
                 }
                 if (i % 10 == 9) send_one(pair.a, static_cast<char>(i));
               }
             },
             [&] {
               for (int i = 9; i < 100; i += 10) EXPECT_EQ(receive_one(pair.b), i);
             }});
  pair.close();
}

// Two who answer each other all the time do not keep a third one of their carrier waiting: a turn
// is 15 us, where pairs in next slots have 50.
TEST_F(IoPartnerWake, OthersHaveTheirTurn) {
  if (g_scheduler.carrier_count != 1) GTEST_SKIP() << "the third has a carrier of its own";
  constexpr int kAlone = 4'000, kBatch = 200, kTrips = 20'000, kLongNs = 32'000;
  std::atomic<int> trips{0};
  std::atomic<bool> third_begins{false};
  KnownPair pair;
  uint64_t trip_ns = ~0ull;  // the quickest batch's
  int in_long_turns = 0;
  run_tasks({[&] {
               for (uint64_t begin = monotonic_ns(); trips < kAlone + kTrips; ++trips) {
                 send_one(pair.a, 'q');
                 EXPECT_EQ(receive_one(pair.a), 'a');
                 if (trips >= kAlone || trips % kBatch != kBatch - 1) continue;
                 uint64_t now = monotonic_ns();
                 trip_ns = std::min(trip_ns, (now - begin) / kBatch);
                 begin = now;
                 if (trips == kAlone - 1) third_begins = true;
               }
             },
             [&] {
               for (int i = 0; i < kAlone + kTrips; ++i) {
                 EXPECT_EQ(receive_one(pair.b), 'q');
                 send_one(pair.b, 'a');
               }
             },
             [&] {
               while (!third_begins) task_sleep_until(in_ms(1));
               const int many = static_cast<int>(kLongNs / trip_ns) + 1;
               for (int last = trips, now; last < kAlone + kTrips; last = now) {
                 yield();
                 now = trips;
                 if (now - last > many) in_long_turns += now - last;
               }
             }});
  // On a busy machine the third loses its carrier now and then.
  EXPECT_LE(in_long_turns, kTrips / 2) << "a trip takes " << trip_ns << " ns";
  pair.close();
}

}  // namespace
}  // namespace wisp::test
