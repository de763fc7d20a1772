#pragma once

// The input of a master's core from its beginning, in order, so that it can be replayed (proffer
// replay): all decisions of a core depend on this input only. Each entry is one record of a file,
// which master/shell/recorder.h writes.
//
// A recording contains what peers sent, with commands and session secrets, but not the values of
// variables of tasks' environments. The values of users' secrets are in it in encrypted form only.
// It is for the master's user only.

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

// The number of the format. Other formats are refused: only the version that wrote a recording can
// read it.
inline constexpr uint64_t kRecordingFormat = 3;

// The first entry, after its rows have been read: the arguments of the core.
struct RecordingBegins {
  std::string version = {};  // of Proffer
  MasterOptions options = {};
  MasterSnapshot snapshot = {};
};
// One event of the core, and its time.
struct RecordedEvent {
  Time now = {};
  MasterEvent event = Tick{};
};
// The result of all steps until here.
struct RecordedSum {
  uint64_t steps = 0;
  uint64_t hash = 0;  // of TraceHash
};
// The recording ends here.
struct RecordingEnds {
  std::string why = {};
};
using RecordedEntry = std::variant<RecordingBegins, RecordedEvent, RecordedSum, RecordingEnds>;

// A hash of a core's results: its trace with all fields, the keys of its records, and for each
// action its kind and its peer or call.
class TraceHash {
 public:
  void add(const MasterOutbox& out);
  uint64_t value() const { return value_; }

 private:
  void add(std::string_view bytes);
  uint64_t value_ = 0xcbf2'9ce4'8422'2325;
};

// The reason at the end of a life that was recorded to its end. A killed master writes none.
inline constexpr std::string_view kMasterEnded = "the master ended";

// Makes the records of one recording. Principals are written once. Records are numbered, so that a
// reader notices a missing one.
class RecordingWriter {
 public:
  // `records`: the number of existing records.
  explicit RecordingWriter(uint64_t records = 0) : records_(records) {}
  std::vector<std::string> begin(std::string_view version, const MasterOptions& options,
                                 const MasterSnapshot& snapshot);
  // Called before the core gets the event, which may be moved from. Adds a record, and before it a
  // record for a new principal. `frame`: the received bytes of a FrameReceived; empty: the message
  // is encoded again, so it must be encodable.
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
  // Returns the entry, or nothing for a record that only prepares later ones. Errors: kCorruption:
  // not a record of a recording, or not the next one; kUnsupported: another format. After an error
  // nothing more can be read.
  Result<std::optional<RecordedEntry>> read(std::string_view record);
  // The epoch of the recorded master: known after the first record, until begins_ has been
  // returned.
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
