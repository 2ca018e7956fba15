// wisp ps, stat, top, trace and jstack, and the MXBean, against real JVMs: JDK 17 and 25 and what
// else is here.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <regex>

#include "launcher/spawn.h"
#include "unit/converted_jvm.h"

using namespace wisp_test;

namespace {

// A converted JVM that runs ObserveWorkload until this object is gone.
struct Jvm : ConvertedJvm {
  explicit Jvm(const std::string& home, const std::vector<std::string>& options = {},
               const std::string& mode = "all")
      : ConvertedJvm(home, options, {"-cp", OBSERVE_CLASSES, "ObserveWorkload", mode}) {}
};

Result run_once(std::vector<std::string> args) {
  args.insert(args.begin(), kCommand);
  return spawn({.args = args});
}

// The command gives a JVM three seconds to answer and then says what it may be. On a busy machine
// it may be so: once more, for a minute.
Result run(const std::vector<std::string>& args) {
  for (time_t end = time(nullptr) + 60;;) {
    Result result = run_once(args);
    if (!contains(result.err, "starved of processor time") || time(nullptr) >= end) return result;
  }
}

// What `ask` gives as soon as `good` says so of it; after a minute, whatever it gives.
template <typename Ask, typename Good>
Result until(Ask&& ask, Good&& good) {
  for (time_t end = time(nullptr) + 60;; usleep(100'000)) {
    Result result = ask();
    if (good(result) || time(nullptr) >= end) return result;
  }
}
bool ended_well(const Result& result) { return result.exit == 0; }

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

// The workload's threads are started, but have they come to their waits? The last two to start
// play.
Result settled_stat(const Jvm& jvm) {
  Result text;
  for (int i = 0; i < 600; ++i) {
    text = run({"stat", jvm.pid(), "--tasks"});
    bool all = matches(text.out, "acceptor +parked .* fd") &&
               matches(text.out, "reader +parked .* fd") && contains(text.out, " ping ") &&
               contains(text.out, " pong ");
    for (const char* name : {"parked-one", "holder", "blocked", "waiter"})
      all &= matches(text.out, std::string(name) + " +parked");
    if (all) break;
    usleep(100'000);
  }
  return text;
}

// Ends with 0 if stdin is JSON of which the Python expression over `d` holds.
Result python(const std::string& json, const std::string& expression) {
  return spawn({.args = {"/usr/bin/python3", "-c",
                         "import json,sys\nd=json.load(sys.stdin)\nassert " + expression},
                .input = json});
}

class Observe : public testing::TestWithParam<std::string> {};

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

// The trace event format, event by event: fields and their types, no slice over another one of its
// track, arrows that begin and end, thread names.
const char kTraceCheck[] = R"(
import json,sys
d=json.load(open(sys.argv[1]))
tracks={};names={};flows={};fields={
 'X':{'ph','pid','tid','ts','dur','cat','name','args'},'M':{'ph','pid','tid','name','args'},
 'i':{'ph','s','pid','tid','ts','cat','name','args'},'s':{'ph','pid','tid','ts','cat','name','id'},
 'f':{'ph','pid','tid','ts','cat','name','id','bp'}}
for e in d['traceEvents']:
  assert set(e)==fields[e['ph']],e
  assert type(e['pid']) is int and type(e['tid']) is int and type(e['name']) is str,e
  assert 0<=e['tid']<=d['otherData']['carriers']+1,e
  if e['ph']!='M': assert e['ts']>=0,e
  if e['ph']=='M' and e['name']=='thread_name': names[e['tid']]=e['args']['name']
  if e['ph']=='X' and e['cat']=='gc': assert e['dur']>=0 and e['tid']==3,e
  elif e['ph']=='X':
    assert e['dur']>=0 and type(e['args']['task']) is int,e
    assert e['args']['end'] in ('park','yield','end','hand-off','preempt','unknown'),e
    tracks.setdefault(e['tid'],[]).append(e)
  if e['ph']=='s': assert e['id'] not in flows,e; flows[e['id']]=e
  if e['ph']=='f': assert flows.pop(e['id'])['ts']<=e['ts'] and e['bp']=='e',e
assert not flows
assert names=={0:'no carrier',1:'carrier 0',2:'carrier 1',3:'garbage collector'},names
for t in tracks.values():
  for a,b in zip(t,t[1:]): assert a['ts']+a['dur']<=b['ts']+1e-4,(a,b)
x=[e for t in tracks.values() for e in t]
both={'ping','pong'}
if not any({e['name'],e['args'].get('wakerName')}==both and e['args']['wokenBy']=='task' for e in x):
  print(both,'not seen, but',{e['name'] for e in x},file=sys.stderr); sys.exit(3)
)";

// Traces `jvm` into `file` and checks it. The JVM may not have had a processor for so long: then
// once more, a few times.
void expect_trace(const Jvm& jvm, const std::vector<std::string>& how, const std::string& file) {
  Result checked;
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::vector<std::string> args = {"trace", jvm.pid(), "--output", file};
    args.insert(args.end(), how.begin(), how.end());
    Result made = run(args);
    ASSERT_EQ(made.exit, 0) << made.all();
    EXPECT_TRUE(matches(made.err, "wisp: \\d+ events of 2 carriers in .*trace.json, \\d+ older"));
    checked = spawn({.args = {"/usr/bin/python3", "-c", kTraceCheck, file}});
    if (checked.exit != 3) break;
  }
  EXPECT_EQ(checked.exit, 0) << checked.err;
}

TEST_P(Observe, Trace) {
  Jvm jvm(GetParam());
  std::string file = scratch() + "/trace.json", page = scratch() + "/trace.html";
  expect_trace(jvm, {"--seconds", "0.5"}, file);
  Result report = run({"trace", "report", file, "--output", page});
  ASSERT_EQ(report.exit, 0) << report.all();
  std::string html = spawn({.args = {"/bin/cat", page}}).out;
  EXPECT_TRUE(matches(html, "<tr><td>ping</td><td>pong</td><td class=\"n\">\\d+</td>"));
  EXPECT_TRUE(matches(html, "\\d+ wake-ups: median "));
  EXPECT_TRUE(contains(html, ">carrier 1</text>"));
  for (const char* foreign : {"<script", "http:", "https:", "url(", "@import"})
    EXPECT_FALSE(contains(html, foreign)) << foreign;
  Result xml = spawn({.args = {"/usr/bin/python3", "-c",
                               "import re,sys,xml.dom.minidom as m\nt=open(sys.argv[1]).read()\n"
                               "s=re.findall('<svg.*?</svg>',t,re.S)\nassert len(s) in (2,3)\n"
                               "for x in s: m.parseString(x)",
                               page}});
  EXPECT_EQ(xml.exit, 0) << xml.err;

  // Smaller rings; and it was switched off: a second trace is not "already".
  expect_trace(jvm, {"--seconds", "0.2", "--buffer", "64k"}, file);
}

TEST_P(Observe, TraceOfAProgramItStarts) {
  std::string file = scratch() + "/started.json";
  Result made = run({"trace", "--output", file, "--", "java", "--jdk", GetParam(), "-Xmx64m", "-cp",
                     OBSERVE_CLASSES, "ObserveWorkload", "jmx"});
  if (contains(made.all(), "InstanceNotFound") && contains(GetParam(), "11.0.2"))
    GTEST_SKIP() << "an image without jdk.management";
  ASSERT_EQ(made.exit, 0) << made.all();
  EXPECT_TRUE(contains(made.out, "none=null"));
  Result checked = spawn({.args = {"/usr/bin/python3", "-c",
                                   "import json,sys\nd=json.load(open(sys.argv[1]))\n"
                                   "n=[e['name'] for e in d['traceEvents'] if e['ph']=='X']\n"
                                   "assert 'main' in n or 'java' in n,n\n"
                                   "assert any(e['name']=='task start' for e in d['traceEvents'])",
                                   file}});
  EXPECT_EQ(checked.exit, 0) << checked.err;
  for (auto children : {SIG_DFL, SIG_IGN}) {
    Result failed = spawn({.args = {kCommand, "trace", "--output", file, "--", "java", "--jdk",
                                    GetParam(), "NoSuchClass"},
                           .before_exec = [=] { return signal(SIGCHLD, children) != SIG_ERR; }});
    EXPECT_EQ(failed.exit, 1) << failed.all();
  }
}

// A thread that collects garbage each 20 ms, and one that gives a pool of three a divisible task
// each 2 ms: the first is seen as pauses, the other as operations of the pool, phase by phase.
TEST_P(Observe, TraceShowsCollectionsAndPools) {
  std::string file = scratch() + "/pools.json", page = scratch() + "/pools.html";
  const char check[] =
      "import json,sys\nd=json.load(open(sys.argv[1]))\nn=int(sys.argv[2])\n"
      "g=sorted((e['ts'],e['dur']) for e in d['traceEvents'] if e.get('cat')=='gc')\n"
      "assert all(0<x[1]<6e7 for x in g),g\n"
      "assert all(a[0]+a[1]<=b[0] for a,b in zip(g,g[1:])),g\n"
      "if len(g)<n: print(len(g),n,file=sys.stderr); sys.exit(3)";
  // Serial's and G1's full collections are one pause each; the first may come before the observer.
  // If that is late by half of the program's time, it may have been kept waiting: once more.
  Result made, checked;
  std::smatch said;
  for (int attempt = 0; attempt < 3; ++attempt) {
    made = run({"trace", "--output", file, "--buffer", "16m", "--", "java", "--jdk", GetParam(),
                "-Xmx64m", "-cp", OBSERVE_CLASSES, "ObserveWorkload", "pool"});
    ASSERT_EQ(made.exit, 0) << made.all();
    ASSERT_TRUE(std::regex_search(
        made.out, said, std::regex("collections (\\d+) operations (\\d+) each (\\d+) us\n")))
        << made.all();
    std::string least = std::to_string(std::max(std::stoi(said[1]) / 2, 1));
    checked = spawn({.args = {"/usr/bin/python3", "-c", check, file, least}});
    if (checked.exit != 3) break;
  }
  EXPECT_EQ(checked.exit, 0) << checked.err;
  ASSERT_EQ(run({"trace", "report", file, "--output", page}).exit, 0);
  std::string html = spawn({.args = {"/bin/cat", page}}).out;
  EXPECT_TRUE(matches(html, " Pauses of the garbage collector: [1-9]\\d*, "))
      << html.substr(0, 2000);
  // pool, operations, workers, five phases and their sum.
  std::smatch row;
  ASSERT_TRUE(std::regex_search(
      html, row,
      std::regex("<tr><td>tree-</td><td class=\"n\">(\\d+)</td><td class=\"n\">([123]\\.\\d)"
                 "</td>(<td class=\"n\">[0-9.]+ (ns|us|ms|s)</td>){6}</tr>")))
      << html.substr(html.find("Busiest"), 3000);
  EXPECT_GT(std::stoi(row[1]), std::stoi(said[2]) / 10) << said[0];
  // One whose submitter loses the processor in the middle of it may look like two.
  EXPECT_LE(std::stoi(row[1]), std::stoi(said[2]) * 2) << said[0];
}

// The rings' file, of which most is never there, has more room than this: the JVM was killed.
TEST_P(Observe, TraceWhereFilesMustStaySmall) {
  std::string file = scratch() + "/small.json";
  Result made =
      spawn({.args = {"/bin/bash", "-c", "ulimit -f 100000; exec \"$@\"", "bash", kCommand, "trace",
                      "--output", file, "--", "java", "--jdk", GetParam(), "-Xmx64m", "-version"}});
  EXPECT_EQ(made.exit, 0) << made.all();
  EXPECT_TRUE(matches(made.err, "[1-9]\\d* events of ")) << made.err;
}

TEST_P(Observe, TraceErrors) {
  Jvm jvm(GetParam());
  struct {
    std::vector<std::string> args;
    int exit;
    const char* part;
  } const cases[] = {
      {{"trace", jvm.pid(), "--seconds", "0"}, 2, "--seconds=0: takes seconds from 0.1 to 3600"},
      {{"trace", jvm.pid(), "--buffer", "63k"}, 2, "--buffer=63k: takes a size from 64k to 256m"},
      {{"trace", jvm.pid(), "--buffer", "4q"}, 2, "--buffer=4q: takes a size"},
      {{"trace", jvm.pid(), jvm.pid()}, 2, "is too much"},
      {{"trace", "abc"}, 2, "'abc' is not a process id; takes PID, report FILE or -- java"},
      {{"trace", "report"}, 2, "takes one file"},
      {{"trace", "report", "/nowhere"}, 2, "/nowhere: No such file"},
      {{"trace", "report", "/etc/passwd"}, 2, "is cut off or is no JSON"},
      {{"trace", "report", "/dev/zero"}, 2, "takes a file of at most 1 GiB"},
      {{"trace", std::to_string(getpid())}, 1, "is not a JVM that Wisp runs in"},
      {{"trace", jvm.pid(), "--seconds", "0.1", "-o", "/nowhere/x"}, 1, "cannot write /nowhere/x"},
      {{"trace", jvm.pid(), "--seconds", "0.1", "-o", "/dev/stdout"},
       1,
       "or - for standard output"},
  };
  for (const auto& c : cases) {
    Result result = run(c.args);
    EXPECT_EQ(result.exit, c.exit) << c.part << result.all();
    EXPECT_TRUE(contains(result.err, c.part)) << result.err;
  }
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

// A terminal of 100 columns, with what it shows.
class Tmux {
 public:
  Tmux() : socket_("wisp-observe-" + std::to_string(getpid())) {}
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  ~Tmux() { (*this)({"kill-server"}); }
  static bool missing() { return access("/usr/bin/tmux", X_OK) != 0; }

  Result operator()(const std::vector<std::string>& args) const {
    std::vector<std::string> all = {"/usr/bin/tmux", "-L", socket_};
    all.insert(all.end(), args.begin(), args.end());
    return spawn({.args = all, .env = {{"TERM", "xterm"}, {"LANG", "C.UTF-8"}}});
  }
  void start(const std::string& command) const {
    Result start = (*this)({"new-session", "-d", "-x", "100", "-y", "30", command});
    ASSERT_EQ(start.exit, 0) << start.all();
  }
  std::string screen() const { return (*this)({"capture-pane", "-p"}).out; }
  // `gone`: a word that is not on it any more. (It may be seen half drawn.)
  void screen_with(const std::string& pattern, const std::string& gone = {}) const {
    std::string text;
    for (int i = 0; i < 600; i++) {
      text = screen();
      if (matches(text, pattern) && (gone.empty() || !contains(text, gone))) return;
      usleep(100'000);
    }
    ADD_FAILURE() << "no '" << pattern << "' or still '" << gone << "' in\n" << text;
  }

 private:
  std::string socket_;
};

TEST_P(Observe, Top) {
  if (Tmux::missing()) GTEST_SKIP() << "no tmux";
  Jvm jvm(GetParam());
  Tmux tmux;
  tmux.start(kCommand + " top " + jvm.pid() + " --interval 0.3; sleep 600");
  tmux.screen_with("wisp top: JVM " + jvm.pid());
  tmux.screen_with("\n +0 \\[[| ]+\\] +\\d+%  queue");
  tmux.screen_with("per second: [1-9]\\d* switches");
  tmux.screen_with("by processor time");
  tmux({"send-keys", "n"});
  tmux.screen_with("by name");
  tmux({"send-keys", "w"});
  tmux.screen_with("by longest in its state");
  tmux({"send-keys", "/", "block", "Enter"});
  tmux.screen_with("1 of \\d+ tasks with 'block'", "waiter");
  tmux({"send-keys", "h"});
  tmux.screen_with("longest in its state   r times run");
  tmux({"send-keys", "h", "Escape"});
  tmux({"resize-window", "-x", "20", "-y", "7"});
  tmux.screen_with("^wisp top: JVM .*\ntasks \\d+.*\nper second.*~\n");
  tmux({"resize-window", "-x", "100", "-y", "30"});
  tmux.screen_with("by longest in its state");
  tmux({"send-keys", "q"});
  tmux.screen_with("", "by longest");  // the screen is given back
}

// By the signals that the keys send, too.
TEST_P(Observe, TopGivesTheTerminalBack) {
  if (Tmux::missing()) GTEST_SKIP() << "no tmux";
  Jvm jvm(GetParam());
  Tmux tmux;
  tmux.start("/bin/bash --norc");
  const std::string command = kCommand + " top " + jvm.pid() + " --interval 0.3";
  const std::string top = "wisp top: JVM " + jvm.pid();
  // What is typed is not the answer.
  auto expect_shell = [&] {
    tmux({"send-keys", "stty -a | grep -c ' icanon' | sed s/^/lines/", "Enter"});
    tmux.screen_with("\nlines1\n", top);
    tmux({"send-keys", "clear", "Enter"});
    tmux.screen_with("", "lines");
  };
  tmux({"send-keys", command, "Enter"});
  tmux.screen_with(top);
  tmux({"send-keys", "C-z"});
  tmux.screen_with("Stopped", top);
  expect_shell();
  tmux({"send-keys", "fg", "Enter"});
  tmux.screen_with(top);
  tmux({"send-keys", "n"});
  tmux.screen_with("by name");
  tmux({"send-keys", "C-\\"});
  tmux.screen_with("", top);
  expect_shell();
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
