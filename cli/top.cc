// proffer top: the cluster, live in the terminal. It uses the same calls as the other commands,
// every two seconds, and reads only visible rows. Read run_top first.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/top_screen.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kEvery{2};
// Call timeout; keys are not read during a call to a master that is away.
constexpr Duration kAnswersIn = seconds(2);
constexpr size_t kLeastColumns = 20;
constexpr size_t kLeastLines = 8;

Result<void> read_view(const Masters& master, TopView view, TopPicture& picture) {
  const auto keep = [](auto rows, auto& out) -> Result<void> {
    if (!rows) return std::move(rows).error();
    out = *std::move(rows);
    return {};
  };
  switch (view) {
    case TopView::kFrameworks:
      return keep(call_list<proto::FrameworkRow>(master, "frameworks", {}, proto::parse_frameworks),
                  picture.frameworks);
    case TopView::kRoles:
      return keep(call_list<proto::RoleRow>(master, "roles", {}, proto::parse_roles),
                  picture.roles);
    case TopView::kAgents:
      return keep(call_list<proto::AgentRow>(master, "agents", {}, proto::parse_agents),
                  picture.agents);
    case TopView::kTasks:
      return keep(call_list<proto::TaskRow>(master, "tasks", {}, proto::parse_tasks),
                  picture.tasks);
  }
  return {};
}

Result<void> read_status(const Masters& master, TopPicture& picture) {
  Result<CallResult> answer = call(master, "status", "", kAnswersIn);
  if (!answer) return std::move(answer).error();
  Result<proto::MasterStatus> status = proto::parse_status(answer->json);
  if (!status) return std::move(status).error().in("the master's answer");
  picture.master = std::move(answer->master);
  picture.status = *std::move(status);
  return {};
}

// After an error, shows the error and keeps the previous picture.
void refresh(const Masters& master, TopView view, TopPicture& picture) {
  Result<void> read = read_status(master, picture);
  if (read) read = read_view(master, view, picture);
  picture.trouble = read ? std::string() : read.error().message();
}

// Unbuffered keys without echo and an alternate screen, for the lifetime of this object.
class WholeScreen {
 public:
  WholeScreen() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    print_screen({}, {.before = "\x1b[?1049h\x1b[?25l"});
  }
  ~WholeScreen() {
    print_screen({}, {.before = "\x1b[?25h\x1b[?1049l"});
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  WholeScreen(const WholeScreen&) = delete;
  WholeScreen& operator=(const WholeScreen&) = delete;

  size_t columns() const { return std::max<size_t>(kLeastColumns, size().ws_col); }
  size_t lines() const { return std::max<size_t>(kLeastLines, size().ws_row); }

  // False if the terminal is gone.
  bool show(const std::vector<std::string>& lines) const {
    return print_screen(
        lines, {.before = "\x1b[H", .behind_each = "\x1b[K", .between = "\r\n", .after = "\x1b[J"});
  }

 private:
  static winsize size() {
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
      size.ws_col = 80;
      size.ws_row = 24;
    }
    return size;
  }
  termios before_{};
};

volatile std::sig_atomic_t ended_by = 0;  // the signal that ended the program

// Blocks ending signals except while it waits for keys, so that the terminal is restored before the
// process ends.
class EndSignals {
 public:
  EndSignals() {
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : kEnds) sigaddset(&ends, signal);
    sigprocmask(SIG_BLOCK, &ends, &before_);
    struct sigaction action {};
    action.sa_handler = [](int signal) { ended_by = signal; };
    for (const int signal : kEnds) sigaction(signal, &action, nullptr);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  // The signal mask while it waits for keys.
  const sigset_t& unblocked() const { return before_; }

 private:
  static constexpr std::array<int, 4> kEnds = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
  sigset_t before_{};
};

// Appends keys to `typed`; returns after a key or at `until`. False: the terminal is gone, or a
// signal ends the program.
bool wait_for_keys(Clock::time_point until, const EndSignals& ends, std::string& typed) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd entry{STDIN_FILENO, POLLIN, 0};
  const int64_t wait = std::clamp<int64_t>(left, 0, 60'000);
  const timespec timeout{.tv_sec = wait / 1'000, .tv_nsec = wait % 1'000 * 1'000'000};
  const int ready = ppoll(&entry, 1, &timeout, &ends.unblocked());
  if (ended_by != 0) return false;
  if (ready <= 0) return ready == 0 || errno == EINTR;
  char bytes[64];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR;
  typed.append(bytes, static_cast<size_t>(count));
  return count > 0;
}

int run_live(const Masters& master) {
  TopPicture picture;
  TopPlace place;
  std::string typed;
  const EndSignals ends;
  const WholeScreen screen;
  Clock::time_point next = Clock::now();
  while (true) {
    if (Clock::now() >= next) {
      refresh(master, place.view, picture);
      next = Clock::now() + kEvery;
    }
    if (!screen.show(top_screen(picture, place, screen.columns(), screen.lines()))) return 0;
    if (!wait_for_keys(next, ends, typed)) return ended_by == 0 ? 0 : 128 + ended_by;
    while (const std::optional<TopKey> key = take_key(typed)) {
      if (*key == TopKey::kQuit) return 0;
      const TopView before = place.view;
      const size_t rows = top_table(picture, place.view).lines().size() - 1;
      place = moved(place, *key, rows, screen.lines());
      if (place.view != before) next = Clock::now();
    }
  }
}

}  // namespace

int run_top(const Words& words) {
  std::string master_flag;
  Arguments arguments(
      "proffer top",
      "show the cluster live. Left and right choose frameworks, roles, agents or tasks; up and "
      "down scroll; q quits. If the output is not a terminal, print once.");
  arguments.master(&master_flag);
  arguments.examples({"proffer top"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), false);
  if (isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) return run_live(*master);
  TopPicture picture;
  if (Result<void> read = read_status(*master, picture); !read) {
    return print_error(read.error(), false);
  }
  for (size_t i = 0; i < kTopViews; ++i) {
    if (Result<void> read = read_view(*master, static_cast<TopView>(i), picture); !read) {
      return print_error(read.error(), false);
    }
  }
  for (const std::string& line : top_text(picture)) print_line(line);
  return 0;
}

}  // namespace proffer::cli
