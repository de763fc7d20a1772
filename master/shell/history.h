#pragma once

// The master's history on its disk. A worker thread writes it in batches of up to a second. No
// message waits for it, and its failures do not affect anything else: while writes fail, entries
// wait, and if too many wait, the oldest are dropped and a gap is recorded.

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
  // The time at which the last life of this master stopped to lead because another master led: no
  // entries after it are missing.
  std::optional<Time> led_until = {};
  Duration delay = milliseconds(500);  // from the first entry of a batch until it is written
  Duration retry = seconds(5);         // after an error
  size_t waiting_max = 20'000;         // entries
};

// One page of the history, and the place of the next page.
struct FoundHistory {
  proto::HistoryPage page = {};
  std::string next = {};  // HistoryQuery::before of the next page; empty: there is none
};

// Reads pages of a history in a worker thread, with a limit on concurrent reads.
class HistoryReader {
 public:
  using Done = std::function<void(Result<FoundHistory>)>;

  HistoryReader(Loop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)) {}
  ~HistoryReader() { *alive_ = false; }
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;

  // `done` is called in a later turn; it is not called if this is destroyed first. A page may be
  // short or empty and still have a next page: each read examines at most kPageReadBytes or one
  // file. Errors: kInvalidArgument: a wrong `before`; kResourceExhausted: too many concurrent
  // reads; kUnavailable.
  void read(std::vector<HistoryLog::File> files, proto::HistoryQuery query, Done done);
  static constexpr uint64_t kPageReadBytes = uint64_t{16} << 20;

 private:
  Loop& loop_;
  const std::string directory_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  size_t reads_ = 0;
};

// The history of a standby from the time when it led. Nothing is written.
class PastHistory {
 public:
  // Removes files that are too old, and reads how the last life ended. Blocks.
  PastHistory(Loop& loop, const HistoryLogOptions& options);
  // As HistoryReader::read(). If the last life did not end cleanly, the first page has a gap until
  // now; a caller that knows when the next master began to lead can shorten it.
  void read(proto::HistoryQuery query, HistoryReader::Done done);

 private:
  Loop& loop_;
  const Duration age_max_;
  HistoryReader reader_;
  std::vector<HistoryLog::File> files_;
  std::optional<Time> cut_off_at_;  // the time of the last entry, if the last life was cut off
};

class History {
 public:
  // Reads how the last life ended; if not cleanly, writes a gap first. Blocks.
  History(Loop& loop, HistoryOptions options);
  // Drops waiting entries: call finish() first.
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void add(std::vector<proto::HistoryRecord>&& records);
  // Writes all waiting entries, and `last`. Blocks, also for a write that is under way.
  void finish(std::vector<proto::HistoryRecord>&& last);

  using Found = FoundHistory;
  // As HistoryReader::read().
  void read(proto::HistoryQuery query, HistoryReader::Done done);
  // The same for the entries of earlier lives only. Also kUnavailable: the history could not be
  // opened yet.
  void read_past(proto::HistoryQuery query, HistoryReader::Done done);

  // Why nothing is written at present; empty: it works.
  const std::string& trouble() const { return trouble_; }
  uint64_t written() const { return written_; }  // entries, by this process
  uint64_t lost() const;
  uint64_t bytes() const { return bytes_; }  // on the disk
  size_t waiting() const;                    // entries that are not written yet
  size_t waiting_max() const { return options_.waiting_max; }

 private:
  struct Shared;  // shared with the worker
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
