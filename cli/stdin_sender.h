#pragma once

// Sends this process's standard input to a task (proto/stdin_stream.h). Loop thread of the
// scheduler.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "net/fd.h"
#include "proto/messages.h"
#include "proto/stdin_stream.h"
#include "sdk/scheduler.h"

namespace proffer::cli {

// Whether there is an input that a task may get: not an empty or closed one, and not the terminal
// of a job in the background, where reading would stop this process.
bool has_standard_input();

class StdinSender {
 public:
  // Returns what the task gets of the bytes that were read; all of them without it.
  using Filter = std::function<std::string(std::string_view)>;

  StdinSender(sdk::Scheduler& scheduler, const TaskId& task, Filter filter = {});
  // The first message says where the task runs; reading begins then.
  void on_room(const proto::FrameworkMessage& from, const proto::StdinRoom& room);
  // Reads and sends no more.
  void stop();

 private:
  void read_more();
  void watch_or_read_aside();
  void on_read(std::string bytes);
  void send_from(uint64_t offset);
  void look_after();

  sdk::Scheduler& scheduler_;
  const TaskId task_;
  const Filter filter_;
  const Fd input_;  // standard input if it can be watched
  AgentId agent_ = {};
  ExecutorId executor_ = {};
  uint64_t taken_ = 0;
  std::string unacknowledged_;  // from `taken_` on
  uint64_t seen_ = 0;           // `taken_` at the last look
  bool has_begun_ = false;
  bool is_asked_ = false;  // the executor says where it is until it is answered
  bool is_reading_ = false;
  bool has_ended_ = false;  // the end of the input was read
  bool is_done_ = false;
  sdk::Watch watch_;
};

}  // namespace proffer::cli
