// What the user asked of Wisp, gathered once at start from the same places and in the same order of
// precedence as HotSpot's own options (java_args.h). The names are those that Wisp2 documents;
// docs/options.md is the table for users and a test keeps it in step with the one in options.cpp.
// Weakest first: WISP_OPTIONS, JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, command line (with @argfiles),
// _JAVA_OPTIONS. WISP=1 alone switches Wisp on (plain environment use), WISP=0 always off.
#pragma once

#include "jvm/java_args.h"
#include "jvm/report.h"
#include "jvm/rules.h"

namespace wisp {

constexpr int kMaxCarriers = 1024;
constexpr long kDefaultSysmonTickUs = 1'000;
constexpr long kMinSysmonTickUs = 100;
constexpr long kMaxSysmonTickUs = 10'000'000;
constexpr size_t kMinStackSize = 256u << 10;
constexpr size_t kMaxStackSize = 1u << 30;
constexpr size_t kMinTraceSize = 64u << 10;
constexpr size_t kMaxTraceSize = 256u << 20;
constexpr long kMinStallMs = 2;
constexpr long kMaxStallMs = 3'600'000;
constexpr long kDefaultTrimMs = 1'000;
constexpr long kMinTrimMs = 100;
constexpr long kMaxTrimMs = 3'600'000;

struct Options {
  bool enabled = false;
  bool use_wisp2_seen = false;  // either form of -XX:±UseWisp2 appeared
  int carriers = 0;             // 0: default_carriers()
  long sysmon_tick_us = kDefaultSysmonTickUs;
  size_t stack_size = 0;           // 0: what the JVM asks for
  size_t trace_size = 0;           // 0: no trace before a reader asks for one
  long stall_ms = 0;               // 0: the stall finder is off
  long trim_ms = kDefaultTrimMs;   // 0: parked tasks keep what their stacks have touched
  bool disk_ring = false;          // cold reads by io_uring; false: each on a kernel thread
  bool epoll_runtime = true;       // epoll instances live in io/epoll_set; false: in the kernel
  int active_processor_count = 0;  // 0: not given
  bool container_support = true;   // -XX:-UseContainerSupport: the JVM ignores cgroup quotas
  RuleSet black;
  RuleSet white;
};

void options_gather(Options* options, const ArgSources& sources, Report* report);

// For the library: this process's command line and environment. Errors go to stderr, once each, and
// the value named keeps its default.
void options_from_process(Options* options);
// Whether a file of options that it names is a pipe or the like: what the JVM has read of it is
// gone.
bool process_reads_stream(Shown* path);
void options_free(Options* options);

// The form of WISP_OPTIONS and of -agentpath:…/libwisp.so=<text>: key=value,key=value. origin is
// named in messages.
void options_apply_list(Options* options, const char* text, const char* origin, Report* report);

// A whole decimal number, optionally with one of the size suffixes k, m and g. No sign, no blanks,
// no overflow.
bool parse_number(const char* text, bool suffix, unsigned long* value);

// -XX:+UseWisp2 or -XX:-UseWisp2, the options that no stock JVM takes.
bool is_use_wisp2(const char* option);

// What the JVM takes as its number of processors: -XX:ActiveProcessorCount, else the smaller of the
// affinity mask and the cgroup quota.
int default_carriers(const Options& options);
int carriers_of(const Options& options);

// Below here for default_carriers and its test. root is put before /proc and /sys paths.
int affinity_processors();
int cgroup_processors(const char* root);  // quota / period rounded up; 0: no limit

}  // namespace wisp
