#include "master/shell/log_check.h"

#include <filesystem>
#include <utility>

#include "common/text.h"
#include "master/shell/event_pages.h"
#include "proto/codec/records.h"
#include "proto/event_block.h"

namespace proffer::master {
namespace {

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

// Whether the directory contains a log with a record.
bool has_files(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() == ".log") return true;
  }
  return false;
}

}  // namespace

TracesOfAMaster traces_of_a_master(const std::string& data_dir, const HistoryLogOptions& events,
                                   Time now) {
  TracesOfAMaster traces;
  for (const char* const name : {"events", "history"}) {
    if (has_files(text(data_dir, "/", name))) traces.files.emplace_back(name);
  }
  if (is_there(data_dir + "/master_id")) traces.files.emplace_back("master_id");
  if (!is_there(events.directory)) return traces;
  const Result<std::unique_ptr<HistoryLog>> log = HistoryLog::look(events, now);
  const std::optional<proto::EventPlace> last = log ? last_place(**log) : std::nullopt;
  if (last) traces.epoch = static_cast<int64_t>(last->leader.value());
  return traces;
}

LogCheck::LogCheck(Loop& loop, Options options, Tell tell)
    : loop_(loop), options_(options), tell_(std::move(tell)) {}

LogCheck::~LogCheck() { *alive_ = false; }

void LogCheck::look(Kind kind, const HistoryLogOptions& log) {
  const std::string& directory = log.directory;
  if (!is_there(directory)) {
    if (options_.has_been_here) found_.emplace_back(LogFileMissing{.directory = directory});
    return;
  }
  const Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::look(log, loop_.now());
  if (!opened) return;  // The log reports the error when it is opened for writing.
  const std::vector<HistoryLog::File>& files = (*opened)->files();
  if (files.empty() && options_.has_been_here) {
    found_.emplace_back(LogFileMissing{.directory = directory});
  }
  for (size_t i = 1; i < files.size(); ++i) {
    if (files[i].number == files[i - 1].number + 1) continue;
    found_.emplace_back(LogFileMissing{
        .directory = directory, .after = files[i - 1].number, .before = files[i].number});
  }
  Log found{.kind = kind, .directory = directory, .files = files};
  if (const std::optional<std::string>& last = (*opened)->last()) {
    const std::optional<proto::EventPlace> place =
        kind == Kind::kEvents ? proto::last_place_of(*last) : std::nullopt;
    if (place) {
      found.knows_last = true;
      note_last(directory, place->leader);
    }
  }
  logs_.push_back(std::move(found));
}

// A leader whose places are before the end of the log sets the log aside and reports it. A restored
// registry skips a million epochs, which are not missing leaders.
void LogCheck::note_last(const std::string& directory, LeaderEpoch last) {
  constexpr uint64_t kRestored = 1'000'000;
  const uint64_t leader = options_.leader.value();
  const bool is_older = last.value() + 1 < leader && leader - last.value() < kRestored;
  if (!options_.is_alone || !is_older) return;
  found_.emplace_back(LogIsOlder{.directory = directory, .last = last, .leader = options_.leader});
}

void LogCheck::start() { next(); }

LogCheck::Found LogCheck::read(Kind kind, const std::string& directory,
                               const HistoryLog::File& file, bool wants_last) {
  Found found;
  const Result<HistoryLog::Records> read = HistoryLog::read(directory, file);
  if (!read) return found;  // It was removed meanwhile; readers report a failing disk.
  // A file without a record was emptied, since a file is named with its first record.
  found.damaged_bytes = read->damaged_bytes;
  if (!wants_last || kind == Kind::kEvents) return found;
  for (size_t at = read->records.size(); at > 0 && !found.last; --at) {
    const Result<proto::HistoryRecord> record = proto::decode_history(read->records[at - 1]);
    if (!record) continue;
    if (const auto* began = std::get_if<proto::LifeBegan>(&*record)) found.last = began->leader;
  }
  return found;
}

void LogCheck::next() {
  if (!found_.empty()) tell_(std::exchange(found_, {}));
  while (!logs_.empty() && logs_.back().files.empty()) logs_.pop_back();
  if (logs_.empty()) return;
  Log& log = logs_.back();
  const HistoryLog::File file = log.files.back();
  log.files.pop_back();
  const auto found = std::make_shared<Found>();
  loop_.work(
      [kind = log.kind, directory = log.directory, file, wants_last = !log.knows_last, found] {
        *found = read(kind, directory, file, wants_last);
      },
      [this, alive = alive_, file, found] {
        if (!*alive) return;
        Log& read = logs_.back();
        if (found->damaged_bytes > 0 || file.bytes == 0) {
          found_.emplace_back(LogFileDamaged{.file = HistoryLog::path_of(read.directory, file),
                                             .bytes = found->damaged_bytes});
        }
        if (found->last && !std::exchange(read.knows_last, true)) {
          note_last(read.directory, *found->last);
        }
        next();
      });
}

}  // namespace proffer::master
