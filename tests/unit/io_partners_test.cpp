// Both ends of a connection in this process: io/partners.h, and that registrations heed it.
#include "io/partners.h"
#include "scheduler/internal.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

using io::partner_to_follow;

class IoPartners : public ::testing::Test {
 protected:
  void SetUp() override {
    start_scheduler();
    if (pump_parts() == 1) GTEST_SKIP() << "there is one part only";
  }
};

io::Wait register_in(int fd, uint32_t part) {
  io::Descriptor* d = io::descriptor_find(fd);
  return io::make_ready(fd, d, io::life_of(d->state.load()), false, part);
}
uint32_t part_of(int fd) { return io::descriptor_find(fd)->part.load(); }
void follow(int fd) {
  io::Descriptor* d = io::descriptor_find(fd);
  io::pump_follow(fd, d, io::life_of(d->state.load()));
}

// Ends of a connection, by number.
struct Ends : TcpPair {
  int low = std::min(a, b), high = std::max(a, b);
  void close() { close_fd(a), close_fd(b); }
};

TEST_F(IoPartners, TheHigherNumberFollows) {
  run_tasks({[] {
    Ends ends;
    const io::Descriptor *low = io::descriptor_find(ends.low),
                         *high = io::descriptor_find(ends.high);
    EXPECT_EQ(register_in(ends.a, 0), io::Wait::Ready);
    EXPECT_EQ(partner_to_follow(ends.high, high), nullptr) << "the other one is not registered";
    EXPECT_EQ(register_in(ends.b, 1), io::Wait::Ready);
    EXPECT_EQ(partner_to_follow(ends.high, high), low);
    EXPECT_EQ(partner_to_follow(ends.low, low), nullptr);
    int calls = 0;
    for (; part_of(ends.high) != part_of(ends.low) && calls < 100; ++calls) follow(ends.high);
    EXPECT_EQ(calls, 4);
    ends.close();
  }});
}

TEST_F(IoPartners, WhoRegistersLaterGoesThereAtOnce) {
  run_tasks({[] {
    for (uint32_t part = 0; part < pump_parts(); ++part) {
      Ends ends;
      EXPECT_EQ(register_in(ends.low, part), io::Wait::Ready);
      EXPECT_EQ(register_in(ends.high, kAnyPart), io::Wait::Ready);
      EXPECT_EQ(part_of(ends.high), part);
      ends.close();
    }
  }});
}

// A number that stands for something else by now.
TEST_F(IoPartners, AFormerPartnerIsNone) {
  run_tasks({[] {
    Ends ends;
    EXPECT_EQ(register_in(ends.a, 0), io::Wait::Ready);
    EXPECT_EQ(register_in(ends.b, 1), io::Wait::Ready);
    const io::Descriptor* high = io::descriptor_find(ends.high);
    EXPECT_NE(partner_to_follow(ends.high, high), nullptr);
    close_fd(ends.low);
    int other = ::eventfd(0, 0);
    EXPECT_EQ(::dup2(other, ends.low), ends.low);
    ::close(other);
    fresh(ends.low, io::kStream, io::kOwn);
    EXPECT_EQ(register_in(ends.low, 0), io::Wait::Ready);
    EXPECT_EQ(partner_to_follow(ends.high, high), nullptr);
    close_fd(ends.high), close_fd(ends.low);
  }});
}

bool are_partners(int one, int other) {
  return io::descriptor_find(one)->partner.load() == static_cast<uint32_t>(other) + 1 &&
         io::descriptor_find(other)->partner.load() == static_cast<uint32_t>(one) + 1;
}

// By what the kernel says of local sockets.
TEST_F(IoPartners, LocalOnes) {
  run_tasks({[] {
    LocalPair one, other;
    for (int fd : {one.a, other.a, one.b, other.b}) EXPECT_EQ(register_in(fd, 0), io::Wait::Ready);
    EXPECT_TRUE(are_partners(one.a, one.b));
    EXPECT_TRUE(are_partners(other.a, other.b));
    for (int fd : {one.a, other.a, one.b, other.b}) close_fd(fd);
  }});
}

// Told when it was made, and forgotten with the life of one of its ends.
TEST_F(IoPartners, ThoseOfAPipe) {
  run_tasks({[] {
    Pipe pipe;
    io::make_partners(pipe.in, pipe.out);
    EXPECT_EQ(partner_to_follow(pipe.out, io::descriptor_find(pipe.out)), nullptr)
        << "its reader has never waited";
    for (int fd : {pipe.in, pipe.out}) EXPECT_EQ(register_in(fd, 0), io::Wait::Ready);
    EXPECT_TRUE(are_partners(pipe.in, pipe.out));
    close_fd(pipe.in);
    EXPECT_EQ(io::partner_record(pipe.out, static_cast<uint32_t>(pipe.in) + 1), nullptr);
    close_fd(pipe.out);
  }});
}

// Listeners, and local sockets whose other end has never waited, have none.
TEST_F(IoPartners, OthersHaveNone) {
  run_tasks({[] {
    sockaddr_in address;
    int listener = listen_tcp(&address);
    LocalPair local;
    for (int fd : {listener, local.a}) {
      EXPECT_EQ(register_in(fd, 0), io::Wait::Ready);
      EXPECT_EQ(io::descriptor_find(fd)->partner.load(), 0u);
    }
    close_fd(listener), close_fd(local.a), close_fd(local.b);
  }});
}

// Who had to steal takes a pair over, one each time.
TEST_F(IoPartners, AThiefAdopts) {
  run_tasks({[] {
    for (int attempt = 0; attempt < 100; ++attempt) {
      Ends ends;
      uint32_t wanted = kAnyPart;
      EXPECT_TRUE(until([&] { return (wanted = pump_part_wanted()) != kAnyPart; }));
      uint32_t other = (wanted + 1) % pump_parts();
      EXPECT_EQ(register_in(ends.low, other), io::Wait::Ready);
      EXPECT_EQ(register_in(ends.high, other), io::Wait::Ready);
      Carrier* mine = current_task()->carrier;
      mine->adopts = false;
      follow(ends.low);
      uint32_t before = part_of(ends.low);
      mine->adopts = true;
      follow(ends.low);
      uint32_t after = part_of(ends.low);
      // Carriers go to sleep and get up meanwhile.
      bool same = pump_part_wanted() == wanted && current_task()->carrier == mine;
      bool again = mine->adopts;
      ends.close();
      if (!same) continue;
      EXPECT_EQ(before, other);
      EXPECT_EQ(after, wanted);
      EXPECT_FALSE(again);
      return;
    }
    ADD_FAILURE() << "the other carriers do not rest";
  }});
}

}  // namespace
}  // namespace wisp::test
