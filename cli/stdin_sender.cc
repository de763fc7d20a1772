#include "cli/stdin_sender.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace proffer::cli {
namespace {

constexpr Duration kSendAgainAfter = seconds(1);

// Nothing if there is nothing to read now. Empty at the end, and on an error.
std::optional<std::string> read_part(int input) {
  std::string bytes(proto::kStdinPartBytesMax, '\0');
  ssize_t got = -1;
  do {
    got = ::read(input, bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// Another process may have made standard input non-blocking.
std::string read_waiting() {
  while (true) {
    if (std::optional<std::string> bytes = read_part(STDIN_FILENO)) return *std::move(bytes);
    pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
  }
}

// Watching makes a descriptor non-blocking, also for each process that shares it, and for standard
// output if both are one terminal. So a pipe or terminal is opened once more. None: it cannot be.
Fd open_standard_input() {
  struct stat input = {};
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  if (::fstat(STDIN_FILENO, &input) != 0 || !(is_terminal || S_ISFIFO(input.st_mode))) return {};
  constexpr int kHow = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Fd opened(::open("/proc/self/fd/0", kHow));
  // A terminal may belong to another user, as after su.
  if (opened.get() < 0 && is_terminal) opened = Fd(::open("/dev/tty", kHow));
  return opened;
}

}  // namespace

bool has_standard_input() {
  struct stat input = {};
  if (::fstat(STDIN_FILENO, &input) != 0) return false;
  struct stat null = {};
  if (S_ISCHR(input.st_mode) && ::stat("/dev/null", &null) == 0 && input.st_rdev == null.st_rdev) {
    return false;
  }
  return ::isatty(STDIN_FILENO) == 0 || ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

StdinSender::StdinSender(sdk::Scheduler& scheduler, const TaskId& task, Filter filter)
    : scheduler_(scheduler),
      task_(task),
      filter_(std::move(filter)),
      input_(open_standard_input()) {}

void StdinSender::on_room(const proto::FrameworkMessage& from, const proto::StdinRoom& room) {
  if (room.task != task_ || is_done_) return;
  agent_ = from.agent;
  executor_ = from.executor;
  if (room.is_closed) return stop();
  is_asked_ |= room.taken == taken_ && unacknowledged_.empty();
  if (room.taken > taken_) {
    const uint64_t more = std::min<uint64_t>(room.taken - taken_, unacknowledged_.size());
    unacknowledged_.erase(0, more);
    taken_ += more;
  }
  if (!std::exchange(has_begun_, true)) look_after();
  read_more();
}

void StdinSender::stop() {
  is_done_ = true;
  watch_ = {};
  unacknowledged_.clear();
}

void StdinSender::read_more() {
  if (is_done_ || has_ended_ || is_reading_ ||
      unacknowledged_.size() + proto::kStdinPartBytesMax > proto::kStdinWindow) {
    return;
  }
  is_reading_ = true;
  watch_or_read_aside();
}

// Files are always ready, and cannot be watched.
void StdinSender::watch_or_read_aside() {
  if (input_.get() >= 0) {
    Result<sdk::Watch> watch =
        scheduler_.watch(input_.get(), {.readable = true}, [this](sdk::WatchEvents) {
          std::optional<std::string> bytes = read_part(input_.get());
          if (!bytes) return;
          watch_ = {};
          on_read(*std::move(bytes));
        });
    if (watch) {
      watch_ = *std::move(watch);
      return;
    }
  }
  const auto bytes = std::make_shared<std::string>();
  scheduler_.run_aside([bytes] { *bytes = read_waiting(); },
                       [this, bytes] { on_read(std::move(*bytes)); });
}

void StdinSender::on_read(std::string bytes) {
  is_reading_ = false;
  if (is_done_) return;
  has_ended_ = bytes.empty();
  if (filter_ && !has_ended_) {
    bytes = filter_(bytes);
    if (bytes.empty()) return read_more();
  }
  const uint64_t offset = taken_ + unacknowledged_.size();
  unacknowledged_ += bytes;
  send_from(offset);
  read_more();
}

void StdinSender::send_from(uint64_t offset) {
  const uint64_t end = taken_ + unacknowledged_.size();
  do {
    const uint64_t count = std::min<uint64_t>(end - offset, proto::kStdinPartBytesMax);
    scheduler_.message(
        agent_, executor_,
        proto::encode(proto::StdinPart{.task = task_,
                                       .offset = offset,
                                       .bytes = unacknowledged_.substr(offset - taken_, count),
                                       .is_last = has_ended_ && offset + count == end}));
    offset += count;
  } while (offset < end);
}

// Messages may be lost: what is not acknowledged without progress is sent again. An empty part is
// the answer to an executor that says where it is.
void StdinSender::look_after() {
  scheduler_.after(kSendAgainAfter, [this] {
    if (is_done_) return;
    const bool is_due = has_ended_ || !unacknowledged_.empty() || is_asked_;
    if (taken_ == std::exchange(seen_, taken_) && is_due) send_from(taken_);
    is_asked_ = false;
    look_after();
  });
}

}  // namespace proffer::cli
