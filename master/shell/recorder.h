#pragma once

// Records the input of the core (master/recording/recording.h), in a file for each life:
// DIRECTORY/<leader epoch of 12 digits>.rec. A worker thread writes it in batches; finish() writes
// the rest. A recording ends when it fills half of the size limit, since a replay needs its
// beginning. Recordings of earlier lives are removed, the oldest first, until the others fit the
// other half; the last one is always kept.

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
  std::string directory = {};  // made with mode 0700 if it is missing
  uint64_t bytes_max = uint64_t{1} << 30;
  Duration delay = milliseconds(100);  // from the first record of a batch until it is written
  Duration retry = seconds(5);         // for the last record, after an error
  uint64_t waiting_max = uint64_t{64} << 20;  // bytes that may wait for a slow disk
  std::string version = {};                   // of Proffer
};

class Recorder {
 public:
  // Blocks. Errors: the directory or the file cannot be written, belongs to another user, is open
  // to others, or is in use. Then nothing is recorded.
  static Result<std::unique_ptr<Recorder>> open(Loop& loop, RecorderOptions options,
                                                const MasterOptions& core,
                                                const MasterSnapshot& snapshot);
  // Drops waiting records: call finish() first.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Call add() before each step and note_outcome() after it. `frame`: the received bytes of a
  // FrameReceived.
  void add(const MasterEvent& event, Time now, std::span<const std::byte> frame);
  void note_outcome(const MasterOutbox& out);
  // Blocks until all records are written.
  void finish();

  // Why the recording has ended; empty: it goes on.
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
  std::shared_ptr<std::vector<std::string>> in_flight_;  // empty once written
  std::string ended_ = {};
};

}  // namespace proffer::master
