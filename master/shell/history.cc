// Two threads share it: the loop adds entries to `waiting`, and one worker at a time takes and
// writes them. Read write_waiting first, then find_page.

#include "master/shell/history.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>
#include <utility>

#include <glog/logging.h>

#include "common/text.h"
#include "proto/codec/records.h"

namespace proffer::master {
namespace {

constexpr size_t kReadsMax = 8;  // at a time; each has a file in memory
// An estimate of the size of a row, so that a page fits a reply: all fields except names and texts.
constexpr size_t kRowBytes = 700;
constexpr size_t kWaitBytes = 64;  // per reason of waiting
constexpr size_t kPageBytes = 500 * 1024;

// "<file>.<record>": the page contains the records before it.
struct Place {
  uint64_t file = 0;
  uint64_t record = 0;
};

Result<Place> parse_place(std::string_view text) {
  Place place;
  const char* end = text.data() + text.size();
  const auto file = std::from_chars(text.data(), end, place.file);
  if (file.ec == std::errc() && file.ptr != end && *file.ptr == '.') {
    const auto record = std::from_chars(file.ptr + 1, end, place.record);
    if (record.ec == std::errc() && record.ptr == end) return place;
  }
  return Error::invalid_argument(proffer::text(
      "\"before\" must be the value of \"next\" in the previous page, not ", quoted(text)));
}

std::string to_text(const Place& place) { return text(place.file, ".", place.record); }

size_t bytes_of(const proto::EndedTask& ended) {
  const proto::TaskStatus& status = ended.status;
  // A control character takes six bytes in JSON.
  return kRowBytes + kWaitBytes * ended.waited.size() +
         2 * (ended.framework_name.size() + ended.user.size()) +
         6 * (ended.command.size() + status.message.size()) + ended.framework.str().size() +
         ended.role.str().size() + ended.ask.str().size() + status.task.str().size() +
         status.agent.str().size();
}

// Adds the entry if it matches the query; returns by how much the page has grown.
size_t add_to(proto::HistoryPage& page, const proto::HistoryQuery& query,
              proto::HistoryRecord&& record) {
  if (auto* ended = std::get_if<proto::EndedTask>(&record)) {
    if (!matches(query, *ended)) return 0;
    const size_t bytes = bytes_of(*ended);
    page.tasks.push_back(std::move(*ended));
    return bytes;
  }
  if (auto* use = std::get_if<proto::RoleUse>(&record)) {
    if (!matches(query, *use)) return 0;
    const size_t bytes = kRowBytes + use->role.str().size();
    page.roles.push_back(std::move(*use));
    return bytes;
  }
  if (auto* wait = std::get_if<proto::RoleWait>(&record)) {
    if (!matches(query, *wait)) return 0;
    const size_t bytes = kRowBytes + wait->role.str().size() + kWaitBytes * wait->waited.size();
    page.waits.push_back(std::move(*wait));
    return bytes;
  }
  if (const auto* gap = std::get_if<proto::HistoryGap>(&record)) {
    if (query.since && gap->until < *query.since) return 0;
    page.gaps.push_back(*gap);
    return kRowBytes;
  }
  return 0;
}

Result<FoundHistory> find_page(const std::string& directory,
                               const std::vector<HistoryLog::File>& files,
                               const proto::HistoryQuery& query) {
  FoundHistory found;
  Place before{.file = ~uint64_t{0}, .record = ~uint64_t{0}};
  if (!query.before.empty()) {
    const Result<Place> place = parse_place(query.before);
    if (!place) return place.error();
    before = *place;
  }
  size_t rows = 0;
  size_t bytes = 0;
  uint64_t bytes_read = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (file->number > before.file) continue;
    // Nothing in this file or earlier ones was written after `since`.
    if (query.since && file->changed < *query.since) return found;
    if (bytes_read > 0 && bytes_read + file->bytes > HistoryReader::kPageReadBytes) {
      found.next = to_text(Place{file->number, ~uint64_t{0}});
      return found;
    }
    bytes_read += file->bytes;
    Result<HistoryLog::Records> read = HistoryLog::read(directory, *file);
    // It was removed meanwhile.
    if (!read && read.error().code() == ErrorCode::kNotFound) return found;
    if (!read) return std::move(read).error();
    found.page.damaged_bytes += static_cast<int64_t>(read->damaged_bytes);
    size_t at = read->records.size();
    if (file->number == before.file) at = std::min<uint64_t>(at, before.record);
    while (at > 0) {
      if (rows >= query.limit || bytes >= kPageBytes) {
        found.next = to_text(Place{file->number, at});
        return found;
      }
      const std::string& record = read->records[--at];
      Result<proto::HistoryRecord> entry = proto::decode_history(record);
      if (!entry) {
        found.page.damaged_bytes += static_cast<int64_t>(record.size());
        continue;
      }
      const size_t more = add_to(found.page, query, *std::move(entry));
      bytes += more;
      rows += more > 0 ? 1 : 0;
    }
  }
  return found;
}

// The time of the last entry, if the life that wrote it did not end cleanly.
std::optional<Time> cut_off_at(const HistoryLog& log, Time now) {
  if (!log.last()) return std::nullopt;
  const Result<proto::HistoryRecord> record = proto::decode_history(*log.last());
  if (record && std::holds_alternative<proto::LifeEnded>(*record)) return std::nullopt;
  // Clocks may have been set back.
  return std::min(now, log.files().back().changed);
}

}  // namespace

