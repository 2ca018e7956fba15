// See observer.h. When the JVM is up is told by the names that its own threads give themselves
// (they call our pthread_setname_np): the periodic thread is the last thing that the JVM's start
// makes, the recorder's thread comes when Flight Recorder is made. Attaching earlier would not be
// safe.
#include "jvm/observer.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "jvm/collections.h"
#include "jvm/java_classes.h"
#include "jvm/java_thread.h"
#include "jvm/start.h"
#include "observe/statistics_layout.h"
#include "observe/trace.h"
#include "platform/kernel.h"
#include "platform/log.h"

extern "C" __attribute__((visibility("hidden"))) const unsigned char wisp_observe_classes[];

namespace wisp {
namespace {

using stats::Stall;

std::atomic<bool> g_flight_recorder{false};  // the JVM has made its recorder
std::atomic<uint32_t> g_kick{0};             // futex
std::atomic<bool> g_started{false};
std::atomic<uint64_t> g_up_at{0};  // ticks
std::atomic<bool> g_traced{false};

struct Observer {
  JavaVM* vm = nullptr;
  JNIEnv* env = nullptr;
  jclass threads = nullptr;
  jmethodID stack = nullptr;
  bool flight = false;
  uint64_t second_ns = 0;  // of the last reports
  uint32_t reports = 0, unsaid = 0;
};

constexpr uint32_t kReportsPerSecond = 10;

jlong JNICALL id_of(JNIEnv* env, jclass, jobject thread) {
  return static_cast<jlong>(java_thread_id(env, thread));
}

bool attach(Observer* o) {
  JavaVM* vm = created_vm();
  if (vm == nullptr) return false;  // newer ones do not show themselves before they are whole
  static char kName[] = "Wisp Observer";
  JavaVMAttachArgs args{JNI_VERSION_1_6, kName, nullptr};
  void* env = nullptr;
  if (vm->AttachCurrentThreadAsDaemon(&env, &args) != JNI_OK) return false;
  o->vm = vm;
  o->env = static_cast<JNIEnv*>(env);
  return true;
}

bool load(Observer* o) {
  JNIEnv* env = o->env;
  static char kId[] = "id", kSignature[] = "(Ljava/lang/Thread;)J";
  static const JNINativeMethod kNative = {kId, kSignature, reinterpret_cast<void*>(&id_of)};
  jclass threads = define_classes(env, wisp_observe_classes, nullptr);
  if (threads != nullptr && env->RegisterNatives(threads, &kNative, 1) == 0)
    o->stack = env->GetStaticMethodID(threads, "stack", "(J)[Ljava/lang/String;");
  if (o->stack == nullptr) {
    env->ExceptionClear();
    return false;
  }
  o->threads = static_cast<jclass>(env->NewGlobalRef(threads));
  return true;
}

// ---- stalls ----------------------------------------------------------------------------------

class Words {  // a String's bytes
 public:
  Words(JNIEnv* env, jobject text) : env_(env), text_(static_cast<jstring>(text)) {
    bytes_ = text_ != nullptr ? env->GetStringUTFChars(text_, nullptr) : nullptr;
  }
  ~Words() {
    if (bytes_ != nullptr) env_->ReleaseStringUTFChars(text_, bytes_);
  }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  const char* text() const { return bytes_ != nullptr ? bytes_ : "?"; }

 private:
  JNIEnv* env_;
  jstring text_;
  const char* bytes_;
};

const char* kernel_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
    case 'D':
      return "asleep in the kernel";
    default:
      return "in an unknown state";
  }
}

