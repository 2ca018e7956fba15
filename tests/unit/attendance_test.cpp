// When a sleeping worker is sent into the event pump: scheduler/attendance.h.
#include "scheduler/attendance.h"

#include <gtest/gtest.h>

namespace wisp {
namespace {

class AttendanceTest : public testing::Test {
 protected:
  void worked(int times, uint64_t us) {
    for (int i = 0; i < times; ++i) a_.worked(us);
  }
  bool pays() const { return a_.wants_another(1, false); }
  Attendance a_;
};

TEST_F(AttendanceTest, NothingIsKnownAtFirst) { EXPECT_FALSE(pays()); }

TEST_F(AttendanceTest, EqualTimesMakeWaitHalfOfThem) {
  for (uint64_t us : {1u, 30u, 500u}) {
    worked(1000, us);
    EXPECT_NEAR(static_cast<double>(a_.expected_wait_us()), us / 2.0, 1 + us / 50.0);
  }
}

TEST_F(AttendanceTest, DoesNotPayWhereCarriersAreSoonIdleAgain) {
  worked(1000, 40);
  EXPECT_FALSE(pays());
}

TEST_F(AttendanceTest, PaysForEventLoops) {
  worked(3, 300);
  EXPECT_TRUE(pays());
}

TEST_F(AttendanceTest, OnlyWhereACarrierIsIdleAndNobodyIsThere) {
  worked(3, 300);
  EXPECT_FALSE(a_.wants_another(0, false));
  EXPECT_FALSE(a_.wants_another(1, true));
  EXPECT_TRUE(a_.wants_another(2, false));
}

// Most times are short, but most events come during the long ones.
TEST_F(AttendanceTest, LongTimesCountByTheirLength) {
  for (int i = 0; i < 100; ++i) {
    worked(7, 20);
    worked(1, 400);
  }
  EXPECT_TRUE(pays());
  worked(1000, 20);
  EXPECT_FALSE(pays());
}

// However long it was: a machine that stood still says nothing about the program.
TEST_F(AttendanceTest, OneStallIsForgotten) {
  worked(1000, 20);
  worked(1, 60'000'000);
  worked(300, 20);
  EXPECT_FALSE(pays());
}

}  // namespace
}  // namespace wisp