struct History::Shared {
  std::mutex writing;  // locked before `guard`; held while a batch is written
  std::unique_ptr<HistoryLog> log;

  std::mutex guard;  // protects all members below; held only briefly
  std::deque<proto::HistoryRecord> waiting;
  size_t waiting_max = 0;
  uint64_t lost = 0;
  uint64_t lost_untold = 0;
  Time lost_from = {};
  Time lost_until = {};
  std::vector<HistoryLog::File> files;
  // The files at the time when the log was opened.
  std::optional<std::vector<HistoryLog::File>> past;

  void put(std::vector<proto::HistoryRecord>&& records);
  std::vector<proto::HistoryRecord> take();
  void put_back(std::vector<proto::HistoryRecord>&& records);
  void lose_oldest();
  Result<size_t> write_waiting(const HistoryLogOptions& options, Time now);
};

void History::Shared::put(std::vector<proto::HistoryRecord>&& records) {
  const std::lock_guard lock(guard);
  for (proto::HistoryRecord& record : records) waiting.push_back(std::move(record));
  while (waiting.size() > waiting_max) lose_oldest();
}

void History::Shared::lose_oldest() {
  const Time at = proto::time_of(waiting.front());
  if (lost_untold == 0) lost_from = at;
  lost_until = std::max(at, lost_from);
  ++lost;
  ++lost_untold;
  waiting.pop_front();
}

// Takes all waiting entries, with the gap of lost entries first if there is one.
std::vector<proto::HistoryRecord> History::Shared::take() {
  const std::lock_guard lock(guard);
  std::vector<proto::HistoryRecord> records;
  records.reserve(waiting.size() + 1);
  if (lost_untold > 0) {
    records.emplace_back(
        proto::HistoryGap{.from = lost_from, .until = lost_until, .lost = lost_untold});
    lost_untold = 0;
  }
  for (proto::HistoryRecord& record : waiting) records.push_back(std::move(record));
  waiting.clear();
  return records;
}

void History::Shared::put_back(std::vector<proto::HistoryRecord>&& records) {
  const std::lock_guard lock(guard);
  if (records.empty()) return;
  // The next batch repeats the reported losses; there may be more by then.
  if (const auto* gap = std::get_if<proto::HistoryGap>(&records.front());
      gap != nullptr && gap->lost > 0) {
    lost_from = gap->from;
    lost_until = std::max(lost_until, gap->until);
    lost_untold += gap->lost;
    records.erase(records.begin());
  }
  waiting.insert(waiting.begin(), std::make_move_iterator(records.begin()),
                 std::make_move_iterator(records.end()));
  while (waiting.size() > waiting_max) lose_oldest();
}

// Runs in a worker, or at the end in the loop's thread. Either all entries are written, or they
// wait again.
Result<size_t> History::Shared::write_waiting(const HistoryLogOptions& options, Time now) {
  const std::lock_guard lock(writing);
  if (log == nullptr) {
    Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::open(options, now);
    if (!opened) return std::move(opened).error();
    log = *std::move(opened);
    const std::lock_guard told(guard);
    past = log->files();
  }
  std::vector<proto::HistoryRecord> records = take();
  std::vector<std::string> bytes;
  bytes.reserve(records.size());
  for (const proto::HistoryRecord& record : records) bytes.push_back(encode_history(record));
  Result<void> written = log->append(bytes, now);
  if (!written) {
    put_back(std::move(records));
    return std::move(written).error();
  }
  const std::lock_guard told(guard);
  files = log->files();
  return records.size();
}

History::History(Loop& loop, HistoryOptions options)
    : loop_(loop),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>()),
      timer_(loop, [this] { write(); }),
      reader_(loop, options_.log.directory) {
  shared_->waiting_max = options_.waiting_max;
  const Time now = loop_.now();
  std::vector<proto::HistoryRecord> first;
  Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::open(options_.log, now);
  if (opened) {
    shared_->log = *std::move(opened);
    shared_->files = files_ = shared_->log->files();
    shared_->past = files_;
    bytes_ = shared_->log->bytes();
    if (const std::optional<Time> from = cut_off_at(*shared_->log, now)) {
      // Clocks of machines differ.
      const Time until = std::max(*from, std::min(now, options_.led_until.value_or(now)));
      first.emplace_back(proto::HistoryGap{.from = *from, .until = until});
    }
  }
  first.emplace_back(proto::LifeBegan{.leader = options_.leader, .at = now});
  // At once, so that the beginning is on the disk even if this master is killed soon.
  shared_->put(std::move(first));
  const Result<size_t> written = shared_->write_waiting(options_.log, now);
  on_written(written ? Result<void>() : written.error(), written ? *written : 0);
}

