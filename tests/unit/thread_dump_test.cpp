// The JVM's own thread dump, as wisp jstack reads it.
#include "thread_dump.h"

#include <gtest/gtest.h>

namespace {

using namespace wisp;

TEST(ObserveReader, ThreadDumpsOfOldAndNewJdks) {
  ThreadDump dump = parse_thread_dump(
      "2026-01-01\nFull thread dump X:\n\n"
      "\"a \"quoted\" name\" #12 prio=5 os_prio=0 tid=0x1 nid=0x400004 waiting on condition\n"
      "   java.lang.Thread.State: WAITING (parking)\n\tat a.B.c(D.java:1)\n\n"
      "\"new\" #13 [4194309] prio=5 os_prio=0 tid=0x1 nid=4194309 runnable\n\n"
      "\"VM Thread\" os_prio=0 tid=0x2 nid=0x1f runnable\n\nJNI global refs: 9\n");
  ASSERT_EQ(dump.threads.size(), 3u);
  EXPECT_EQ(dump.threads[0].name, "a \"quoted\" name");
  EXPECT_EQ(dump.threads[0].nid, 0x400004u);
  EXPECT_EQ(dump.threads[0].state, "WAITING (parking)");
  EXPECT_EQ(dump.threads[0].lines, std::vector<std::string>{"\tat a.B.c(D.java:1)"});
  EXPECT_EQ(dump.threads[1].nid, 4194309u);
  EXPECT_EQ(dump.threads[2].name, "VM Thread");
  EXPECT_EQ(dump.after.size(), 1u);
}

TEST(ObserveReader, NamesThatLookLikeADump) {
  ThreadDump dump = parse_thread_dump(
      "Full thread dump X:\n\n"
      "\"a\" #7 b\" #12 [4194309] daemon prio=5 os_prio=0 tid=0x1 nid=4194309 runnable\n\n"
      "\"two\nlines\" #13 prio=5 os_prio=0 tid=0x1 nid=0x400006 waiting on condition\n"
      "   java.lang.Thread.State: RUNNABLE\n\tat a.B.c(D.java:1)\n\n"
      "\" nid=0x5\n\nend\" #14 prio=5 os_prio=0 tid=0x1 nid=0x400007 runnable\n\n"
      "\"last\" #15 prio=5 os_prio=0 tid=0x1 nid=0x400008 runnable\n\n"
      "Found one Java-level deadlock:\n\"a\":\n  which is held by \"last\"\n");
  ASSERT_EQ(dump.threads.size(), 4u);
  EXPECT_EQ(dump.threads[0].name, "a\" #7 b");
  EXPECT_EQ(dump.threads[0].nid, 4194309u);
  EXPECT_EQ(dump.threads[1].name, "two\nlines");
  EXPECT_EQ(dump.threads[1].nid, 0x400006u);
  EXPECT_EQ(dump.threads[1].state, "RUNNABLE");
  EXPECT_EQ(dump.threads[1].lines.size(), 1u);
  EXPECT_EQ(dump.threads[2].name, " nid=0x5\n\nend");
  EXPECT_EQ(dump.threads[2].nid, 0x400007u);
  EXPECT_EQ(dump.threads[3].name, "last");
  EXPECT_EQ(dump.before, std::vector<std::string>{"Full thread dump X:"});
  EXPECT_EQ(dump.after.size(), 3u);
  // One that never ends is not looked for without end.
  std::string unfinished;
  for (int i = 0; i < 20000; i++) unfinished += "\"a\n\n";
  EXPECT_TRUE(parse_thread_dump(unfinished).threads.empty());
}

}  // namespace
