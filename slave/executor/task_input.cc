#include "slave/executor/task_input.h"

#include <utility>

#include "slave/executor/command.h"

namespace proffer::executor {
namespace {

std::string_view asked_by(const proto::RunTask& run) {
  const auto asked = run.spec.environment.find(std::string(proto::kStdinVariable));
  return asked == run.spec.environment.end() ? std::string_view() : asked->second;
}

}  // namespace

Result<void> TaskInput::check(const proto::RunTask& run, bool is_alone) {
  const Result<std::optional<proto::TerminalSize>> size = proto::terminal_asked(asked_by(run));
  if (!size) return size.error();
  if (*size && !is_alone) {
    return Error::invalid_argument(
        "a task with several commands, or in a shared executor, cannot have a terminal");
  }
  return {};
}

Result<std::unique_ptr<TaskInput>> TaskInput::make(Loop& loop, const proto::RunTask& run, int to,
                                                   const Tell& tell) {
  const std::string_view asked = asked_by(run);
  const Result<std::optional<proto::TerminalSize>> size = proto::terminal_asked(asked);
  if (!size) return size.error();
  if (!*size && asked != proto::kStdinStreamed) return std::unique_ptr<TaskInput>();
  std::unique_ptr<TaskInput> made(new TaskInput);
  if (*size) {
    Result<std::unique_ptr<TaskTerminal>> terminal =
        TaskTerminal::make(loop, run.spec.id, **size, to, tell);
    if (!terminal) return std::move(terminal).error();
    made->terminal_ = *std::move(terminal);
    return made;
  }
  Result<std::unique_ptr<StdinPipe>> pipe = StdinPipe::make(
      loop, run.spec.id, [tell](const proto::StdinRoom& room) { tell(proto::encode(room)); });
  if (!pipe) return std::move(pipe).error();
  made->pipe_ = *std::move(pipe);
  return made;
}

Result<pid_t> TaskInput::start(const proto::RunTask& run, const Surroundings& around) {
  if (terminal_ != nullptr) return start_at_terminal(run, around, terminal_->end_of_command());
  Result<pid_t> pid = start_command(run, around, pipe_->end_of_command());
  pipe_->end_is_given();
  return pid;
}

void TaskInput::take(const proto::StdinPart& part) {
  if (terminal_ != nullptr) return terminal_->take(part);
  pipe_->take(part);
}

void TaskInput::take(const proto::TerminalView& view) {
  if (terminal_ != nullptr) terminal_->take(view);
}

void TaskInput::finish() {
  if (terminal_ != nullptr) terminal_->finish();
}

}  // namespace proffer::executor