void say_found(Observer* o, const Stall& s, jobjectArray stack, bool in_native) {
  JNIEnv* env = o->env;
  jobject name = stack != nullptr ? env->GetObjectArrayElement(stack, 0) : nullptr;
  Words java_name(env, name);
  char place[96], call[40] = "";
  if (s.carrier != stats::kNone)
    snprintf(place, sizeof place, "on carrier %u", s.carrier);
  else
    snprintf(place, sizeof place, "its carrier was taken away");
  if (s.system_call >= 0) snprintf(call, sizeof call, " (system call %d)", s.system_call);
  warn("stall: \"%s\" #%lu, task %u, nid 0x%x, has run %lu ms without giving way, %s; %s, %s%s",
       stack != nullptr ? java_name.text() : s.name, s.java_id, s.id, s.tid, s.held_ns / 1'000'000,
       place,
       stack == nullptr ? "no Java stack: it went on meanwhile, or runs no Java"
       : in_native      ? "in native code"
                        : "in Java code",
       kernel_words(s.kernel_state), call);
  for (jsize i = 2; stack != nullptr && i < env->GetArrayLength(stack); ++i) {
    jobject frame = env->GetObjectArrayElement(stack, i);
    warn("    %s", Words(env, frame).text());
    env->DeleteLocalRef(frame);
  }
}

// At most so many a second in full; the others are counted, and Flight Recorder gets them without a
// stack. `logged`: it is for stderr as well, which else says nothing.
bool in_full(Observer* o, bool logged) {
  uint64_t now = monotonic_ns();
  if (now - o->second_ns >= 1'000'000'000) {
    if (o->unsaid != 0) warn("stall: %u more within a second", o->unsaid);
    o->second_ns = now;
    o->reports = o->unsaid = 0;
  }
  if (o->reports++ < kReportsPerSecond) return true;
  if (logged) ++o->unsaid;
  return false;
}

// Frames, a line each, as one String.
jstring joined(JNIEnv* env, jobjectArray stack) {
  static char text[8192];  // one thread only
  size_t used = 0;
  for (jsize i = 2; stack != nullptr && i < env->GetArrayLength(stack); ++i) {
    jobject frame = env->GetObjectArrayElement(stack, i);
    Words words(env, frame);
    size_t length = strlen(words.text());
    if (used + length + 2 > sizeof text) break;
    if (used != 0) text[used++] = '\n';
    memcpy(text + used, words.text(), length);
    used += length;
  }
  text[used] = '\0';
  return env->NewStringUTF(text);
}

void on_stall(const Stall& stall, void* context) {
  auto* o = static_cast<Observer*>(context);
  JNIEnv* env = o->env;
  bool logged = g_options.stall_ms != 0 &&
                stall.held_ns >= static_cast<uint64_t>(g_options.stall_ms) * 1'000'000;
  bool recorded = o->flight && flight_stall_ns() != 0;
  if (stall.over) {
    if (logged && in_full(o, logged))
      warn("stall: #%lu, task %u, went on after %lu ms", stall.java_id, stall.id,
           stall.held_ns / 1'000'000);
    if (recorded) flight_stall(env, stall, nullptr, false);
    return;
  }
  if (!in_full(o, logged)) {
    if (recorded) flight_stall(env, stall, nullptr, false);
    return;
  }
  if (env->PushLocalFrame(128) != 0) {
    env->ExceptionClear();
    return;
  }
  // A handshake, or a safepoint on old JDKs: it waits until the thread can be looked at.
  auto stack = static_cast<jobjectArray>(
      env->CallStaticObjectMethod(o->threads, o->stack, static_cast<jlong>(stall.java_id)));
  if (env->ExceptionCheck()) {
    env->ExceptionClear();
    stack = nullptr;
  }
  // What it shows now is not what it did then.
  if (stack != nullptr && stats::stall_moved_on(stall)) stack = nullptr;
  bool in_native = false;
  if (stack != nullptr) {
    Words where(env, env->GetObjectArrayElement(stack, 1));
    in_native = strcmp(where.text(), "native") == 0;
  }
  if (logged) say_found(o, stall, stack, in_native);
  if (recorded) flight_stall(env, stall, joined(env, stack), in_native);
  env->PopLocalFrame(nullptr);
}

uint64_t stall_threshold() {
  uint64_t by_option = static_cast<uint64_t>(g_options.stall_ms) * 1'000'000;
  uint64_t by_flight = flight_stall_ns();
  if (by_option == 0 || by_flight == 0) return by_option + by_flight;
  return by_option < by_flight ? by_option : by_flight;
}

// ---- the thread ------------------------------------------------------------------------------

void pause_ms(uint64_t ms) {
  timespec rest{0, static_cast<long>(ms * 1'000'000)};
  kernel::call(SYS_nanosleep, reinterpret_cast<long>(&rest), 0);
}

