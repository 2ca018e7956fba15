// The natives of wisp.flight.Flight: events out of the runtime's log (scheduler/event_log.h), with
// the clock of Flight Recorder. Called by the observer's thread but for `kick`, `lost` and
// `carriers`.
//
// Flight Recorder adds two fields to every event class that it loads, startTime and duration, in
// ticks of a clock of its own: usually the processor's time stamp less a constant, else
// nanoseconds. An event that is written later gets its times by JNI; where a JDK has no such fields
// the event says when it was written.
#include <string.h>

#include "jvm/flight_words.h"
#include "jvm/java_classes.h"
#include "jvm/observer.h"
#include "jvm/own_events.h"
#include "observe/statistics_layout.h"
#include "observe/wait_names.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "platform/spin_lock.h"

extern "C" __attribute__((visibility("hidden"))) const unsigned char wisp_flight_classes[];

namespace wisp {
namespace {

constexpr uint64_t kHeldUs = 250'000;
constexpr uint32_t kWords = kFlightWords, kStallWords = kWords + 5, kBatch = 512;

jclass g_flight = nullptr;
jmethodID g_turn = nullptr, g_stall = nullptr;
std::atomic<uint64_t> g_stall_ns{0};
std::atomic<uint64_t> g_lost{0};

// ---- the recorder's clock ----------------------------------------------------------------------

struct Clock {
  uint64_t ticks = 0;  // ours
  int64_t theirs = 0;
  double rate = 0;  // theirs per tick of ours; 0: not known yet
};
SpinLock g_anchor_lock;  // a leaf
Clock g_anchor;          // the observer writes; who writes events of its own reads

Clock anchor_now() {
  RuntimeEntry entry;
  SpinGuard guard(g_anchor_lock);
  return g_anchor;
}

void set_anchor(const Clock& clock) {
  RuntimeEntry entry;
  SpinGuard guard(g_anchor_lock);
  g_anchor = clock;
}

jfieldID time_field(JNIEnv* env, jobject event, const char* name) {
  jclass type = env->GetObjectClass(event);
  jfieldID id = env->GetFieldID(type, name, "J");
  env->DeleteLocalRef(type);
  if (id == nullptr) env->ExceptionClear();
  return id;
}

jlong JNICALL our_ticks(JNIEnv*, jclass) { return static_cast<jlong>(ticks()); }

// `begun` has read their clock since `before`. True: the rate is known. A reading during which this
// thread lost its processor counts for nothing.
jboolean JNICALL anchor(JNIEnv* env, jclass, jobject begun, jlong before) {
  uint64_t now = ticks();
  jfieldID start = time_field(env, begun, "startTime");
  int64_t theirs = start != nullptr ? env->GetLongField(begun, start) : 0;
  bool sharp = now - static_cast<uint64_t>(before) < us_to_ticks(300);
  Clock clock = anchor_now();
  if (theirs == 0 || !sharp) return clock.rate != 0;
  if (clock.ticks == 0) {
    clock.ticks = now;
    clock.theirs = theirs;
  }
  uint64_t passed = now - clock.ticks;
  if (clock.rate == 0 && passed > us_to_ticks(5000)) {
    // It is one of two: the same counter, or nanoseconds.
    double rate = static_cast<double>(theirs - clock.theirs) / static_cast<double>(passed);
    double ns = 1000.0 / static_cast<double>(g_ticks_per_us);
    double off_same = rate > 1 ? rate - 1 : 1 - rate, off_ns = rate > ns ? rate - ns : ns - rate;
    clock.rate = off_same <= off_ns ? 1 : ns;
  }
  if (clock.rate != 0) {
    clock.ticks = now;
    clock.theirs = theirs;
  }
  set_anchor(clock);
  return clock.rate != 0;
}

int64_t their_time(const Clock& clock, uint64_t t) {
  double ago = static_cast<double>(static_cast<int64_t>(clock.ticks - t)) * clock.rate;
  return clock.theirs - static_cast<int64_t>(ago);
}

void JNICALL set_times(JNIEnv* env, jclass, jobject event, jlong begin, jlong end) {
  jfieldID start = time_field(env, event, "startTime");
  jfieldID duration = time_field(env, event, "duration");
  Clock clock = anchor_now();
  if (start == nullptr || duration == nullptr || clock.rate == 0) return;
  int64_t from = their_time(clock, static_cast<uint64_t>(begin));
  int64_t until = their_time(clock, static_cast<uint64_t>(end));
  // A duration of 0 would be taken for one that is still to be measured.
  env->SetLongField(event, start, from);
  env->SetLongField(event, duration, until > from ? until - from : 1);
}

// ---- events ------------------------------------------------------------------------------------

jlong word(uint64_t value) { return static_cast<jlong>(value); }
jlong index_word(uint32_t value) { return value == ~0u ? -1 : static_cast<jlong>(value); }

jint JNICALL take(JNIEnv* env, jclass, jlongArray into) {
  static LogEvent events[kBatch];  // one thread only
  static jlong words[kBatch * kWords];
  uint64_t lost = 0;
  // The threads come first: until their next wait, or so long.
  uint32_t n = log_take(events, kBatch, &lost, us_to_ticks(kHeldUs));
  g_lost.store(lost, std::memory_order_relaxed);
  if (n == 0) return 0;
  stats::WaitNames names;
  for (uint32_t i = 0; i < n; ++i) flight_words(words + i * kWords, events[i], names);
  env->SetLongArrayRegion(into, 0, static_cast<jsize>(n * kWords), words);
  return static_cast<jint>(n);
}

jlong JNICALL lost(JNIEnv*, jclass) { return word(g_lost.load(std::memory_order_relaxed)); }

jboolean JNICALL want(JNIEnv*, jclass, jint kinds, jlong park_ns, jlong handoff_ns,
                      jlong stall_ns) {
  g_stall_ns.store(static_cast<uint64_t>(stall_ns), std::memory_order_relaxed);
  return log_want(static_cast<uint32_t>(kinds), ns_to_ticks(static_cast<uint64_t>(park_ns)),
                  ns_to_ticks(static_cast<uint64_t>(handoff_ns)))
             ? JNI_TRUE
             : JNI_FALSE;
}

void JNICALL kick(JNIEnv*, jclass) { observer_kick(); }

jboolean JNICALL own_events(JNIEnv* env, jclass, jboolean waits, jboolean lives) {
  return own_events_want(env, waits == JNI_TRUE, lives == JNI_TRUE);
}

jobject system_loader(JNIEnv* env) {
  jclass type = env->FindClass("java/lang/ClassLoader");
  jmethodID get = type != nullptr ? env->GetStaticMethodID(type, "getSystemClassLoader",
                                                           "()Ljava/lang/ClassLoader;")
                                  : nullptr;
  return get != nullptr ? env->CallStaticObjectMethod(type, get) : nullptr;
}

bool register_natives(JNIEnv* env, jclass flight) {
  static const struct {
    const char* name;
    const char* signature;
    void* function;
  } kNatives[] = {{"take", "([J)I", reinterpret_cast<void*>(&take)},
                  {"lost", "()J", reinterpret_cast<void*>(&lost)},
                  {"want", "(IJJJ)Z", reinterpret_cast<void*>(&want)},
                  {"anchor", "(Ljdk/jfr/Event;J)Z", reinterpret_cast<void*>(&anchor)},
                  {"ticks", "()J", reinterpret_cast<void*>(&our_ticks)},
                  {"setTimes", "(Ljdk/jfr/Event;JJ)V", reinterpret_cast<void*>(&set_times)},
                  {"kick", "()V", reinterpret_cast<void*>(&kick)},
                  {"ownEvents", "(ZZ)Z", reinterpret_cast<void*>(&own_events)},
                  {"carriers", "()[J", reinterpret_cast<void*>(&java_carriers)}};
  for (const auto& n : kNatives) {
    JNINativeMethod method{const_cast<char*>(n.name), const_cast<char*>(n.signature), n.function};
    if (env->RegisterNatives(flight, &method, 1) != 0) return false;
  }
  return true;
}

bool load_and_start(JNIEnv* env) {
  jobject loader = system_loader(env);
  if (env->ExceptionCheck() || loader == nullptr) return false;
  jclass flight = define_classes(env, wisp_flight_classes, loader);
  if (flight == nullptr || !register_natives(env, flight)) return false;
  g_turn = env->GetStaticMethodID(flight, "turn", "()J");
  g_stall = env->GetStaticMethodID(flight, "stall", "([JLjava/lang/String;)V");
  jmethodID begin = env->GetStaticMethodID(flight, "start", "()V");
  if (g_turn == nullptr || g_stall == nullptr || begin == nullptr) return false;
  own_events_prepare(env, flight);
  env->CallStaticVoidMethod(flight, begin);
  if (env->ExceptionCheck()) return false;
  g_flight = static_cast<jclass>(env->NewGlobalRef(flight));
  return true;
}

}  // namespace

void flight_words(jlong* w, const LogEvent& e, const stats::WaitNames& names) {
  stats::TaskRecord place{};
  place.wait_fd = -1;
  if (e.kind == LogKind::Park) {
    place.wait_for = stats::WaitFor::Lock;
    if (e.own_stack)
      place.wait_for = stats::WaitFor::Time;
    else
      names.name(reinterpret_cast<const void*>(e.address), &place);
  }
  w[0] = static_cast<jlong>(e.kind) | static_cast<jlong>(e.woken) << 8 |
         static_cast<jlong>(place.wait_for) << 16;
  w[1] = e.task;
  w[2] = index_word(e.carrier);
  w[3] = index_word(e.other);
  w[4] = word(e.java_id);
  w[5] = word(e.begin);
  w[6] = word(e.end);
  w[7] = e.ready_at != 0 ? word(ticks_to_ns(e.end - e.ready_at)) : 0;
  w[8] = word(e.address);
  w[9] = place.wait_fd;
  memcpy(&w[10], e.name, sizeof e.name);
}

bool flight_load(JNIEnv* env) {
  if (env->PushLocalFrame(64) != 0) return false;
  bool ok = load_and_start(env);
  if (!ok) {
    verbose("no events for Flight Recorder");
    if (g_verbose && env->ExceptionCheck()) env->ExceptionDescribe();
  }
  env->ExceptionClear();
  env->PopLocalFrame(nullptr);
  return ok;
}

long flight_turn(JNIEnv* env) {
  if (env->PushLocalFrame(64) != 0) return 1000;
  jlong ms = env->CallStaticLongMethod(g_flight, g_turn);
  if (env->ExceptionCheck()) {
    if (g_verbose) env->ExceptionDescribe();
    env->ExceptionClear();
    ms = 1000;
  }
  env->PopLocalFrame(nullptr);
  return static_cast<long>(ms);
}

uint64_t flight_stall_ns() { return g_stall_ns.load(std::memory_order_relaxed); }

void flight_stall(JNIEnv* env, const stats::Stall& s, jstring stack, bool in_native) {
  jlong w[kStallWords] = {};
  w[1] = s.id;
  w[2] = index_word(s.carrier);
  w[4] = word(s.java_id);
  w[5] = word(s.since);
  w[6] = word(s.since + ns_to_ticks(s.held_ns));
  memcpy(&w[10], s.name, sizeof s.name);
  w[kWords] = s.over;
  w[kWords + 1] = in_native;
  w[kWords + 2] = static_cast<unsigned char>(s.kernel_state);
  w[kWords + 3] = s.system_call;
  w[kWords + 4] = word(s.cpu_ns);
  jlongArray words = env->NewLongArray(kStallWords);
  if (words != nullptr) {
    env->SetLongArrayRegion(words, 0, kStallWords, w);
    env->CallStaticVoidMethod(g_flight, g_stall, words, stack);
  }
  if (g_verbose && env->ExceptionCheck()) env->ExceptionDescribe();
  env->ExceptionClear();
  env->DeleteLocalRef(words);
}

}  // namespace wisp
