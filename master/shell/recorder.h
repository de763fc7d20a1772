#pragma once

// Writes down what the core is told (master/recording/recording.h), in a file for each life:
// DIRECTORY/<leader epoch of 12 digits>.rec. Written behind, by a worker thread, in batches of a
// moment; finish() writes the rest. A life is recorded until it fills half of the bound: what
// follows could not be replayed without its beginning. Recordings of earlier lives are removed, the
// oldest first, until the others fit the other half; the last one is kept.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "master/recording/recording.h"
#include "net/loop.h"
#include "store/checkpoint_log.h"

namespace proffer::master {

struct RecorderOptions {
  std::string directory = {};  // made if it is missing, mode 0700
  uint64_t bytes_max = uint64_t{1} << 30;
  Duration delay = milliseconds(100);         // from the first record of a batch to its writing
  Duration retry = seconds(5);                // of the last record, after an error
  uint64_t waiting_max = uint64_t{64} << 20;  // bytes that a slow disk keeps waiting
  std::string version = {};                   // of Proffer
};

class Recorder {
 public:
  // Blocks. Errors: the directory or the file cannot be written, is another user's or open to
  // others, or is in use: then nothing is recorded.
  static Result<std::unique_ptr<Recorder>> open(Loop& loop, RecorderOptions options,
                                                const MasterOptions& core,
                                                const MasterSnapshot& snapshot);
  // Drops what waits: call finish() first.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Before each step, and after it.
  // `frame`: of FrameReceived, as it came.
  void add(const MasterEvent& event, Time now, std::span<const std::byte> frame);
  void note_outcome(const MasterOutbox& out);
  // Blocks until all is written.
  void finish();

  // Why nothing is recorded any more; empty: it is recorded.
  const std::string& ended() const { return ended_; }

 private:
  struct File;
  Recorder(Loop& loop, RecorderOptions options);
  void keep(std::string record);
  void end(std::string why);
  void on_refused(const Error& error);
  void write();

  Loop& loop_;
  const RecorderOptions options_;
  std::shared_ptr<File> file_;
  Timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  RecordingWriter writer_;
  TraceHash hash_;
  uint64_t steps_ = 0;
  std::vector<std::string> waiting_ = {};
  uint64_t waiting_bytes_ = 0;
  uint64_t bytes_ = 0;  // of all records so far
  bool is_writing_ = false;
  std::shared_ptr<std::vector<std::string>> in_flight_;  // empty once it is written
  std::string ended_ = {};
};

}  // namespace proffer::master
