// Implementation of options.h: one table of the settings, three ways to spell them.
#include "jvm/options.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace wisp {
namespace {

constexpr char kPropertyPrefix[] = "-Dcom.alibaba.wisp.";
constexpr size_t kPropertyPrefixLength = sizeof kPropertyPrefix - 1;
constexpr char kOn[] = "-XX:+UseWisp2";
constexpr char kOff[] = "-XX:-UseWisp2";

bool starts_with(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// What a number may be. zero: what 0 means where it is taken too.
struct Range {
  const char* what;
  unsigned long least;
  unsigned long most;
  const char* zero = nullptr;
};

template <typename Number>
void set_number(Number* option, const Range& range, const char* value, const char* name,
                Report* report) {
  unsigned long number = 0;
  if (parse_number(value, false, &number) && number <= range.most &&
      (number >= range.least || (number == 0 && range.zero != nullptr)))
    *option = static_cast<Number>(number);
  else
    report_error(report, "%s=%s: takes %s from %lu to %lu%s%s", name, Shown(value).text, range.what,
                 range.least, range.most, range.zero != nullptr ? ", or 0 for " : "",
                 range.zero != nullptr ? range.zero : "");
}

void set_carriers(Options* options, const char* value, const char* name, Report* report) {
  set_number(&options->carriers, {"a number", 1, kMaxCarriers}, value, name, report);
}

void set_sysmon_tick(Options* options, const char* value, const char* name, Report* report) {
  set_number(&options->sysmon_tick_us, {"microseconds", kMinSysmonTickUs, kMaxSysmonTickUs}, value,
             name, report);
}

void set_stall(Options* options, const char* value, const char* name, Report* report) {
  set_number(&options->stall_ms, {"milliseconds", kMinStallMs, kMaxStallMs}, value, name, report);
}

void set_trim(Options* options, const char* value, const char* name, Report* report) {
  set_number(&options->trim_ms, {"milliseconds", kMinTrimMs, kMaxTrimMs, "never"}, value, name,
             report);
}

// takes: the range and examples, in words.
bool set_size(size_t* option, size_t least, size_t most, const char* takes, const char* value,
              const char* name, Report* report) {
  unsigned long size = 0;
  if (!parse_number(value, true, &size) || size < least || size > most) {
    report_error(report, "%s=%s: takes a size from %s", name, Shown(value).text, takes);
    return false;
  }
  *option = size;
  return true;
}

void set_stack_size(Options* options, const char* value, const char* name, Report* report) {
  constexpr size_t kPage = 4096;
  if (set_size(&options->stack_size, kMinStackSize, kMaxStackSize,
               "256k to 1g, such as 512k, 1m or 1048576", value, name, report))
    options->stack_size = (options->stack_size + kPage - 1) & ~(kPage - 1);
}

void set_trace(Options* options, const char* value, const char* name, Report* report) {
  set_size(&options->trace_size, kMinTraceSize, kMaxTraceSize, "64k to 256m, such as 4m", value,
           name, report);
}

// One of two words: whether it is `yes`.
void set_choice(bool* option, const char* yes, const char* no, const char* value, const char* name,
                Report* report) {
  bool chosen = strcmp(value, yes) == 0;
  if (chosen || strcmp(value, no) == 0)
    *option = chosen;
  else
    report_error(report, "%s=%s: takes %s or %s", name, Shown(value).text, yes, no);
}

void set_disk(Options* options, const char* value, const char* name, Report* report) {
  set_choice(&options->disk_ring, "ring", "thread", value, name, report);
}

void set_epoll(Options* options, const char* value, const char* name, Report* report) {
  set_choice(&options->epoll_runtime, "runtime", "kernel", value, name, report);
}

void set_black(Options* options, const char* value, const char* name, Report* report) {
  rules_parse(&options->black, value, name, report);
}

void set_white(Options* options, const char* value, const char* name, Report* report) {
  rules_parse(&options->white, value, name, report);
}

// key is the short form (WISP_OPTIONS, agent); property what follows com.alibaba.wisp.
struct Setting {
  const char* key;
  const char* property;
  void (*set)(Options*, const char* value, const char* name, Report*);
};
const Setting kSettings[] = {
    {"carriers", "carrierEngines", set_carriers},
    {"sysmonTickUs", "sysmonTickUs", set_sysmon_tick},
    {"stacksize", "stacksize", set_stack_size},
    {"black", "threadAsWisp.black", set_black},
    {"white", "threadAsWisp.white", set_white},
    {"trace", "trace", set_trace},
    {"stallMs", "stallMs", set_stall},
    {"trimMs", "trimMs", set_trim},
    {"disk", "disk", set_disk},
    {"epoll", "epoll", set_epoll},
};

// HotSpot reads this one itself and refuses what it cannot read; here a bad value just says
// nothing.
void set_active_processor_count(Options* options, const char* value) {
  unsigned long number = 0;
  if (parse_number(value, true, &number) && number <= INT_MAX) {
    options->active_processor_count = static_cast<int>(number);
  }
}

// -agentpath:/…/libwisp.so=list and -agentlib:wisp=list, when the library is preloaded already.
const char* own_agent_options(const char* option) {
  static const char kPath[] = "-agentpath:";
  static const char kLib[] = "-agentlib:wisp=";
  if (starts_with(option, kLib)) return option + sizeof kLib - 1;
  if (!starts_with(option, kPath)) return nullptr;
  const char* path = option + sizeof kPath - 1;
  const char* end = strchr(path, '=');
  if (end == nullptr) return nullptr;
  const char* slash = static_cast<const char*>(memrchr(path, '/', static_cast<size_t>(end - path)));
  const char* base = slash == nullptr ? path : slash + 1;
  return starts_with(base, "libwisp.so=") ? end + 1 : nullptr;
}

// One option as the JVM sees it ("-XX:+UseWisp2", "-Dcom.alibaba.wisp.…=…"), if Wisp reads it.
void apply_jvm(Options* options, const char* option, const char* origin, Report* report) {
  if (is_use_wisp2(option)) {
    options->enabled = strcmp(option, kOn) == 0;
    options->use_wisp2_seen = true;
    return;
  }
  if (starts_with(option, "-XX:ActiveProcessorCount=")) {
    set_active_processor_count(options, strchr(option, '=') + 1);
    return;
  }
  if (strcmp(option, "-XX:-UseContainerSupport") == 0 ||
      strcmp(option, "-XX:+UseContainerSupport") == 0) {
    options->container_support = option[4] == '+';
    return;
  }
  if (const char* list = own_agent_options(option)) {
    options_apply_list(options, list, "-agentpath", report);
    return;
  }
  if (!starts_with(option, kPropertyPrefix)) return;
  const char* property = option + kPropertyPrefixLength;
  size_t length = strcspn(property, "=");
  for (const Setting& setting : kSettings) {
    if (strlen(setting.property) != length || memcmp(setting.property, property, length) != 0) {
      continue;
    }
    char name[160];
    // Where it stands matters only when it is not where one would look first.
    bool elsewhere = strcmp(origin, "command line") != 0;
    snprintf(name, sizeof name, "%s%s%s%s", elsewhere ? Shown(origin).text : "",
             elsewhere ? ": " : "", kPropertyPrefix, setting.property);
    setting.set(options, property[length] == '=' ? property + length + 1 : "", name, report);
    return;
  }
  // Else another of Dragonwell's properties; the program may read it itself.
}

struct Gathering {
  Options* options;
  Report* report;
  bool ignore_agent;
};

void visit(void* context, const char* option, const char* origin) {
  auto* gathering = static_cast<Gathering*>(context);
  if (gathering->ignore_agent && own_agent_options(option) != nullptr) return;
  apply_jvm(gathering->options, option, origin, gathering->report);
}

}  // namespace

bool parse_number(const char* text, bool suffix, unsigned long* value) {
  if (text[0] < '0' || text[0] > '9') return false;
  char* end = nullptr;
  errno = 0;
  unsigned long number = strtoul(text, &end, 10);
  if (errno != 0) return false;
  unsigned shift = 0;
  if (suffix && *end != '\0') {
    switch (*end++ | 0x20) {
      case 'k':
        shift = 10;
        break;
      case 'm':
        shift = 20;
        break;
      case 'g':
        shift = 30;
        break;
      default:
        return false;
    }
  }
  if (*end != '\0' || number > (ULONG_MAX >> shift)) return false;
  *value = number << shift;
  return true;
}

bool is_use_wisp2(const char* option) {
  return strcmp(option, kOn) == 0 || strcmp(option, kOff) == 0;
}

void options_apply_list(Options* options, const char* text, const char* origin, Report* report) {
  for (const char* at = text; *at != '\0';) {
    const char* end = strchrnul(at, ',');
    size_t length = static_cast<size_t>(end - at);
    char* item = strndup(at, length);
    at = *end == '\0' ? end : end + 1;
    if (item == nullptr) return;
    char* equals = strchr(item, '=');
    const Setting* found = nullptr;
    if (equals != nullptr) {
      *equals = '\0';
      for (const Setting& setting : kSettings) {
        if (strcmp(setting.key, item) == 0 || strcmp(setting.property, item) == 0) found = &setting;
      }
      if (found == nullptr) *equals = '=';
    }
    if (found != nullptr) {
      char name[96];
      snprintf(name, sizeof name, "%s: %s", origin, found->key);
      found->set(options, equals + 1, name, report);
    } else if (length != 0) {
      report_error(report,
                   "%s: '%s' is not an option; write carriers=N, "
                   "sysmonTickUs=N, stacksize=SIZE, trace=SIZE, stallMs=N, "
                   "trimMs=N, disk=HOW, epoll=HOW, black=RULES or white=RULES, separated by commas",
                   origin, Shown(item).text);
    }
    free(item);
  }
}

void options_gather(Options* options, const ArgSources& sources, Report* report) {
  auto variable = [&](const char* name) -> const char* {
    return sources.variable != nullptr ? sources.variable(sources.context, name) : nullptr;
  };
  const char* wisp = variable("WISP");
  // "always": also in programs that load a JVM later.
  options->enabled = wisp != nullptr && (strcmp(wisp, "1") == 0 || strcmp(wisp, "always") == 0);
  // The agent (agent_reexec.cpp) hands its options on in WISP_OPTIONS; read once, reported once.
  bool reexecuted = variable("WISP_REEXEC") != nullptr;
  if (const char* list = variable("WISP_OPTIONS")) {
    options_apply_list(options, list, reexecuted ? "-agentpath" : "WISP_OPTIONS", report);
  }
  Gathering gathering{options, report, reexecuted};
  visit_jvm_options(sources, visit, &gathering);
  if (wisp != nullptr && strcmp(wisp, "0") == 0) {
    options->enabled = false;
  } else if (wisp != nullptr && wisp[0] != '\0' && strcmp(wisp, "1") != 0 &&
             strcmp(wisp, "always") != 0) {
    report_error(report, "WISP=%s: takes 1 (on), 0 (off) or always", Shown(wisp).text);
  }
}

void options_free(Options* options) {
  rules_free(&options->black);
  rules_free(&options->white);
}

}  // namespace wisp
