// Bytes through descriptors of every kind, between tasks: complete, in order, however small the
// buffers of the kernel are.
#include "unit/io_support.h"

namespace wisp::test {
namespace {

constexpr size_t kSize = 3'000'000;

void write_all(int fd) {
  std::vector<char> data(kSize);
  for (size_t i = 0; i < kSize; ++i) data[i] = byte_of(i);
  // One blocking write takes everything.
  EXPECT_EQ(io::write(fd, data.data(), kSize), static_cast<long>(kSize));
}

void read_all(int fd, size_t piece) {
  std::vector<char> buffer(piece);
  for (size_t at = 0; at < kSize;) {
    long n = io::read(fd, buffer.data(), piece);
    ASSERT_GT(n, 0);
    for (long i = 0; i < n; ++i) ASSERT_EQ(buffer[i], byte_of(at + i));
    at += static_cast<size_t>(n);
  }
}

TEST(IoTransfer, Pipe) {
  Pipe p;
  run_tasks({[&] { write_all(p.out); }, [&] { read_all(p.in, 777); }});
  close_fd(p.out);
  run_tasks({[&] {
    char c;
    EXPECT_EQ(io::read(p.in, &c, 1), 0);
  }});
  close_fd(p.in);
}

TEST(IoTransfer, SocketsBothWays) {
  TcpPair tcp;
  LocalPair local;
  run_tasks({[&] { write_all(tcp.a); }, [&] { write_all(tcp.b); }, [&] { read_all(tcp.a, 5000); },
             [&] { read_all(tcp.b, 100'000); }, [&] { write_all(local.a); },
             [&] { read_all(local.b, 4000); }});
  close_fd(tcp.a), close_fd(tcp.b), close_fd(local.a), close_fd(local.b);
}

TEST(IoTransfer, VectorsSurvivePartialWrites) {
  TcpPair tcp;
  run_tasks({[&] {
               std::vector<char> data(kSize);
               for (size_t i = 0; i < kSize; ++i) data[i] = byte_of(i);
               iovec parts[4] = {{data.data(), 1},
                                 {data.data() + 1, 0},
                                 {data.data() + 1, 2'000'000},
                                 {data.data() + 2'000'001, kSize - 2'000'001}};
               EXPECT_EQ(io::write_vector(tcp.a, parts, 4), static_cast<long>(kSize));
             },
             [&] { read_all(tcp.b, 60'000); }});
  close_fd(tcp.a), close_fd(tcp.b);
}

TEST(IoTransfer, WaitAllFillsTheBuffer) {
  TcpPair tcp;
  run_tasks({[&] {
               std::vector<char> got(kSize);
               EXPECT_EQ(io::receive(tcp.b, got.data(), kSize, MSG_WAITALL, nullptr, nullptr),
                         static_cast<long>(kSize));
               for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(got[i], byte_of(i));
               char rest[10];
               EXPECT_EQ(io::receive(tcp.b, rest, 10, MSG_WAITALL, nullptr, nullptr), 3);
             },
             [&] {
               write_all(tcp.a);
               io::write(tcp.a, "end", 3);
               ::shutdown(tcp.a, SHUT_WR);
             }});
  close_fd(tcp.a), close_fd(tcp.b);
}

TEST(IoTransfer, PeekLeavesTheBytes) {
  TcpPair tcp;
  run_tasks({[&] {
               char got[4] = {};
               EXPECT_EQ(io::receive(tcp.b, got, 4, MSG_PEEK, nullptr, nullptr), 4);
               EXPECT_EQ(io::receive(tcp.b, got, 4, 0, nullptr, nullptr), 4);
               EXPECT_EQ(std::string(got, 4), "wisp");
             },
             [&] { io::write(tcp.a, "wisp", 4); }});
  close_fd(tcp.a), close_fd(tcp.b);
}

// The end of the stream may be there already when a short read says "drained".
TEST(IoTransfer, EndRightBehindTheData) {
  for (int i = 0; i < 300; ++i) {
    TcpPair tcp;
    run_tasks({[&] {
                 char got[100];
                 size_t n = 0;
                 for (long r; (r = io::read(tcp.b, got, sizeof got)) > 0;)
                   n += static_cast<size_t>(r);
                 EXPECT_EQ(n, 30u);
               },
               [&] {
                 if (i % 2 != 0) usleep(200);
                 for (int k = 0; k < 3; ++k) io::write(tcp.a, "0123456789", 10);
                 close_fd(tcp.a);
               }});
    close_fd(tcp.b);
  }
}

TEST(IoTransfer, EventfdCounts) {
  int fd = fresh(::eventfd(0, 0), io::kStream, io::kOwn);
  run_tasks({[&] {
               uint64_t sum = 0, value;
               while (sum < 1000) {
                 ASSERT_EQ(io::read(fd, &value, 8), 8);
                 sum += value;
               }
               EXPECT_EQ(sum, 1000u);
             },
             [&] {
               uint64_t one = 1;
               for (int i = 0; i < 1000; ++i) ASSERT_EQ(io::write(fd, &one, 8), 8);
             }});
  close_fd(fd);
}

TEST(IoTransfer, ManyPairsTakeTurns) {
  constexpr int kPairs = 200, kTurns = 200;
  std::vector<LocalPair> pairs(kPairs);
  std::vector<std::function<void()>> bodies;
  for (auto& p : pairs) {
    bodies.push_back([&p] {
      for (int i = 0; i < kTurns; ++i) {
        int got = -1;
        ASSERT_EQ(io::write(p.a, &i, sizeof i), 4);
        ASSERT_EQ(io::read(p.a, &got, sizeof got), 4);
        ASSERT_EQ(got, i + 1);
      }
    });
    bodies.push_back([&p] {
      for (int i = 0; i < kTurns; ++i) {
        int got = -1;
        ASSERT_EQ(io::read(p.b, &got, sizeof got), 4);
        ++got;
        ASSERT_EQ(io::write(p.b, &got, sizeof got), 4);
      }
    });
  }
  io::PumpCounts before = io::pump_counts();
  run_tasks(std::move(bodies));
  // Once per descriptor, whatever the number of waits; and for each that nobody waited for in a
  // while.
  io::PumpCounts after = io::pump_counts();
  EXPECT_LE(after.registrations - before.registrations,
            2u * kPairs + (after.retired - before.retired));
  EXPECT_LE(after.retired - before.retired, kPairs / 10u);
  for (auto& p : pairs) close_fd(p.a), close_fd(p.b);
}

}  // namespace
}  // namespace wisp::test
