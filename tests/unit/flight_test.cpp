// The events that Flight Recorder gets, on real JVMs: JDK 8 to 25, where the JDK has it and a `jfr`
// to read it. (flight_stall_test.cpp: the stall finder.)
#include <algorithm>

#include "unit/recorded_jvm.h"

using namespace wisp_test;

namespace {

// What is true of a recording of the workload "mixed", whoever started it.
const char kMixed[] = R"(
frames=lambda v:[f['method']['name'] for f in (v.get('stackTrace') or {'frames':[]})['frames']]
parks=of('Park')
need(parks, sorted({n for n,_ in e}))
by={java(v['thread']) for v in parks}
need({'parker','owner','maker','entering'}<=by, by)
for v in parks+of('NativePark'):
  assert v['threadName'] and v['task']>0 and v['javaId']>0, v
  assert 0.02<=secs(v)<60, v
  assert v['endedBy'] in ('woken','timeout','signal'), v
# On the lane of the thread that waited, with its stack, in Mission Control as well: written by itself.
# (JDK 17 does not know the main thread's name in a recording from the start.)
lane=lambda v: java(v['eventThread'])==java(v['thread']) and (java(v['thread']) or v['javaId']==1)
for v in parks:
  assert lane(v), v
ways={'parker':('park','parkNanos'), 'maker':('sleep','makeThreads'), 'entering':('monitor','enterOften')}
for v in parks:
  way=ways.get(java(v['thread']))
  # A first call may also wait for a class or for the compiler.
  assert not way or v['reason']!=way[0] or way[1] in frames(v), v
for name,way in ways.items():
  need(any(v['reason']==way[0] for v in parks if java(v['thread'])==name), (name, parks))
assert all(v['reason'] in ('lock','time','readable','writable') for v in of('NativePark'))
# 60 ms at a time, ended by a timer.
parker=[v for v in parks if v['threadName']=='parker']
need(sum(secs(v)>=0.055 and v['endedBy']=='timeout' for v in parker)>=0.7*len(parker), parker)
# Waits for the monitor are ended by its owner.
owner={v['task'] for v in parks if v['threadName']=='owner'}
need(any(v['waker'] in owner for v in parks if v['threadName']=='entering'), parks)
# All others the thread writes when it next waits; the observer if it does not. (None: JDK 17, from the start.)
own=('wisp.Park','wisp.TaskStart','wisp.TaskEnd')
wisp=[v for n,v in e if n.startswith('wisp.') and n not in own and 'task' in v]
assert all(lane(v) or java(v['eventThread']) in ('Wisp Observer',None) for v in wisp), wisp
assert not any(v.get('stackTrace') for v in wisp)
preempts=of('Preempt')
need(any(java(v['thread'])=='computing' and java(v['eventThread'])!='computing' for v in preempts), preempts)
need(any(java(v['eventThread'])=='breathing' for v in preempts), preempts)
late=[v for v in preempts if java(v['eventThread'])=='breathing']
# ... with the time at which it happened: it computes for 50 ms then, and writes when it has waited again.
ends_of_waits=[at(v)+secs(v) for v in parks if java(v['thread'])=='breathing']
since=sorted(min((at(v)-t for t in ends_of_waits if t<=at(v)), default=1) for v in late)
assert since[len(since)//2]>0.002, since
known=('parker','owner','entering','computing')  # a child begins with the name of its maker
assert all(java(v['thread']) in (None,v['threadName']) for v in wisp if v.get('threadName') in known), [(v['threadName'],v['thread']) for v in wisp if v.get('threadName') in known and java(v['thread'])!=v['threadName']]
starts=of('TaskStart'); ends=of('TaskEnd')
for lives in (starts,ends):
  need(any((java(v['eventThread']) or '').startswith('child-') for v in lives), lives)
  assert all(lane(v) and v['task']>0 for v in lives), lives
stats=of('CarrierStatistics')
need(stats, 'statistics')
assert {v['carrier'] for v in stats}=={0,1}, stats
assert all(0<=v['busy']<=1.01 and v['lostEvents']==0 for v in stats), stats
last={v['carrier']:v for v in stats}
need(sum(v['switches'] for v in last.values())>100, last)
assert not of('Steal')
# Whoever is the first to need a lambda has some when the JDK links it; Wisp throws none.
errors=[v['message'] for v in of('JavaErrorThrow')]
assert all('java.lang.invoke.' in (m or '') for m in errors), errors
# What the JVM itself says is said of the right threads.
samples=of('ExecutionSample')
need(any(java(v['sampledThread'])=='computing' and 'spinForLong' in frames(v) for v in samples), len(samples))
assert all(java(v['sampledThread'])=='computing' for v in samples if 'spinForLong' in frames(v))
jparks=[v for v in of('ThreadPark') if 'parkNanos' in frames(v) and any('FlightWorkload' in
  f['method']['type']['name'] for f in v['stackTrace']['frames'])]
need(jparks, 'jdk.ThreadPark')
assert {java(v['eventThread']) for v in jparks}=={'parker'}, [java(v['eventThread']) for v in jparks]
enters=of('JavaMonitorEnter')
mine=[v for v in enters if 'enterOften' in frames(v)]
need(mine, 'jdk.JavaMonitorEnter')
assert {java(v['eventThread']) for v in mine}=={'entering'}
assert {java(v['previousOwner']) for v in mine}<={'owner',None}
)";

constexpr char kAllEvents[] =
    "wisp.*,jdk.ThreadPark,jdk.JavaMonitorEnter,jdk.ExecutionSample,jdk.JavaErrorThrow";

TEST_P(Flight, RecordedFromTheStart) {
  if (!has(GetParam(), "jfr")) GTEST_SKIP() << "no jfr in this JDK";
  std::string recording = scratch() + "/start.jfr";
  Result checked;
  for (int seconds : kSeconds) {
    unlink(recording.c_str());
    ConvertedJvm jvm(GetParam(),
                     {"-XX:StartFlightRecording=settings=profile,filename=" + recording,
                      "-Dcom.alibaba.wisp.threadAsWisp.black=name:nobody"},
                     workload({"mixed"}));
    sleep(seconds);
    ASSERT_EQ(jvm.finish(), 0);
    Result json = print(GetParam(), recording, kAllEvents);
    ASSERT_EQ(json.exit, 0) << json.err;
    checked = check(json.out, kMixed);
    if (checked.exit != 3) break;
  }
  EXPECT_EQ(checked.exit, 0) << checked.err;
  Result summary = spawn({.args = {tool(GetParam(), "jfr"), "summary", recording}});
  EXPECT_TRUE(matches(summary.out, "wisp.Park +[1-9]\\d* ")) << summary.out;
}

// Recordings come and go while threads wait in every way that their own events are written in.
TEST_P(Flight, ThreadsWriteTheirOwnWaits) {
  if (!has(GetParam(), "jfr")) GTEST_SKIP() << "no jfr in this JDK";
  for (const char* carriers : {"1", "2"}) {
    Result result = spawn({.args = {tool(GetParam(), "java"),
                                    std::string("-Dcom.alibaba.wisp.carrierEngines=") + carriers,
                                    "-cp", OBSERVE_CLASSES, "RecordWorkload", scratch()},
                           .env = {{"LD_PRELOAD", WISP_TREE "/lib/libwisp.so"}, {"WISP", "1"}}});
    EXPECT_EQ(result.exit, 0) << result.all();
    EXPECT_TRUE(contains(result.out, "recorded {")) << result.all();
    // Of exchanged native methods HotSpot could say something.
    EXPECT_FALSE(contains(result.all(), "egister")) << result.all();
  }
}

// A class of ours that somebody else initialises while the observer has not come to register it, as
// a Java agent that retransforms classes does, asks nothing of the recorder.
TEST_P(Flight, EventsDoNotRegisterThemselves) {
  if (!has(GetParam(), "jfr")) GTEST_SKIP() << "no jfr in this JDK";
  Result result =
      spawn({.args = {tool(GetParam(), "java"), "-Djava.system.class.loader=EarlyEvents",
                      "-XX:StartFlightRecording=filename=" + scratch() + "/early.jfr", "-cp",
                      OBSERVE_CLASSES, "EarlyEvents"},
             .env = {{"LD_PRELOAD", WISP_TREE "/lib/libwisp.so"}, {"WISP", "1"}}});
  EXPECT_EQ(result.exit, 0) << result.all();
  EXPECT_TRUE(contains(result.out, "early [] later [")) << result.all();
  EXPECT_TRUE(matches(result.out, "later .*wisp.CarrierStatistics.*wisp.TaskStart"))
      << result.all();
}

TEST_P(Flight, RecordedOnDemandWithSettings) {
  if (!has(GetParam(), "jfr") || !has(GetParam(), "jcmd")) GTEST_SKIP() << "no jfr in this JDK";
  std::string recording = scratch() + "/demand.jfr", settings = scratch() + "/own.jfc";
  std::ofstream(settings) << R"(<?xml version="1.0" encoding="UTF-8"?><configuration version="2.0">
    <event name="wisp.Park"><setting name="enabled">true</setting>
      <setting name="threshold">100 ms</setting></event>
    <event name="wisp.Steal"><setting name="enabled">true</setting></event>
    <event name="wisp.CarrierStatistics"><setting name="enabled">true</setting>
      <setting name="period">200 ms</setting></event>
    <event name="wisp.TaskEnd"><setting name="enabled">true</setting></event>
    <event name="wisp.TaskStart"><setting name="enabled">false</setting></event></configuration>)";
  ConvertedJvm jvm(GetParam(), {}, workload({"mixed"}));
  auto jcmd = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {tool(GetParam(), "jcmd"), jvm.pid()});
    Result result = spawn({.args = words});
    EXPECT_EQ(result.exit, 0) << result.all();
  };
  Result checked;
  for (int seconds : kSeconds) {
    unlink(recording.c_str());
    jcmd({"JFR.start", "name=own", "settings=" + settings});
    usleep(static_cast<useconds_t>(seconds) * 800'000);
    jcmd({"JFR.stop", "name=own", "filename=" + recording});
    Result json = print(GetParam(), recording, "wisp.*");
    ASSERT_EQ(json.exit, 0) << json.err;
    checked = check(json.out, R"(
parks=of('Park')
need(parks, 'parks')
assert all(secs(v)>=0.1 for v in parks), parks
need(any(v['threadName'].startswith('child-') for v in parks), parks)
assert all(v['threadName']!='parker' for v in parks if secs(v)<0.1)
assert not of('TaskStart') and not of('Stall')
need(of('TaskEnd'), 'ends')
assert all({v['carrier'],v['from']}=={0,1} for v in of('Steal'))
need(len(of('CarrierStatistics'))>=12, len(of('CarrierStatistics')))
)");
    if (checked.exit != 3) break;
  }
  EXPECT_EQ(checked.exit, 0) << checked.err;
  // Nothing is logged any more.
  jcmd({"JFR.check"});
  EXPECT_EQ(jvm.finish(), 0);
}

std::string label(const testing::TestParamInfo<std::string>& info) {
  return std::regex_replace(jdk_label(info.param), std::regex("[^A-Za-z0-9]"), "_");
}
// Beside the usual ones those that scripts/fetch-jdks has got: a JDK 8 and, with Flight Recorder,
// an 11 and a 21.
std::vector<std::string> homes() {
  std::vector<std::string> all = jdks();
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  std::string folder =
      cache != nullptr ? cache : std::string(home != nullptr ? home : "") + "/.cache";
  for (const char* version : {"8u121", "11.0.13", "21.0.8"}) {
    std::string path = folder + "/wisp/jdks/" + version;
    bool known = std::find(all.begin(), all.end(), path) != all.end();
    if (!known && access((path + "/bin/java").c_str(), X_OK) == 0) all.push_back(path);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Jdks, Flight, testing::ValuesIn(homes()), label);

}  // namespace