History::~History() { *alive_ = false; }

void History::add(std::vector<proto::HistoryRecord>&& records) {
  if (records.empty()) return;
  shared_->put(std::move(records));
  if (!is_writing_ && !timer_.is_armed()) arm(options_.delay);
}

void History::arm(Duration delay) { timer_.arm(loop_.now() + delay); }

void History::write() {
  if (is_writing_) return;
  is_writing_ = true;
  const auto result = std::make_shared<Result<size_t>>(size_t{0});
  loop_.work([shared = shared_, options = options_.log, now = loop_.now(),
              result] { *result = shared->write_waiting(options, now); },
             [this, alive = alive_, result] {
               if (!*alive) return;
               is_writing_ = false;
               if (*result) {
                 on_written({}, **result);
               } else {
                 on_written(result->error(), 0);
               }
             });
}

void History::on_written(Result<void> result, size_t count) {
  if (!result) {
    if (trouble_.empty()) {
      LOG(ERROR) << "the history cannot be written: " << result.error().message()
                 << "; the master continues without it and tries again";
    }
    trouble_ = result.error().message();
    return arm(options_.retry);
  }
  if (!trouble_.empty()) LOG(INFO) << "the history is written again";
  trouble_.clear();
  written_ += count;
  const std::lock_guard lock(shared_->guard);
  files_ = shared_->files;
  bytes_ = 0;
  for (const HistoryLog::File& file : files_) bytes_ += file.bytes;
  if (!shared_->waiting.empty()) arm(options_.delay);
}

void History::finish(std::vector<proto::HistoryRecord>&& last) {
  shared_->put(std::move(last));
  const Result<size_t> written = shared_->write_waiting(options_.log, loop_.now());
  if (!written) {
    LOG(ERROR) << "the end of the history is lost: " << written.error().message();
  }
}

uint64_t History::lost() const {
  const std::lock_guard lock(shared_->guard);
  return shared_->lost;
}

size_t History::waiting() const {
  const std::lock_guard lock(shared_->guard);
  return shared_->waiting.size();
}

void History::read(proto::HistoryQuery query, HistoryReader::Done done) {
  reader_.read(files_, std::move(query), std::move(done));
}

void History::read_past(proto::HistoryQuery query, HistoryReader::Done done) {
  std::optional<std::vector<HistoryLog::File>> past;
  {
    const std::lock_guard lock(shared_->guard);
    past = shared_->past;
  }
  if (past) return reader_.read(*std::move(past), std::move(query), std::move(done));
  loop_.post([alive = alive_, done = std::move(done)] {
    if (*alive) done(Error::unavailable("the history is not open yet"));
  });
}

PastHistory::PastHistory(Loop& loop, const HistoryLogOptions& options)
    : loop_(loop), age_max_(options.age_max), reader_(loop, options.directory) {
  const Result<std::unique_ptr<HistoryLog>> opened = HistoryLog::look(options, loop.now());
  if (!opened) {
    LOG(ERROR) << "the history cannot be read: " << opened.error().message();
    return;
  }
  files_ = (*opened)->files();
  cut_off_at_ = cut_off_at(**opened, loop.now());
}

void PastHistory::read(proto::HistoryQuery query, HistoryReader::Done done) {
  const bool is_first = query.before.empty();
  const Time now = loop_.now();
  query.since = std::max(query.since.value_or(Time()), now - age_max_);
  reader_.read(files_, std::move(query),
               [from = is_first ? cut_off_at_ : std::nullopt, now,
                done = std::move(done)](Result<FoundHistory> found) {
                 if (found && from) {
                   auto& gaps = found->page.gaps;
                   gaps.insert(gaps.begin(),
                               proto::HistoryGap{.from = *from, .until = std::max(*from, now)});
                 }
                 done(std::move(found));
               });
}

void HistoryReader::read(std::vector<HistoryLog::File> files, proto::HistoryQuery query,
                         Done done) {
  if (reads_ >= kReadsMax) {
    return loop_.post([done = std::move(done)] {
      done(Error::resource_exhausted("too many history queries are running")
               .with_hint("try again in a moment"));
    });
  }
  ++reads_;
  const auto result = std::make_shared<Result<FoundHistory>>(FoundHistory());
  loop_.work([directory = directory_, files = std::move(files), query = std::move(query),
              result] { *result = find_page(directory, files, query); },
             [this, alive = alive_, result, done = std::move(done)] {
               if (!*alive) return;
               --reads_;
               done(std::move(*result));
             });
}

}  // namespace proffer::master
