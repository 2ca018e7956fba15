// wisp trace and wisp trace report against real JVMs; the JDKs are chosen in observe_test.cpp.
#include <algorithm>

#include "unit/observed_jvm.h"

using namespace wisp_test;

namespace {

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

}  // namespace
