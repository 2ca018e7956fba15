// Registers the MXBean when, and only when, the platform MBean server comes into being. The way
// there costs nothing to programs without JMX, and needs neither an option nor an agent:
//
// - JVM_GetManagement is what libmanagement asks HotSpot for in its JNI_OnLoad; as with
//   JVM_StartThread our definition is found first. Only programs that use java.lang.management come
//   here. The library that has getDiagnosticCommands gets our version bound.
// - getDiagnosticCommands is called on JDK 8 to 25 by the registration of the DiagnosticCommand
//   bean, which is part of making the platform MBean server: by then the server is in
//   ManagementFactory.platformMBeanServer, and we add our bean to it.
// - The classes are in this library (java/agent, compiled for Java 8) and are defined in the boot
//   loader, so clients that name Dragonwell's interface find it.
//
// A run-time image without jdk.management has no such bean and so does not get ours. Whatever fails
// here leaves the program as it was.
#include <dlfcn.h>
#include <jni.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "jvm/java_classes.h"
#include "jvm/loaded_library.h"
#include "observe/collect.h"
#include "platform/log.h"

// For define_classes; the bean's comes last.
extern "C" __attribute__((visibility("hidden"))) const unsigned char wisp_management_classes[];

namespace wisp {
namespace {

using stats::CarrierRecord;
using stats::TaskRecord;
using GetCommands = jobjectArray (*)(JNIEnv*, jobject);

std::atomic<GetCommands> g_get_commands{nullptr};
std::atomic<bool> g_registered{false};

// ---- what the bean asks for ------------------------------------------------------------------

jlong number(uint64_t value) { return static_cast<jlong>(value); }

constexpr int kCarrierColumns = 20;
void fill(jlong* row, const CarrierRecord& c) {
  const uint64_t values[kCarrierColumns] = {c.running != stats::kNone,
                                            c.switches,
                                            c.idle_ns,
                                            c.run_ns,
                                            c.completed,
                                            c.started,
                                            c.parks,
                                            c.unparks,
                                            c.steals,
                                            c.failed_steals,
                                            c.preemptions,
                                            c.timeouts,
                                            c.polls,
                                            c.queue_length,
                                            c.tasks,
                                            c.blocked_ns,
                                            c.queued_ns,
                                            c.queued_count_total,
                                            c.io_wait_ns,
                                            c.io_waits};
  for (int i = 0; i < kCarrierColumns; ++i) row[i] = number(values[i]);
}

constexpr int kNumberColumns = 21, kTaskColumns = kNumberColumns + stats::kSocketSize / 8;
void fill(jlong* row, const TaskRecord& t, uint64_t now_ns) {
  uint64_t name[2];
  memcpy(name, t.name, sizeof name);
  const uint64_t values[kNumberColumns] = {t.id,
                                           t.tid,
                                           name[0],
                                           name[1],
                                           static_cast<uint64_t>(t.state),
                                           static_cast<uint64_t>(t.wait_for),
                                           t.carrier == stats::kNone ? ~0ull : t.carrier,
                                           t.handed_off,
                                           static_cast<uint64_t>(int64_t{t.wait_fd}),
                                           t.wait_address,
                                           now_ns > t.since_ns ? now_ns - t.since_ns : 0,
                                           t.cpu_ns,
                                           t.times_run,
                                           t.times_stolen,
                                           t.times_steal_failed,
                                           t.times_preempted,
                                           t.times_handed_off,
                                           t.queued_ns,
                                           t.java_id,
                                           t.deadline_ns == stats::kNever ? ~0ull
                                           : t.deadline_ns > now_ns       ? t.deadline_ns - now_ns
                                                                          : 0,
                                           static_cast<uint64_t>(t.socket_end)};
  for (int i = 0; i < kNumberColumns; ++i) row[i] = number(values[i]);
  memcpy(row + kNumberColumns, t.socket, sizeof t.socket);
}

// A snapshot on the heap; null without memory.
class Collected {
 public:
  Collected() {
    size_t room = stats::snapshot_room();
    data_ = static_cast<char*>(malloc(room));
    if (data_ != nullptr && stats::collect(data_, room) == 0) clear();
  }
  ~Collected() { clear(); }
  Collected(const Collected&) = delete;
  Collected& operator=(const Collected&) = delete;
  bool ok() const { return data_ != nullptr; }
  const stats::Snapshot& head() const { return *reinterpret_cast<stats::Snapshot*>(data_); }
  template <typename R>
  const R* records(const stats::Section& section) const {
    return reinterpret_cast<const R*>(data_ + section.offset);
  }

