#include "slave/executor/stdin_pipe.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"

namespace proffer::executor {
namespace {

constexpr char kEndOfInput = 4;  // Ctrl-D on a terminal
constexpr Duration kHelloEvery = milliseconds(500);

// Writes without SIGPIPE if the command reads no more: the signal would end this process. Its
// disposition stays, since a task may send the signal to its executor, which is reported.
ssize_t write_without_signal(int fd, const std::string& bytes) {
  sigset_t pipe = {};
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigset_t before = {};
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (wrote < 0 && error == EPIPE) {
    const timespec at_once = {};
    sigtimedwait(&pipe, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return wrote;
}

}  // namespace

StdinPipe::StdinPipe(Loop& loop, const TaskId& task,
                     std::function<void(const proto::StdinRoom&)> tell)
    : loop_(loop), task_(task), tell_(std::move(tell)), hello_(loop, [this] { tell_room(); }) {}

Result<std::unique_ptr<StdinPipe>> StdinPipe::make(
    Loop& loop, const TaskId& task, std::function<void(const proto::StdinRoom&)> tell) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error::unavailable(
        text("cannot make a pipe for standard input: ", std::strerror(errno)));
  }
  std::unique_ptr<StdinPipe> made(new StdinPipe(loop, task, std::move(tell)));
  made->theirs_ = Fd(ends[0]);
  made->ours_ = Fd(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  made->hello_.arm(loop.now());
  return made;
}

std::unique_ptr<StdinPipe> StdinPipe::into_terminal(
    Loop& loop, const TaskId& task, Fd terminal,
    std::function<void(const proto::StdinRoom&)> tell) {
  std::unique_ptr<StdinPipe> made(new StdinPipe(loop, task, std::move(tell)));
  made->is_terminal_ = true;
  made->ours_ = std::move(terminal);
  made->hello_.arm(loop.now());
  return made;
}

void StdinPipe::hear() {
  has_heard_ = true;
  hello_.arm(std::nullopt);
}

void StdinPipe::take(const proto::StdinPart& part) {
  hear();
  const uint64_t next = written_ + waiting_.size();
  const bool follows = part.offset <= next && part.offset + part.bytes.size() >= next;
  if (ours_.get() < 0 || !follows || has_last_) return tell_room();
  const std::string_view fresh = std::string_view(part.bytes).substr(next - part.offset);
  if (waiting_.size() + fresh.size() > proto::kStdinWindow) return tell_room();
  if (part.bytes.empty() && !part.is_last) return;  // the answer to tell_room()
  waiting_ += fresh;
  has_last_ = part.is_last;
  if (has_last_ && is_terminal_) waiting_ += kEndOfInput;
  write();
}

void StdinPipe::write() {
  if (ours_.get() < 0) return;
  while (!waiting_.empty()) {
    const ssize_t wrote = write_without_signal(ours_.get(), waiting_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0) return close();  // The command reads no more.
    waiting_.erase(0, static_cast<size_t>(wrote));
    written_ += static_cast<uint64_t>(wrote);
  }
  if (waiting_.empty() && has_last_) return close();
  if (waiting_.empty()) {
    watcher_.reset();
  } else if (watcher_ == nullptr) {
    watcher_ = std::make_unique<FdWatcher>(loop_, ours_.get(), FdWatcher::Events{.writable = true},
                                           [this](FdWatcher::Events) { write(); });
  }
  if (waiting_.empty() || written_ - told_ >= proto::kStdinPartBytesMax) tell_room();
}

void StdinPipe::close() {
  // It may be its callback that runs, so it ends later.
  if (watcher_ != nullptr) watcher_->want({});
  loop_.post([watcher = std::shared_ptr<FdWatcher>(std::move(watcher_)),
              ours = std::make_shared<Fd>(std::move(ours_))]() mutable {
    watcher.reset();
    ours.reset();
  });
  ours_ = Fd();
  waiting_.clear();
  tell_room();
}

void StdinPipe::tell_room() {
  told_ = written_;
  if (!has_heard_) hello_.arm(loop_.now() + kHelloEvery);
  tell_({.task = task_, .taken = written_, .is_closed = ours_.get() < 0});
}

}  // namespace proffer::executor
