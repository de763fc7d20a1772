#pragma once

// Checks the files of the history and of the event log when a master begins to lead. Problems are
// reported once, while the master already serves. Files are not repaired: readers skip damaged
// parts.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/trace.h"
#include "net/loop.h"
#include "store/history_log.h"
#include "store/registry_file.h"

namespace proffer::master {

struct LogFileDamaged {
  std::string file;  // its path
  uint64_t bytes = 0;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved,
            "a file of the history or the event log is damaged; what is whole in it is still read"};
  }
  void fields(TraceFields& f) const {
    f.free_text("file", file);
    f("damaged_bytes", bytes);
  }
};

struct LogFileMissing {
  std::string directory;
  uint64_t after = 0;   // numbers of the files beside the gap; 0: the gap is at the beginning
  uint64_t before = 0;  // 0: all files are missing

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved,
            "files of the history or the event log are missing; it goes on without them"};
  }
  void fields(TraceFields& f) const {
    f.free_text("directory", directory);
    if (after > 0) f("after", after);
    if (before > 0) f("before", before);
  }
};

// The log was restored from a copy, or its last file was cut or removed.
struct LogIsOlder {
  std::string directory;
  LeaderEpoch last;  // the last leader in the log
  LeaderEpoch leader;

  static constexpr TraceKind kind() {
    return {
        TraceLevel::kMisbehaved,
        "the history or the event log says nothing of the last leaders: it is an older copy, or "
        "they ended at once"};
  }
  void fields(TraceFields& f) const {
    f.free_text("directory", directory);
    f("last", last.value())("leader", leader.value());
  }
};

// What a data directory contains of an earlier life besides its registry.
TracesOfAMaster traces_of_a_master(const std::string& data_dir, const HistoryLogOptions& events,
                                   Time now);

class LogCheck {
 public:
  using Tell = std::function<void(const std::vector<TraceEvent>&)>;
  struct Options {
    LeaderEpoch leader = {};
    // No other master has led between two lives of this one.
    bool is_alone = false;
    // This master has led before, so missing logs were lost.
    bool has_been_here = false;
  };

  LogCheck(Loop& loop, Options options, Tell tell);
  ~LogCheck();
  LogCheck(const LogCheck&) = delete;
  LogCheck& operator=(const LogCheck&) = delete;

  // Call this before the log is opened for writing, which adds to it. Blocks for its last file; the
  // other files are read after start(), one at a time.
  enum class Kind : uint8_t { kHistory, kEvents };
  void look(Kind kind, const HistoryLogOptions& log);
  void start();

 private:
  struct Log {
    Kind kind = Kind::kHistory;
    std::string directory = {};
    std::vector<HistoryLog::File> files = {};  // files still to be read, the newest last
    bool knows_last = false;                   // the last leader is known
  };
  struct Found {
    uint64_t damaged_bytes = 0;
    std::optional<LeaderEpoch> last = {};
  };

  static Found read(Kind kind, const std::string& directory, const HistoryLog::File& file,
                    bool wants_last);
  void next();
  void note_last(const std::string& directory, LeaderEpoch last);

  Loop& loop_;
  const Options options_;
  Tell tell_;
  std::vector<Log> logs_;
  std::vector<TraceEvent> found_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proffer::master
