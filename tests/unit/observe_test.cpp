// wisp ps, stat and jstack, and the MXBean, against real JVMs: JDK 17 and 25 and what else is here.
// wisp trace and wisp top have files of their own.
#include <fcntl.h>
#include <signal.h>

#include "unit/observed_jvm.h"

using namespace wisp_test;

namespace {

TEST_P(Observe, PsAndStat) {
  Jvm jvm(GetParam());
  // A JVM has half a second to answer, lest a stopped one holds the list up.
  const std::string row = "\n *" + jvm.pid() + " +2 +\\d+ .* ObserveWorkload\n";
  Result ps = until([] { return run({"ps"}); }, [&](auto& r) { return matches(r.out, row); });
  EXPECT_EQ(ps.exit, 0) << ps.all();
  EXPECT_TRUE(matches(ps.out, row)) << ps.out;
  Result json = until(
      [&] {
        return python(run({"ps", "--json"}).out,
                      "[j for j in d if j['pid']==" + jvm.pid() + "][0]['carriers']==2");
      },
      ended_well);
  EXPECT_EQ(json.exit, 0) << json.err;

  Result text = settled_stat(jvm);
  EXPECT_EQ(text.exit, 0) << text.all();
  for (const char* name : {"parked-one", "holder", "blocked", "waiter", "acceptor", "ping", "pong"})
    EXPECT_TRUE(contains(text.out, name)) << text.out;
  std::smatch ports;
  ASSERT_TRUE(std::regex_search(jvm.said(), ports, std::regex("listens (\\d+), peer (\\d+)\n")));
  const std::string listens = ports[1], peer = "127\\.0\\.0\\.1:" + ports[2].str();
  EXPECT_TRUE(
      matches(text.out, "acceptor +parked .* fd \\d+ readable, own address \\S+:" + listens + "\n"))
      << text.out;
  EXPECT_TRUE(matches(text.out, "reader +parked .* fd \\d+ readable, peer " + peer + "\n"))
      << text.out;
  EXPECT_TRUE(matches(text.out, "parked-one +parked .* lock 0x[0-9a-f]+\n")) << text.out;
  EXPECT_TRUE(matches(text.out, "holder +parked .* lock 0x[0-9a-f]+, 9\\d\\d\\.\\d s more\n"))
      << text.out;

  // They have just begun to play.
  Result all = until(
      [&] {
        return python(run({"stat", jvm.pid(), "--json", "--tasks"}).out,
                      "sum(c['switches'] for c in d['carriers'])>100 and "
                      "[t for t in d['tasks'] if t['name']=='ping'][0]['active']>10");
      },
      ended_well);
  EXPECT_EQ(all.exit, 0) << all.err;
  all = python(run({"stat", jvm.pid(), "--json", "--tasks"}).out,
               "len(d['carriers'])==2 and d['tasksAlive']==len(d['tasks'])");
  EXPECT_EQ(all.exit, 0) << all.err;
  // What issue and documentation promise of a task; of sockets the other end, or the own one.
  all = python(run({"stat", jvm.pid(), "--json", "--tasks"}).out,
               "all({'active','steal','stealFail','preempt','handOff','park','cpuNanos',"
               "'queuedNanos','carrier','waitFor','waitAddress','waitFd','waitPeer',"
               "'waitOwnAddress','deadlineNanos'}<=set(t) for t in d['tasks'])\n"
               "by={t['name']:t for t in d['tasks']}\n"
               "assert [by[n]['park'] for n in ('parked-one','waiter','reader')]==[-1]*3\n"
               "assert all(t['park']==(-1 if t['state']=='parked' else 0 if t['state']=='running'"
               " else t['park']) and t['park'] in (-1,0,1) for t in by.values())\n"
               "r,a=by['reader'],by['acceptor']\n"
               "assert r['waitFor']=='readable' and r['waitPeer']=='127.0.0.1:" +
                   ports[2].str() +
                   "' and r['waitOwnAddress'] is None, r\n"
                   "assert a['waitPeer'] is None and a['waitOwnAddress'].endswith(':" +
                   listens + "'), a\nassert by['holder']['waitPeer'] is None");
  EXPECT_EQ(all.exit, 0) << all.err;
  Result metrics = run({"stat", jvm.pid(), "--openmetrics"});
  EXPECT_TRUE(matches(metrics.out, "wisp_carrier_switches_total\\{carrier=\"1\"\\} \\d+\n"));
  EXPECT_TRUE(matches(metrics.out, "# EOF\n$"));
  Result rates = run({"stat", jvm.pid(), "--interval", "0.2", "--count", "3"});
  EXPECT_EQ(rates.exit, 0) << rates.all();
  EXPECT_EQ(count(rates.out, "SWITCH/s"), 2) << rates.out;
}

TEST_P(Observe, Jstack) {
  Jvm jvm(GetParam());
  settled_stat(jvm);
  Result text = run({"jstack", jvm.pid(), "--timeout", "60"});
  EXPECT_EQ(text.exit, 0) << text.all();
  EXPECT_EQ(text.err, "");
  const std::string line =
      " - Coroutine \\[0x[0-9a-f]+\\] \"NAME\" #\\d+ active=\\d+ steal=\\d+ steal_fail=\\d+ "
      "preempt=\\d+ "
      "park=PARK\n\tat ";
  auto expect = [&](const char* name, const char* park) {
    std::string pattern = std::regex_replace(line, std::regex("NAME"), name);
    pattern = std::regex_replace(pattern, std::regex("PARK"), park);
    EXPECT_TRUE(matches(text.out, pattern)) << name << "\n" << text.out;
  };
  expect("parked-one", "0/-1");
  expect("holder", "0/-1");
  expect("waiter", "-1/0");
  expect("main", "0/-1|0/0");
  EXPECT_TRUE(contains(text.out, "at ObserveWorkload.main")) << text.out;
  EXPECT_TRUE(contains(text.out, "CARRIER"));
  // The VM's own threads are there, without a coroutine.
  EXPECT_TRUE(contains(text.out, "\"VM Thread\""));
  // Up to JDK 22 who waits for a monitor gets up now and then to look.
  Result json = until(
      [&] {
        return python(run({"jstack", jvm.pid(), "--json", "--timeout", "60"}).out,
                      "d['jvmAnswered'] and any(t['name']=='blocked' and "
                      "t['task']['state']=='parked' and 'Coroutine' in t['coroutine'] for t in "
                      "d['threads'])");
      },
      ended_well);
  EXPECT_EQ(json.exit, 0) << json.err;
}

TEST_P(Observe, OutputThatCannotBeWritten) {
  Jvm jvm(GetParam());
  for (const char* command : {"jstack", "stat"}) {
    for (bool json : {false, true}) {
      std::vector<std::string> args = {kCommand, command, jvm.pid()};
      if (json) args.emplace_back("--json");
      Result result = spawn(
          {.args = args, .before_exec = [] { return dup2(open("/dev/full", O_WRONLY), 1) == 1; }});
      EXPECT_EQ(result.exit, 1) << result.all();
      EXPECT_TRUE(
          contains(result.err, "wisp: cannot write standard output: No space left on device\n"))
          << result.err;
      // Closed, its number must not go to the JVM's page.
      result = spawn({.args = args, .before_exec = [] { return close(1) == 0; }});
      EXPECT_EQ(result.exit, 1) << result.all();
    }
  }
  EXPECT_EQ(run({"stat", jvm.pid()}).exit, 0);
}

TEST_P(Observe, JstackOfAStuckJvmShowsTheTasks) {
  Jvm jvm(GetParam(),
          {"-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UseCountedLoopSafepoints",
           "-XX:LoopStripMiningIter=0", "-XX:-TieredCompilation"},
          "stuck");
  // Before the loop is compiled the JVM answers; and one that has just started, on a busy machine,
  // may not listen in time yet. Ask until it listens and does not answer.
  Result text;
  for (time_t end = time(nullptr) + 120; time(nullptr) < end; usleep(200'000)) {
    text = run({"jstack", jvm.pid(), "--timeout", "1"});
    if (contains(text.err, "no Java frames: the JVM does not answer")) break;
  }
  EXPECT_EQ(text.exit, 0) << text.all();
  EXPECT_TRUE(contains(text.err, "no Java frames: the JVM does not answer")) << text.err;
  EXPECT_TRUE(matches(text.out, " - Coroutine \\[0x[0-9a-f]+\\] \"parked-one\" #\\d+ active="))
      << text.out;
  EXPECT_TRUE(contains(text.out, "CARRIER"));
}

TEST_P(Observe, StoppedAndGone) {
  int pid;
  {
    Jvm jvm(GetParam());
    pid = std::stoi(jvm.pid());
    jvm.signal(SIGSTOP);
    Result stopped = run_once({"jstack", jvm.pid(), "--timeout", "1"});
    EXPECT_EQ(stopped.exit, 1);
    EXPECT_TRUE(contains(stopped.err, "does not answer")) << stopped.err;
    EXPECT_TRUE(matches(run({"ps"}).out, jvm.pid() + " .*no answer"));
    jvm.signal(SIGCONT);
    EXPECT_EQ(run({"stat", jvm.pid()}).exit, 0);
  }
  Result gone = run({"stat", std::to_string(pid)});
  EXPECT_EQ(gone.exit, 2);
  EXPECT_TRUE(contains(gone.err, "no process")) << gone.err;
  Result other = run({"stat", std::to_string(getpid())});
  EXPECT_EQ(other.exit, 1);
  EXPECT_TRUE(contains(other.err, "is not a JVM that Wisp runs in")) << other.err;
}

TEST_P(Observe, MXBean) {
  Result result = spawn({.args = {kCommand, "java", "--jdk", GetParam(), "-XX:+UseWisp2",
                                  "-Xcheck:jni", "-cp", OBSERVE_CLASSES, "ObserveWorkload", "jmx"},
                         .env = {{"WISP_OPTIONS", "carriers=3"}}});
  if (contains(result.all(), "InstanceNotFound") && contains(GetParam(), "11.0.2"))
    GTEST_SKIP() << "an image without jdk.management";
  EXPECT_EQ(result.exit, 0) << result.all();
  for (const char* name : {"RunningStates",     "SwitchCount",        "WaitTimeTotal",
                           "RunningTimeTotal",  "CompleteTaskCount",  "CreateTaskCount",
                           "ParkCount",         "UnparkCount",        "StealCount",
                           "StealFailureCount", "PreemptCount",       "TimeOutCount",
                           "EventLoopCount",    "QueueLength",        "NumberOfRunningTasks",
                           "TotalBlockingTime", "TotalExecutionTime", "ExecutionCount",
                           "TotalEnqueueTime",  "EnqueueCount",       "TotalWaitSocketIOTime",
                           "WaitSocketIOCount"}) {
    EXPECT_TRUE(matches(result.out, std::string(name) + "=\\[[a-z0-9]+, [a-z0-9]+, [a-z0-9]+\\]\n"))
        << name << "\n"
        << result.out;
  }
  EXPECT_TRUE(matches(result.out, "task=1 .* RUNNING\n")) << result.out;
  EXPECT_TRUE(contains(result.out, "none=null\n"));
}

TEST_P(Observe, MXBeanTasks) {
  Result result = spawn({.args = {kCommand, "java", "--jdk", GetParam(), "-XX:+UseWisp2", "-cp",
                                  OBSERVE_CLASSES, "ObserveWorkload", "jmx-tasks"},
                         .env = {{"WISP_OPTIONS", "carriers=2"}}});
  if (contains(result.all(), "InstanceNotFound") && contains(GetParam(), "11.0.2"))
    GTEST_SKIP() << "an image without jdk.management";
  std::smatch ports;
  ASSERT_TRUE(std::regex_search(result.out, ports, std::regex("listens (\\d+), peer (\\d+)\n")))
      << result.all();
  auto line_of = [&](const std::string& name) {
    std::smatch line;
    std::regex pattern("task: [^\n]* name=" + name + " [^\n]*");
    return std::regex_search(result.out, line, pattern) ? line.str() + " " : std::string();
  };
  std::string reader = line_of("reader"), acceptor = line_of("acceptor"), ping = line_of("ping");
  EXPECT_TRUE(contains(reader, " waitPeer=127.0.0.1:" + ports[2].str() + " ")) << reader;
  EXPECT_TRUE(contains(reader, " waitFor=READABLE ") && contains(reader, " parkState=-1 ") &&
              contains(reader, " waitOwnAddress=null ") && contains(reader, " timeLeft=-1 "))
      << reader;
  EXPECT_TRUE(matches(acceptor, " waitOwnAddress=\\S+:" + ports[1].str() + " ")) << acceptor;
  EXPECT_TRUE(matches(line_of("holder"), " timeLeft=9\\d{11} ")) << line_of("holder");
  for (const char* key :
       {"activeCount=[1-9]", "stealCount=", "stealFailureCount=", "preemptCount=", "handOffCount=",
        "cpuTime=[1-9]", "queueTime=", "carrier=[01] ", "javaThreadId=[1-9]", "waitAddress="})
    EXPECT_TRUE(matches(ping, std::string(" ") + key + "\\d*")) << key << "\n" << ping;
}

std::string label(const testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(jdk_label(info.param), std::regex("[^A-Za-z0-9]"), "_");
}
INSTANTIATE_TEST_SUITE_P(Jdks, Observe, testing::ValuesIn(jdks()), label);

}  // namespace
