#pragma once

// The master's history on its disk: written behind, in batches of up to a second, by a worker
// thread. No message waits for it, and its failures stop nothing else: entries wait for a
// disk that is full, and if too many wait, the oldest are lost and their gap is told.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/trace.h"
#include "net/loop.h"
#include "proto/history.h"
#include "store/history_log.h"

namespace proffer::master {

struct HistoryOptions {
  HistoryLogOptions log = {};
  LeaderEpoch leader = {};
  // When the life before led no longer, since another master led: nothing after it is missing.
  std::optional<Time> led_until = {};
  Duration delay = milliseconds(500);  // from the first entry of a batch to its writing
  Duration retry = seconds(5);         // after an error
  size_t waiting_max = 20'000;         // entries
};

// One page of it, and where the next one begins.
struct FoundHistory {
  proto::HistoryPage page = {};
  std::string next = {};  // HistoryQuery::before of the next page; empty: there is none
};

// Reads pages of a history in a worker thread, a few at a time.
class HistoryReader {
 public:
  using Done = std::function<void(Result<FoundHistory>)>;

  HistoryReader(Loop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)) {}
  ~HistoryReader() { *alive_ = false; }
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  // `done` is called in a later turn, not at all if this is destroyed first. A page may be short,
  // or empty, and still have a next one: each reads at most kPageReadBytes or a file. Errors:
  // kInvalidArgument, a wrong `before`; kResourceExhausted, too many read at a time; kUnavailable.
  void read(std::vector<HistoryLog::File> files, proto::HistoryQuery query, Done done);
  static constexpr uint64_t kPageReadBytes = uint64_t{16} << 20;

 private:
  Loop& loop_;
  const std::string directory_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  size_t reads_ = 0;
};

// What a master that does not lead now saw while it led. Nothing is written.
class PastHistory {
 public:
  // Removes what is too old, and looks how the last life ended. Blocks.
  PastHistory(Loop& loop, const HistoryLogOptions& options);
  // As HistoryReader::read(). The first page has a gap until now if the last life did not end in
  // order; its true end is when the next master led, if the caller knows that.
  void read(proto::HistoryQuery query, HistoryReader::Done done);

 private:
  Loop& loop_;
  const Duration age_max_;
  HistoryReader reader_;
  std::vector<HistoryLog::File> files_;
  std::optional<Time> cut_off_at_;  // the last life was, after its last entry
};

class History {
 public:
  // Reads where the life before ended: if it was not in order, a gap is written first. Blocks.
  History(Loop& loop, HistoryOptions options);
  // Drops waiting entries: call finish() first.
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void add(std::vector<proto::HistoryRecord>&& records);
  // Writes all that waits, and these. Blocks, and waits for a write that is under way.
  void finish(std::vector<proto::HistoryRecord>&& last);

  using Found = FoundHistory;
  // As HistoryReader::read().
  void read(proto::HistoryQuery query, HistoryReader::Done done);
  // The same of what was there before this life, and nothing that was added in it. kUnavailable,
  // too: the history could not be opened yet.
  void read_past(proto::HistoryQuery query, HistoryReader::Done done);

  // Why nothing is written now; empty: all is well.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // entries, in this life
  uint64_t lost() const;
  uint64_t bytes() const { return bytes_; }  // on the disk
  size_t waiting() const;                    // entries, to be written
  size_t waiting_max() const { return options_.waiting_max; }

 private:
  struct Shared;  // with the worker
  void arm(Duration delay);
  void write();
  void on_written(Result<void> result, size_t count);

  Loop& loop_;
  const HistoryOptions options_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Timer timer_;
  bool is_writing_ = false;
  HistoryReader reader_;
  std::string trouble_;
  uint64_t written_ = 0;
  uint64_t bytes_ = 0;
  std::vector<HistoryLog::File> files_;  // as of the last write
};

}  // namespace proffer::master
