#include "slave/executor/task_terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::executor {
namespace {

constexpr int kReadsPerTurn = 16;
constexpr int kReadsAtEnd = 256;
// Messages go through the master, so they have a part of a large output only.
constexpr Duration kTellEvery = milliseconds(50);

void set_size(int terminal, proto::TerminalSize size) {
  const winsize set{.ws_row = size.rows, .ws_col = size.columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(terminal, TIOCSWINSZ, &set);
}

}  // namespace

TaskTerminal::TaskTerminal(Loop& loop, const TaskId& task, int to,
                           std::function<void(std::string)> tell)
    : loop_(loop), task_(task), to_(to), tell_(std::move(tell)) {}

Result<std::unique_ptr<TaskTerminal>> TaskTerminal::make(Loop& loop, const TaskId& task,
                                                         proto::TerminalSize size, int to,
                                                         std::function<void(std::string)> tell) {
  const auto failed = [] {
    return Error::unavailable(text("cannot make a terminal: ", std::strerror(errno)));
  };
  std::unique_ptr<TaskTerminal> made(new TaskTerminal(loop, task, to, std::move(tell)));
  made->ours_ = Fd(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (made->ours_.get() < 0 || grantpt(made->ours_.get()) != 0 ||
      unlockpt(made->ours_.get()) != 0) {
    return failed();
  }
  made->theirs_ = Fd(ioctl(made->ours_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  // A descriptor has one watcher, so keys have their own descriptor.
  Fd keys(fcntl(made->ours_.get(), F_DUPFD_CLOEXEC, 0));
  if (made->theirs_.get() < 0 || keys.get() < 0) return failed();
  fcntl(made->ours_.get(), F_SETFL, O_NONBLOCK);
  set_size(made->ours_.get(), size);
  struct stat is = {};
  if (fstat(to, &is) == 0 && S_ISREG(is.st_mode)) {
    made->written_ = static_cast<uint64_t>(is.st_size);
    made->shown_ = made->written_;
  }
  made->keys_ = StdinPipe::into_terminal(
      loop, task, std::move(keys),
      [raw = made.get()](const proto::StdinRoom& room) { raw->tell_(proto::encode(room)); });
  made->watcher_ = std::make_unique<FdWatcher>(
      loop, made->ours_.get(), FdWatcher::Events{.readable = true},
      [raw = made.get()](FdWatcher::Events) {
        for (int i = 0; i < kReadsPerTurn && raw->has_room() && raw->copy_some(); ++i) {
        }
        raw->watcher_->want({.readable = raw->has_room()});
      });
  return made;
}

void TaskTerminal::take(const proto::TerminalView& view) {
  keys_->hear();
  set_size(ours_.get(), view.size);
  shown_ = std::max(shown_, std::min(view.shown, written_));
  watcher_->want({.readable = has_room()});
  tell_(proto::encode(view));
}

void TaskTerminal::finish() {
  for (int i = 0; i < kReadsAtEnd && copy_some(); ++i) {
  }
}

// False: nothing is there now.
bool TaskTerminal::copy_some() {
  char bytes[proto::kTerminalPartBytesMax];
  ssize_t got = -1;
  do {
    got = read(ours_.get(), bytes, sizeof bytes);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  std::string_view rest(bytes, static_cast<size_t>(got));
  const uint64_t offset = written_;
  while (!rest.empty()) {
    const ssize_t wrote = write(to_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;  // A full disk: these bytes are lost, as those of any command.
    rest.remove_prefix(static_cast<size_t>(wrote));
    written_ += static_cast<uint64_t>(wrote);
  }
  tell_part(offset, {bytes, static_cast<size_t>(written_ - offset)});
  return true;
}

void TaskTerminal::tell_part(uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  if (loop_.now() >= told_since_ + kTellEvery) {
    told_since_ = loop_.now();
    told_ = 0;
  }
  if (told_ + bytes.size() > proto::kTerminalPartBytesMax) return;
  told_ += bytes.size();
  tell_(proto::encode(
      proto::TerminalPart{.task = task_, .offset = offset, .bytes = std::string(bytes)}));
}

}  // namespace proffer::executor