void* observer_main(void*) {
  static const char kThreadName[] = "wisp-jvm-obs";
  kernel::call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(kThreadName));
  Observer o;
  // By the rules there may be no task yet.
  while (!scheduler_running()) pause_ms(200);
  while (!attach(&o)) pause_ms(20);
  if (!load(&o)) return nullptr;
  bool tried_flight = false;
  for (;;) {
    uint32_t kick = g_kick.load(std::memory_order_acquire);
    if (!tried_flight && g_flight_recorder.load(std::memory_order_acquire)) {
      tried_flight = true;
      o.flight = flight_load(o.env);
    }
    trace_collections(o.vm, g_traced.load(std::memory_order_relaxed));
    uint64_t now = monotonic_ns(), wake_at = kForever;
    if (o.flight)
      if (long ms = flight_turn(o.env); ms != 0)
        wake_at = now + static_cast<uint64_t>(ms) * 1'000'000;
    if (uint64_t threshold = stall_threshold()) {
      stats::stalls_scan(threshold, g_up_at.load(std::memory_order_relaxed), on_stall, &o);
      uint64_t step = threshold / 4 < 100'000'000 ? threshold / 4 : 100'000'000;
      if (wake_at == kForever || now + step < wake_at) wake_at = now + step;
    }
    kernel::futex_wait(&g_kick, kick, wake_at);
  }
  return nullptr;
}

void start() {
  if (g_started.exchange(true, std::memory_order_acq_rel)) return;
  start_kernel_thread(observer_main, nullptr);
}

void vm_is_up() {
  g_java_thread_starts.store(nullptr, std::memory_order_relaxed);
  uint64_t never = 0;
  // seq_cst here and for g_traced: who switches the trace on sees that the JVM is up, or the thread
  // that says so sees the trace.
  g_up_at.compare_exchange_strong(never, ticks(), std::memory_order_seq_cst);
}

// For JVMs whose threads have no names (8u121): the first thread that is started in a booted VM.
void ask_booted(JNIEnv* env) {
  if (env->PushLocalFrame(8) != 0) return env->ExceptionClear();
  jclass vm = env->FindClass("jdk/internal/misc/VM");
  if (vm == nullptr) {
    env->ExceptionClear();
    vm = env->FindClass("sun/misc/VM");
  }
  jmethodID booted = vm != nullptr ? env->GetStaticMethodID(vm, "isBooted", "()Z") : nullptr;
  bool up = booted != nullptr && env->CallStaticBooleanMethod(vm, booted) == JNI_TRUE;
  env->ExceptionClear();
  env->PopLocalFrame(nullptr);
  if (!up) return;
  vm_is_up();
  start();
}

// Names longer than the kernel's 15 bytes are cut by older JDKs and shortened in the middle by
// newer ones: the first seven are the same.
void vm_thread_named(const char* name) {
  bool up = strncmp(name, "VM Peri", 7) == 0, recorder = strncmp(name, "JFR Rec", 7) == 0;
  if (WISP_LIKELY(!up && !recorder)) return;
  vm_is_up();
  if (recorder) g_flight_recorder.store(true, std::memory_order_release);
  if (recorder || g_options.stall_ms != 0 || g_traced.load(std::memory_order_seq_cst)) start();
  observer_kick();
}

// Before the JVM is up, its being so starts the observer. A later trace of a JVM whose threads have
// no names goes without collections until a thread is started.
void trace_switched(bool on) {
  g_traced.store(on, std::memory_order_seq_cst);
  if (g_up_at.load(std::memory_order_seq_cst) != 0) {
    if (on) start();
    observer_kick();
  } else if (on) {
    g_java_thread_starts.store(&ask_booted, std::memory_order_relaxed);
  }
}

}  // namespace

void observer_prepare() {
  g_vm_thread_named = &vm_thread_named;
  stats::g_trace_switched = &trace_switched;
  if (g_options.stall_ms != 0) g_java_thread_starts.store(&ask_booted, std::memory_order_relaxed);
}

void observer_kick() {
  g_kick.fetch_add(1, std::memory_order_release);
  kernel::futex_wake(&g_kick, 1);
}

}  // namespace wisp