 private:
  void clear() {
    free(data_);
    data_ = nullptr;
  }
  char* data_;
};

template <typename F>
jlongArray table(JNIEnv* env, uint32_t rows, int columns, F&& fill_row) {
  jlongArray result = env->NewLongArray(static_cast<jsize>(rows) * columns);
  jlong row[kTaskColumns > kCarrierColumns ? kTaskColumns : kCarrierColumns];
  for (uint32_t i = 0; result != nullptr && i < rows; ++i) {
    fill_row(row, i);
    env->SetLongArrayRegion(result, static_cast<jsize>(i) * columns, columns, row);
  }
  return result;
}

jlongArray JNICALL tasks(JNIEnv* env, jclass) {
  Collected now;
  if (!now.ok()) return table(env, 0, 1, [](jlong*, uint32_t) {});
  const auto* records = now.records<TaskRecord>(now.head().tasks);
  uint32_t n = now.head().tasks.count;  // newest first
  return table(env, n, kTaskColumns, [&](jlong* row, uint32_t i) {
    fill(row, records[n - 1 - i], now.head().monotonic_ns);
  });
}

}  // namespace

jlongArray JNICALL java_carriers(JNIEnv* env, jclass) {
  Collected now;
  if (!now.ok()) return table(env, 0, 1, [](jlong*, uint32_t) {});
  const auto* records = now.records<CarrierRecord>(now.head().carriers);
  uint64_t completed = 0;
  for (uint32_t i = 0; i < now.head().carriers.count; ++i) completed += records[i].completed;
  return table(env, now.head().carriers.count, kCarrierColumns, [&](jlong* row, uint32_t i) {
    fill(row, records[i]);
    // Those that ended without a carrier, so that the sum is right.
    if (i == 0) row[4] += number(now.head().tasks_completed - completed);
  });
}

namespace {

// ---- registration ----------------------------------------------------------------------------

jobject platform_server(JNIEnv* env) {
  jclass factory = env->FindClass("java/lang/management/ManagementFactory");
  if (factory == nullptr) return nullptr;
  jfieldID field =
      env->GetStaticFieldID(factory, "platformMBeanServer", "Ljavax/management/MBeanServer;");
  return field != nullptr ? env->GetStaticObjectField(factory, field) : nullptr;
}

bool register_bean(JNIEnv* env, jobject server) {
  static char kCarriers[] = "carriers", kTasks[] = "tasks", kSignature[] = "()[J";
  static const JNINativeMethod kNatives[] = {
      {kCarriers, kSignature, reinterpret_cast<void*>(&java_carriers)},
      {kTasks, kSignature, reinterpret_cast<void*>(&tasks)}};
  jclass bean = define_classes(env, wisp_management_classes, nullptr);
  if (bean == nullptr || env->RegisterNatives(bean, kNatives, 2) != 0) return false;
  jmethodID method = env->GetStaticMethodID(bean, "register", "(Ljavax/management/MBeanServer;)V");
  if (method == nullptr) return false;
  env->CallStaticVoidMethod(bean, method, server);
  return !env->ExceptionCheck();
}

jobjectArray JNICALL diagnostic_commands(JNIEnv* env, jobject self) {
  GetCommands original = g_get_commands.load(std::memory_order_acquire);
  if (!g_registered.load(std::memory_order_relaxed) && scheduler_running() &&
      env->PushLocalFrame(32) == 0) {
    jobject server = platform_server(env);
    // A private MBean server may come first; once is enough, whatever comes of it.
    if (server != nullptr && !g_registered.exchange(true, std::memory_order_relaxed) &&
        !register_bean(env, server)) {
      verbose("no WispCounter bean");
      if (g_verbose && env->ExceptionCheck()) env->ExceptionDescribe();
    }
    env->ExceptionClear();
    env->PopLocalFrame(nullptr);
  }
  return original(env, self);
}

// ---- the two hooks ---------------------------------------------------------------------------

bool holds_address(const dl_phdr_info& info, const void* what) {
  auto address = reinterpret_cast<uintptr_t>(what);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && address - (info.dlpi_addr + p.p_vaddr) < p.p_memsz) return true;
  }
  return false;
}

JNIEnv* current_env() {
  JavaVM* vm = created_vm();
  void* env = nullptr;
  if (vm == nullptr) return nullptr;
  return vm->GetEnv(&env, JNI_VERSION_1_6) == JNI_OK ? static_cast<JNIEnv*>(env) : nullptr;
}

// From inside a management library's JNI_OnLoad.
void management_loaded(const void* caller) {
  // JDK 8 and, in another module, 9 and later. The first library to ask on the latter has neither.
  static const struct {
    const char* type;
    const char* symbol;
  } kHomes[] = {{"com/sun/management/internal/DiagnosticCommandImpl",
                 "Java_com_sun_management_internal_DiagnosticCommandImpl_getDiagnosticCommands"},
                {"sun/management/DiagnosticCommandImpl",
                 "Java_sun_management_DiagnosticCommandImpl_getDiagnosticCommands"}};
  if (g_get_commands.load(std::memory_order_relaxed) != nullptr) return;
  void* library = loaded_library(&holds_address, caller);
  if (library == nullptr) return;
  for (const auto& home : kHomes) {
    void* original = dlsym(library, home.symbol);
    if (original == nullptr) continue;
    JNIEnv* env = current_env();
    if (env == nullptr || env->PushLocalFrame(8) != 0) return;
    // release: pairs with diagnostic_commands.
    g_get_commands.store(reinterpret_cast<GetCommands>(original), std::memory_order_release);
    static char kName[] = "getDiagnosticCommands", kSignature[] = "()[Ljava/lang/String;";
    static const JNINativeMethod kNative = {kName, kSignature,
                                            reinterpret_cast<void*>(&diagnostic_commands)};
    jclass type = env->FindClass(home.type);
    if (type != nullptr) env->RegisterNatives(type, &kNative, 1);
    env->ExceptionClear();
    env->PopLocalFrame(nullptr);
    return;
  }
}

}  // namespace
}  // namespace wisp

WISP_EXPORT void* JVM_GetManagement(jint version) {
  using namespace wisp;
  using Get = void* (*)(jint);
  auto get = reinterpret_cast<Get>(jvm_symbol("JVM_GetManagement"));
  if (get == nullptr) return nullptr;
  void* table = get(version);
  if (table != nullptr && interposing()) management_loaded(__builtin_return_address(0));
  return table;
}
