// In a home made by `wisp jdk` the stock launcher is .wisp/bin/java; a thread that asks for the
// file of its process, or of another one, is told bin/java, as ProcessHandle is asked for to start
// a JVM like oneself. Other links are told as they are.
#include <sys/stat.h>

#include "preload.h"

static char g_told[4096];

static const char* file_of(const char* link, size_t room) {
  memset(g_told, 0, sizeof g_told);
  CHECK(readlink(link, g_told, room) > 0);
  return g_told;
}

static int ends_with(const char* text, const char* end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static void* asks(void* link) {
  char mine[64];
  snprintf(mine, sizeof mine, "/proc/%d/exe", getpid());
  const char* expected = getenv("EXPECT_TASKS") != NULL ? "/bin/java" : "/.wisp/bin/java";
  size_t length = strlen(file_of(mine, sizeof g_told - 1));
  CHECK(ends_with(g_told, expected));
  CHECK(length == strlen(g_told) && strstr(g_told, "/program_names.") != NULL);
  // Cut off, it is left alone: nobody knows what would come.
  size_t stock = strstr(g_told, "/.wisp/") != NULL ? length : length + strlen("/.wisp");
  CHECK(ends_with(file_of(mine, stock), "/.wisp/bin/java"));
  CHECK(ends_with(file_of("/proc/self/exe", sizeof g_told - 1), "/.wisp/bin/java"));
  CHECK(ends_with(file_of(link, sizeof g_told - 1), "/.wisp/bin/java"));
  CHECK(readlink("/proc/self", g_told, 0) == -1 && errno == EINVAL);
  CHECK(readlink("/nowhere/exe", g_told, 10) == -1 && errno == ENOENT);
  return NULL;
}

int main(int argc, char** argv) {
  char self[4096] = "", folder[] = "/tmp/program_names.XXXXXX", path[4200], link[4200];
  if (argc == 1) {
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0 && mkdir(".wisp", 0777) == 0 &&
          mkdir(".wisp/bin", 0777) == 0);
    snprintf(path, sizeof path, "cp '%s' .wisp/bin/java", self);
    CHECK(system(path) == 0);
    snprintf(path, sizeof path, "%s/.wisp/bin/java", folder);
    pid_t pid = fork();
    if (pid == 0) {
      ask_for_wisp();
      execl(path, path, folder, NULL);
      _exit(99);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    snprintf(path, sizeof path, "rm -r %s", folder);
    CHECK(system(path) == 0);
    CHECK(status == 0);
    return 0;
  }
  check_tasks();
  snprintf(path, sizeof path, "%s/.wisp/bin/java", argv[1]);
  snprintf(link, sizeof link, "%s/exe", argv[1]);
  CHECK(symlink(path, link) == 0);
  join(java(asks, link));
  return 0;
}
