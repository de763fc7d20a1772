#pragma once

// What a master's core was told from its beginning, in order, so that it can be told the same again
// (proffer replay): a core decides by nothing else. Each entry is a record of a file that this
// knows nothing of; master/shell/recorder.h writes it.
//
// A recording has what peers sent: commands, environments and the secrets of sessions, not the
// values of secrets, which are sealed. It is for the master's user alone.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/result.h"
#include "master/core/master.h"
#include "proto/codec/codec.h"

namespace proffer::master {

// The number of the format. Another one is not read: a recording is of the version that wrote it.
inline constexpr uint64_t kRecordingFormat = 2;

// First, after its rows have been read: with what the core was made.
struct RecordingBegins {
  std::string version = {};  // of Proffer
  MasterOptions options = {};
  MasterSnapshot snapshot = {};
};
// One event that the core was told, and its time.
struct RecordedEvent {
  Time now = {};
  MasterEvent event = Tick{};
};
// What had come of the steps until here.
struct RecordedSum {
  uint64_t steps = 0;
  uint64_t hash = 0;  // of TraceHash
};
// Nothing was recorded after this.
struct RecordingEnds {
  std::string why = {};
};
using RecordedEntry = std::variant<RecordingBegins, RecordedEvent, RecordedSum, RecordingEnds>;

// A hash of what a core says of its steps: its trace with its fields, the keys of its records, and
// of each action what it is and for which peer or call.
class TraceHash {
 public:
  void add(const MasterOutbox& out);
  uint64_t value() const { return value_; }

 private:
  void add(std::string_view bytes);
  uint64_t value_ = 0xcbf2'9ce4'8422'2325;
};

// What the end of a life says if it was recorded to its end. One that was killed says nothing.
inline constexpr std::string_view kMasterEnded = "the master ended";

// Makes records. One for a recording: principals are written once, and each record has the next
// number, so that a reader notices where one is missing.
class RecordingWriter {
 public:
  // `records`: so many are there already.
  explicit RecordingWriter(uint64_t records = 0) : records_(records) {}
  std::vector<std::string> begin(std::string_view version, const MasterOptions& options,
                                 const MasterSnapshot& snapshot);
  // Before the core has it: it may move parts away. Adds a record, and one before it for a
  // principal that is new. `frame`: of FrameReceived, as it came; empty: it is encoded again,
  // which needs a message that can be.
  void add(const MasterEvent& event, Time now, std::span<const std::byte> frame,
           std::vector<std::string>& records);
  std::string sum(uint64_t steps, uint64_t hash);
  std::string end(std::string_view why);

 private:
  std::string begin_record(char kind);
  uint64_t number_of(const PrincipalPtr& by, std::vector<std::string>& records);

  uint64_t records_;
  proto::Encoder encoder_;
  std::map<PrincipalPtr, uint64_t> principals_;
};

class RecordingReader {
 public:
  // The entry; nothing for a record that only prepares later ones. Errors: kCorruption: it is no
  // record of a recording, or not the next one; kUnsupported: of another format. After an error
  // nothing more can be read.
  Result<std::optional<RecordedEntry>> read(std::string_view record);
  // Whose recording it is: known after its first record, and until it has begun.
  std::optional<LeaderEpoch> leader() const {
    return begins_ ? std::optional(begins_->options.leader) : std::nullopt;
  }

 private:
  Result<void> read_begin(std::string_view bytes);
  Result<void> read_row(std::string_view bytes);

  uint64_t records_ = 0;
  std::optional<RecordingBegins> begins_;  // until its last row has been read
  std::vector<PrincipalPtr> principals_;
};

}  // namespace proffer::master
