// Random I/O by threads, one operation at a time: what each of them returns, and who is woken by
// what, has to be the same on plain threads and under Wisp. See steps.h and ./run.
//   io_steps SEED [--steps N] [--settle MS] [--edges]
// --edges: with edge-triggered entries of epoll instances, of which some are known to be reported
// twice after they have been added. EXPECT_TASKS in the environment: the threads have to be tasks.
// Exit codes: 0, 1 descriptors left or lost, 2 usage, 3 something hangs, 4 not the threads asked
// for, 5 says nothing: it was stopped meanwhile.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "io_ops.h"
#include "quiet.h"

namespace fuzz {

namespace {

struct Arguments {
  uint64_t seed = 0;
  int steps = 60, settle = 15;
  bool edges = false;
} g_arguments;
int g_result = 0;

int open_descriptors() {
  int n = 0;
  DIR* d = opendir("/proc/self/fd");
  while (d != nullptr && readdir(d) != nullptr) ++n;
  if (d != nullptr) closedir(d);
  return n;
}

std::optional<Op> choose(Model& m) {
  static const std::vector<std::pair<int, const std::vector<Weighted>*>> kGroups = {
      {12, &kMaking},  {20, &kTransfers}, {10, &kLong},    {16, &kMessages}, {18, &kWatches},
      {18, &kChanges}, {24, &kOthers},    {8, &kChildren}, {12, &kRare},     {8, &kSettings}};
  for (int tries = 0; tries < 400; ++tries) {
    uint32_t n = m.random.below(146);
    const std::vector<Weighted>* group = nullptr;
    for (const auto& [weight, g] : kGroups) {
      group = g;
      if (n < static_cast<uint32_t>(weight)) break;
      n -= static_cast<uint32_t>(weight);
    }
    uint32_t sum = 0;
    for (const Weighted& w : *group) sum += static_cast<uint32_t>(w.weight);
    n = m.random.below(sum);
    for (const Weighted& w : *group) {
      if (n < static_cast<uint32_t>(w.weight)) {
        if (std::optional<Op> op = w.choice(m)) {
          if (op->may_wait && m.steps.idle() == nullptr) break;
          return op;
        }
        break;
      }
      n -= static_cast<uint32_t>(w.weight);
    }
  }
  return std::nullopt;
}

void step(Model& m, Op op) {
  std::vector<Worker*> idle;
  for (Worker* w : m.steps.workers())
    if (w->state.load() == State::Idle && (op.squad == 0 || !w->odd)) idle.push_back(w);
  Worker* w = idle.empty() ? nullptr : idle[m.random.below(static_cast<uint32_t>(idle.size()))];
  // Who may run it without waiting: mostly the driver where somebody waits, else either.
  if (!op.may_wait && (w == nullptr || m.random.one_in(2))) w = nullptr;
  m.steps.step(w, held(m, std::move(op)));
}

// Everything is closed, one by one: mostly that ends who waits.
void close_all(Model& m) {
  for (int i = 0; i < kSlots; ++i) {
    if (m.slots[i].file < 0 || !may_close(m, i)) continue;
    Op op;
    op.text = text_of("close s%d at the end", i);
    op.may_wait = false;
    op.run = [fd = m.slots[i].fd] { return answer(close(fd)); };
    op.after = [&m, i] { m.close_slot(i); };
    m.steps.step(nullptr, held(m, std::move(op)));
  }
}

// What the runtime makes once and keeps: a wait of a worker for bytes.
void warm_up(Model& m) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  Op op;
  op.text = "warm up";
  op.run = [fd = ends[0]] {
    char c;
    return answer(read(fd, &c, 1));
  };
  m.steps.step(m.steps.workers()[0], std::move(op));
  if (write(ends[1], "x", 1) != 1) abort();
  while (m.steps.busy() != 0) sleep_ms(1);
  m.steps.settle_done();
  close(ends[0]), close(ends[1]);
}

void* drive(void*) {
  Model m(g_arguments.seed, g_arguments.edges);
  char folder[] = "/tmp/io_steps.XXXXXX";
  m.folder = mkdtemp(folder);
  int workers = 3 + static_cast<int>(m.random.below(4));
  if (!m.steps.begin(workers, g_arguments.settle, getenv("EXPECT_TASKS") != nullptr)) {
    fprintf(stderr, "not the threads that were asked for\n");
    _exit(4);
  }
  warm_up(m);
  make_queues(m);
  int before = open_descriptors();
  for (int i = 0; i < g_arguments.steps; ++i)
    if (std::optional<Op> op = choose(m)) step(m, std::move(*op));
  if (m.random.one_in(2)) close_all(m);
  if (!m.steps.finish()) {
    m.steps.describe_busy();
    _exit(was_stopped() ? 5 : 3);
  }
  close_all(m);
  if (m.child.pid > 0) {
    if (m.child.command >= 0) close(m.child.command);
    kill(m.child.pid, SIGKILL);
    waitpid(m.child.pid, nullptr, 0);
  }
  // What a call went on with is closed at its end at the latest.
  for (int i = 0; i < 100 && open_descriptors() != before; ++i) sleep_ms(10);
  int left = open_descriptors() - before;
  if (left != 0) printf("descriptors left: %d\n", left);
  for (int fd = 0; left != 0 && fd < 1024; ++fd) {
    char name[100] = {};
    if (readlink(text_of("/proc/self/fd/%d", fd).c_str(), name, sizeof name - 1) > 0)
      printf("  %d %s\n", fd, name);
  }
  std::filesystem::remove_all(m.folder);
  unlink((m.folder + ".lock").c_str());
  remove_queues(m);
  if (!m.fifo_path.empty()) unlink(m.fifo_path.c_str());
  g_result = left != 0;
  printf("over\n");
  return nullptr;
}

}  // namespace

}  // namespace fuzz

int main(int count, char** words) {
  using fuzz::g_arguments;
  if (count < 2) {
    fprintf(stderr, "usage: io_steps SEED [--steps N] [--settle MS] [--edges]\n");
    return 2;
  }
  g_arguments.seed = strtoull(words[1], nullptr, 10);
  for (int i = 2; i < count; ++i) {
    if (strcmp(words[i], "--edges") == 0)
      g_arguments.edges = true;
    else if (i + 1 < count && strcmp(words[i], "--steps") == 0)
      g_arguments.steps = atoi(words[++i]);
    else if (i + 1 < count && strcmp(words[i], "--settle") == 0)
      g_arguments.settle = atoi(words[++i]);
  }
  fuzz::Random random(g_arguments.seed * 3 + 7);
  fuzz::install_handlers(random.one_in(3));
  if (random.one_in(2)) {
    fuzz::drive(nullptr);
  } else {
    pthread_t driver;
    if (!fuzz::start_thread(&driver, fuzz::drive, nullptr)) return 4;
    pthread_join(driver, nullptr);
  }
  return fuzz::was_stopped() ? 5 : fuzz::g_result;
}
