// default_carriers: the number of processors HotSpot would take (os::active_processor_count): the
// option, else min(affinity mask, cgroup CPU quota / period rounded up). cgroup v1 and v2; where
// several levels of a hierarchy carry a quota the tightest counts. cpu.shares do not count, as in
// HotSpot since 17.0.5 / 11.0.17 / 8u372.
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "jvm/options.h"

namespace wisp {
namespace {

constexpr size_t kPath = 4096;

bool read_text(const char* root, const char* path, char* text, size_t room) {
  char full[4 * kPath];
  snprintf(full, sizeof full, "%s%s", root, path);
  size_t size = 0;
  char* bytes = read_whole_file(full, &size);
  if (bytes == nullptr) return false;
  snprintf(text, room, "%s", bytes);
  free(bytes);
  return true;
}

int rounded_up(long long quota, long long period) {
  if (quota <= 0 || period <= 0) return 0;
  long long count = (quota + period - 1) / period;
  return count > 1'000'000 ? 0 : static_cast<int>(count);
}

// One level of the hierarchy; 0: no limit there.
int level_limit(const char* root, const char* directory, bool v2) {
  char path[2 * kPath + 32];
  char text[128];
  long long quota = 0;
  long long period = 0;
  if (v2) {
    snprintf(path, sizeof path, "%s/cpu.max", directory);
    // "max 100000" does not scan as a number: no limit.
    if (!read_text(root, path, text, sizeof text)) return 0;
    return sscanf(text, "%lld %lld", &quota, &period) == 2 ? rounded_up(quota, period) : 0;
  }
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
  if (!read_text(root, path, text, sizeof text)) return 0;
  quota = atoll(text);
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
  if (!read_text(root, path, text, sizeof text)) return 0;
  return rounded_up(quota, atoll(text));
}

// Whether the comma-separated list holds the word.
bool listed(const char* list, const char* word) {
  size_t length = strlen(word);
  for (const char* at = list; *at != '\0';) {
    size_t part = strcspn(at, ",");
    if (part == length && memcmp(at, word, length) == 0) return true;
    at += part + (at[part] == ',');
  }
  return false;
}

// The path of this process below its cpu controller ("0::/a" for v2, "4:cpu,cpuacct:/a" for v1).
bool own_group(char* lines, bool v2, char* path) {
  char* save = nullptr;
  for (char* line = strtok_r(lines, "\n", &save); line; line = strtok_r(nullptr, "\n", &save)) {
    char* controllers = strchr(line, ':');
    char* group = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *controllers++ = '\0';
    *group++ = '\0';
    if (v2 ? strcmp(line, "0") == 0 && *controllers == '\0' : listed(controllers, "cpu")) {
      snprintf(path, kPath, "%s", group);
      return true;
    }
  }
  return false;
}

// Where a mount shows only part of the hierarchy (a container), the group's path is relative to it.
int hierarchy_limit(const char* root, const char* mount_root, const char* mount, const char* group,
                    bool v2) {
  size_t shared = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
  const char* below = strncmp(group, mount_root, shared) == 0 ? group + shared : "";
  char directory[2 * kPath];
  snprintf(directory, sizeof directory, "%s%s", mount, below);
  size_t top = strlen(mount);
  int least = 0;
  while (true) {
    for (size_t n = strlen(directory); n > top && directory[n - 1] == '/'; n--) {
      directory[n - 1] = '\0';
    }
    directory[kPath - 1] = '\0';
    int limit = level_limit(root, directory, v2);
    if (limit != 0 && (least == 0 || limit < least)) least = limit;
    char* slash = strrchr(directory + top, '/');
    if (slash == nullptr) return least;
    *slash = '\0';
  }
}

}  // namespace

int affinity_processors() {
  // The kernel refuses a mask smaller than its own, and machines have more than 1024 processors.
  for (size_t processors = 1024; processors <= 1024 * 1024; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (set == nullptr) break;
    size_t size = CPU_ALLOC_SIZE(processors);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? static_cast<int>(online) : 1;
}

int cgroup_processors(const char* root) {
  char path[kPath];
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  size_t size = 0;
  char* mounts = read_whole_file(path, &size);
  if (mounts == nullptr) return 0;
  int least = 0;
  char* save = nullptr;
  for (char* line = strtok_r(mounts, "\n", &save); line; line = strtok_r(nullptr, "\n", &save)) {
    // 36 35 98:0 /root /mount options… - type source superoptions
    char* tail = strstr(line, " - cgroup");
    if (tail == nullptr) continue;
    char mount_root[1024];
    char mount[1024];
    char type[16];
    char super[512];
    if (sscanf(line, "%*s %*s %*s %1023s %1023s", mount_root, mount) != 2 ||
        sscanf(tail + 3, "%15s %*s %511s", type, super) != 2) {
      continue;
    }
    bool v2 = strcmp(type, "cgroup2") == 0;
    if (!v2 && (strcmp(type, "cgroup") != 0 || !listed(super, "cpu"))) continue;
    char* groups = nullptr;
    char group[kPath];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    groups = read_whole_file(path, &size);
    if (groups != nullptr && own_group(groups, v2, group)) {
      int limit = hierarchy_limit(root, mount_root, mount, group, v2);
      if (limit != 0 && (least == 0 || limit < least)) least = limit;
    }
    free(groups);
  }
  free(mounts);
  return least;
}

int default_carriers(const Options& options) {
  int count = options.active_processor_count;
  if (count == 0) {
    count = affinity_processors();
    int quota = options.container_support ? cgroup_processors("") : 0;
    if (quota != 0 && quota < count) count = quota;
  }
  return count > kMaxCarriers ? kMaxCarriers : count;
}

int carriers_of(const Options& options) {
  return options.carriers != 0 ? options.carriers : default_carriers(options);
}

}  // namespace wisp
