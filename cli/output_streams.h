#pragma once

// Streams the output of many running tasks at once, on one separate thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/address.h"
#include "proto/status.h"

namespace proffer::cli {

class OutputStreams {
 public:
  enum class Stream : uint8_t { kStdout, kStderr };
  // These are called on the streams' thread, one at a time.
  using Sink = std::function<void(const TaskId&, Stream, std::string_view bytes)>;
  using Failed = std::function<void(const FrameworkId&, const TaskId&, const std::string& why)>;
  // The agent has dropped this many bytes here, because the output was read too slowly for its
  // limit.
  using Missing = std::function<void(const TaskId&, Stream, uint64_t bytes)>;
  // All output of the task has been written.
  using Closed = std::function<void(const TaskId&)>;

  OutputStreams(const Masters& master, Sink sink, Failed failed, Missing missing, Closed closed);
  // Cuts the streams that still run.
  ~OutputStreams();
  OutputStreams(const OutputStreams&) = delete;
  OutputStreams& operator=(const OutputStreams&) = delete;

  // Follows both output files of a running task until it has ended. `http_address` is where its
  // agent serves files on its machine, or empty: the master is asked. A broken stream (its agent
  // restarts) continues at its last place. Any thread. At most 100 tasks stream at once; the others
  // wait for their turn.
  void follow(const FrameworkId& framework, const TaskId& task, const AgentId& agent,
              const std::string& http_address);
  // These bytes are in the task's stdout from `offset` on. They are passed on at once if they
  // continue what was passed on, and are not passed on again when they are read from the file. Best
  // effort. Any thread.
  void offer(const TaskId& task, uint64_t offset, std::string bytes);
  // The task has ended: a broken stream is retried only a few more times. Any thread.
  void ended(const TaskId& task);
  // Blocks until all requested output has been written.
  void wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::cli
