#include "cli/stdin_sender.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace proffer::cli {
namespace {

constexpr Duration kLookEvery = seconds(1);

// Empty at its end, and on an error.
std::string read_part() {
  std::string bytes(proto::kStdinPartBytesMax, '\0');
  ssize_t got = -1;
  do {
    got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  } while (got < 0 && errno == EINTR);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
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

StdinSender::StdinSender(sdk::Scheduler& scheduler, const TaskId& task)
    : scheduler_(scheduler), task_(task) {}

void StdinSender::on_room(const proto::FrameworkMessage& from, const proto::StdinRoom& room) {
  if (room.task != task_ || is_done_) return;
  agent_ = from.agent;
  executor_ = from.executor;
  if (room.is_closed) {
    is_done_ = true;
    watch_ = {};
    unacknowledged_.clear();
    return;
  }
  if (room.taken > taken_) {
    const uint64_t more = std::min<uint64_t>(room.taken - taken_, unacknowledged_.size());
    unacknowledged_.erase(0, more);
    taken_ += more;
  }
  if (!std::exchange(has_begun_, true)) look_after();
  read_more();
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
  Result<sdk::Watch> watch =
      scheduler_.watch(STDIN_FILENO, {.readable = true}, [this](sdk::WatchEvents) {
        watch_ = {};
        on_read(read_part());
      });
  if (watch) {
    watch_ = *std::move(watch);
    return;
  }
  const auto bytes = std::make_shared<std::string>();
  scheduler_.run_aside([bytes] { *bytes = read_part(); },
                       [this, bytes] { on_read(std::move(*bytes)); });
}

void StdinSender::on_read(std::string bytes) {
  is_reading_ = false;
  if (is_done_) return;
  has_ended_ = bytes.empty();
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

// Messages may be lost: what is not acknowledged without progress is sent again.
void StdinSender::look_after() {
  scheduler_.after(kLookEvery, [this] {
    if (is_done_) return;
    if (taken_ == std::exchange(seen_, taken_) && (has_ended_ || !unacknowledged_.empty())) {
      send_from(taken_);
    }
    look_after();
  });
}

}  // namespace proffer::cli
