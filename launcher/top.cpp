// `wisp top`: the terminal, its keys, and a snapshot now and then.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "clock.h"
#include "observe_commands.h"
#include "output.h"
#include "run_java.h"
#include "top_screen.h"

namespace wisp {
namespace {

constexpr size_t kLargest = 1000;  // columns and lines

volatile sig_atomic_t g_resized = 0, g_ended = 0, g_stopped = 0, g_continued = 0;

// The alternate screen and raw keys, given back whatever happens, and while the command is stopped.
class Terminal {
 public:
  Terminal() {
    tcgetattr(STDIN_FILENO, &before_);
    on(SIGWINCH, [](int) { g_resized = 1; });
    for (int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) on(number, [](int) { g_ended = 1; });
    on(SIGTSTP, [](int) { g_stopped = 1; });
    on(SIGCONT, [](int) { g_continued = 1; });
    enter();
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() { leave(); }

  // Ctrl-Z, until the shell lets us go on.
  void stop() const {
    struct sigaction ours;
    leave();
    sigaction(SIGTSTP, nullptr, &ours);
    on(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, nullptr);
    enter();
    g_continued = 0;
  }
  // In the background this stops us once more, until we are in front again.
  void take_keys() const {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    set(raw);
  }
  static void size(size_t* width, size_t* height) {
    winsize w = {};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
    // Only a terminal that does not know is taken for one of 80 columns: in a smaller one the lines
    // would be wrapped, and each picture would push the one before out of sight.
    *width = w.ws_col > 0 ? std::min<size_t>(w.ws_col, kLargest) : 80;
    *height = w.ws_row > 0 ? std::min<size_t>(w.ws_row, kLargest) : 24;
  }

 private:
  static void on(int number, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigaction(number, &action, nullptr);
  }
  static void set(const termios& mode) {
    while (tcsetattr(STDIN_FILENO, TCSANOW, &mode) != 0 && errno == EINTR) {
    }
  }
  void enter() const {
    take_keys();
    write_all(STDOUT_FILENO, "\033[?1049h\033[?25l");
  }
  void leave() const {
    write_all(STDOUT_FILENO, "\033[?25h\033[?1049l");
    set(before_);
  }

  termios before_ = {};
};

void draw(const std::vector<TopLine>& lines, size_t height) {
  std::string screen = "\033[H";
  for (size_t i = 0; i < height; i++) {
    if (i < lines.size()) {
      using Style = TopLine::Style;
      const char* style = lines[i].style == Style::kBold      ? "\033[1m"
                          : lines[i].style == Style::kReverse ? "\033[7m"
                                                              : "";
      screen += style + lines[i].text + "\033[0m";
    }
    screen += i + 1 < height ? "\033[K\r\n" : "\033[K";
  }
  write_all(STDOUT_FILENO, screen);
}

void type_into_filter(TopView* view, char c) {
  if (c == '\n' || c == '\r') {
    view->typing = false;
  } else if (c == 27) {
    view->typing = false;
    view->filter.clear();
  } else if (c == 127 || c == 8) {
    if (!view->filter.empty()) view->filter.pop_back();
  } else if (c >= 0x20 && view->filter.size() < 60) {
    view->filter += c;
  }
}

// False: quit. An arrow comes as ESC [ A.
bool key(TopView* view, const char* keys, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char c = keys[i];
    if (c == 27 && i + 2 < count && keys[i + 1] == '[') {
      c = keys[i + 2] == 'A' ? 'k' : keys[i + 2] == 'B' ? 'j' : '\0';
      i += 2;
      if (view->typing) continue;
    }
    if (view->typing) {
      type_into_filter(view, c);
      continue;
    }
    switch (c) {
      case 'q':
        return false;
      case 'c':
        view->order = TopOrder::kCpu;
        break;
      case 'w':
        view->order = TopOrder::kWait;
        break;
      case 'r':
        view->order = TopOrder::kRuns;
        break;
      case 's':
        view->order = TopOrder::kSteals;
        break;
      case 'n':
        view->order = TopOrder::kName;
        break;
      case 'v':
        view->reversed = !view->reversed;
        break;
      case 'p':
        view->paused = !view->paused;
        break;
      case 'h':
      case '?':
        view->help = !view->help;
        break;
      case '/':
        view->typing = true;
        view->filter.clear();
        view->scroll = 0;
        break;
      case 27:
        view->filter.clear();
        break;
      case 'j':
        view->scroll++;
        break;
      case 'k':
        view->scroll -= view->scroll > 0 ? 1 : 0;
        break;
      case '+':
        view->interval = std::min(view->interval * 2, 60.0);
        break;
      case '-':
        view->interval = std::max(view->interval / 2, 0.1);
        break;
      default:
        break;
    }
  }
  return true;
}

// Redraws at once after a key, and when the interval is over. The error of the end, or none.
std::optional<PageError> watch(StatisticsPage* page, TopView* view) {
  Terminal terminal;
  PageError error;
  std::optional<Statistics> now = page->read(&error), earlier;
  if (!now) return error;
  double next = monotonic_seconds() + 0.3;  // the first rates soon
  while (g_ended == 0) {
    if (g_stopped != 0) {
      g_stopped = 0;
      terminal.stop();
    }
    // SIGSTOP came without a word, and the shell has taken the keys.
    if (g_continued != 0) {
      g_continued = 0;
      terminal.take_keys();
    }
    size_t width, height;
    Terminal::size(&width, &height);
    draw(top_lines(*now, earlier ? &*earlier : nullptr, view, width, height), height);
    g_resized = 0;
    double left = next - monotonic_seconds();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    int ready = poll(&input, 1, left > 0 ? static_cast<int>(left * 1000) + 1 : 0);
    if (ready > 0) {
      char keys[64];
      ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
      if (n <= 0 || !key(view, keys, static_cast<size_t>(n))) return std::nullopt;
    } else if (ready == 0) {
      next = monotonic_seconds() + view->interval;
      if (view->paused) continue;
      std::optional<Statistics> fresh = page->read(&error);
      if (!fresh) return error;
      earlier = std::move(now);
      now = std::move(fresh);
    }
  }
  return std::nullopt;
}

}  // namespace

int run_top(int pid, double interval) {
  PageError error;
  auto page = StatisticsPage::open(pid, &error);
  if (page == nullptr) return refuse(error);
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    print_error(
        fmt::format("wisp: top needs a terminal; for programs: wisp stat {} --json\n", pid));
    return kExitUsage;
  }
  TopView view;
  view.interval = interval;
  if (std::optional<PageError> end = watch(page.get(), &view)) {
    int code = refuse(*end);
    return page->process().exists() ? code : 0;
  }
  return 0;
}

}  // namespace wisp
