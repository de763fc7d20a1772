#include "master/shell/event_pages.h"

#include <deque>
#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "proto/json/event_lines.h"
#include "proto/json/events_json.h"

namespace proffer::master {
namespace {

constexpr std::string_view kBegins = R"(,"event":"master leads")";
constexpr std::string_view kCutOff = R"(,"ended":"cut_off")";
// The page also contains its object around the lines.
constexpr size_t kLinesBytesMax = kJsonBytesMax - 1024;

Time time_of(std::string_view line) {
  constexpr std::string_view kTime = "\"time_s\":";
  const size_t at = line.find(kTime);
  if (at == std::string_view::npos) return {};
  int64_t millis = 0;
  for (const char c : line.substr(at + kTime.size())) {
    if (c == '.') continue;
    if (c < '0' || c > '9') break;
    millis = millis * 10 + (c - '0');
  }
  return Time::from_nanos(millis * 1'000'000);
}

// Adds the last event of a record that ends before the page, since it may be the clean end of a
// leader.
void add_last(const std::string& record, EventPageMaker& page) {
  const std::string line = proto::last_line_of(record);
  if (!line.empty()) page.add(line, *proto::last_place_of(record));
}

}  // namespace

bool is_last_of_leader(std::string_view line) {
  // That event has no fields of its own, so a long line cannot be it.
  constexpr size_t kBytesMax = 192;
  return line.size() <= kBytesMax &&
         line.find(R"(,"event":"master leads no longer")") != std::string_view::npos;
}

std::optional<proto::EventPlace> last_place(const HistoryLog& log) {
  return log.last() ? proto::last_place_of(*log.last()) : std::nullopt;
}

EventPageMaker::EventPageMaker(const proto::EventQuery& query, EventFilter filter, EventForm form)
    : filter_(std::move(filter)),
      form_(form),
      bytes_max_(form == EventForm::kPage ? kLinesBytesMax : kEventPieceBytesMax),
      limit_(query.limit),
      is_from_oldest_(!query.from),
      next_(query.from.value_or(proto::EventPlace())) {}

bool EventPageMaker::add(std::string_view line, const proto::EventPlace& place) {
  if (place < next_) {
    note_end(line, place);
    return true;
  }
  // Leaves room for a gap before it, which does not count as a row.
  const bool is_full = rows_ >= limit_ || bytes_ + line.size() + 512 > bytes_max_;
  if (rows_ > 0 && is_full) return false;
  add_gap(line, place);
  note_end(line, place);
  next_ = {place.leader, place.number + 1};
  has_begun_ = true;
  if (!filter_.wants(line)) return true;
  put(line, place, false);
  return true;
}

void EventPageMaker::go_back(const proto::EventPlace& end, Time now) {
  put(proto::event_gap_json(next_, end, now, {}), {end.leader, end.number - 1}, true);
  next_ = end;
  has_begun_ = true;
}

void EventPageMaker::put(std::string_view line, const proto::EventPlace& seen, bool is_gap) {
  ++rows_;
  bytes_ += line.size() + 1;
  if (form_ == EventForm::kPage) {
    lines_.emplace_back(line);
  } else {
    proto::append_event_message(stream_, line, seen, is_gap);
  }
}

// Adds a gap if events are missing between the last place and this one.
void EventPageMaker::add_gap(std::string_view line, const proto::EventPlace& place) {
  if (!has_begun_ && is_from_oldest_) return;
  std::optional<uint64_t> lost;
  if (place.leader == next_.leader) {
    if (place.number == next_.number) return;
    lost = place.number - next_.number;
  } else if (is_whole_before(line, place)) {
    return;
  }
  // The event at `place` follows it.
  put(proto::event_gap_json(next_, place, time_of(line), lost), {place.leader, place.number - 1},
      true);
}

void EventPageMaker::note_end(std::string_view line, const proto::EventPlace& place) {
  ended_ = is_last_of_leader(line) ? std::optional(place) : std::nullopt;
}

// Whether a leader begins at `place`, and all events of the leader before it are here: that leader
// ended cleanly just before `next_`. Either this log contains that end, or the new leader states
// it, whose log may have had fewer events.
bool EventPageMaker::is_whole_before(std::string_view line, const proto::EventPlace& place) const {
  if (place.number != 1 || next_.number == 0) return false;
  // Another master led in between.
  if (place.leader.value() != next_.leader.value() + 1) return false;
  if (line.find(kBegins) == std::string_view::npos) return false;
  const proto::EventPlace before{next_.leader, next_.number - 1};
  if (ended_ == before) return true;
  return line.find(kCutOff) == std::string_view::npos &&
         line.find(text("\"after\":\"", proto::to_text(before), '"')) != std::string_view::npos;
}

std::string EventPageMaker::body() const {
  return form_ == EventForm::kPage ? proto::event_page_json(lines_, next_) : stream_;
}

std::optional<proto::EventPlace> FirstPlaces::find(uint64_t file) const {
  const std::lock_guard lock(guard_);
  const auto found = places_.find(file);
  if (found == places_.end()) return std::nullopt;
  return found->second;
}

void FirstPlaces::set(uint64_t file, const proto::EventPlace& place) {
  const std::lock_guard lock(guard_);
  places_[file] = place;
  // Files are removed from the beginning of the log; far fewer than this are kept.
  while (places_.size() > 1'000) places_.erase(places_.begin());
}

Result<void> read_events(const std::string& directory, const std::vector<HistoryLog::File>& files,
                         const proto::EventPlace& from, uint64_t bytes_max, FirstPlaces& firsts,
                         EventPageMaker& page, KeptFile* kept) {
  KeptFile own;
  KeptFile& last_read = kept != nullptr ? *kept : own;
  uint64_t bytes = 0;
  std::string before_file;  // the last record before `from`, in an earlier file
  for (size_t i = 0; i < files.size(); ++i) {
    if (i + 1 < files.size()) {
      const std::optional<proto::EventPlace> next = firsts.find(files[i + 1].number);
      if (next && *next <= from) continue;
    }
    if (bytes > 0 && bytes + files[i].bytes > bytes_max) return {};
    if (last_read.file != files[i]) {
      Result<HistoryLog::Records> read = HistoryLog::read(directory, files[i]);
      // It was removed meanwhile.
      if (!read && read.error().code() == ErrorCode::kNotFound) continue;
      if (!read) return std::move(read).error();
      last_read = {files[i], *std::move(read)};
    }
    const std::vector<std::string>& records = last_read.records.records;
    const std::string* before = nullptr;  // the last record before `from`, in this file
    bool is_first = true;
    bool is_used = false;
    for (const std::string& record : records) {
      const std::optional<proto::EventPlace> first = proto::first_place_of(record);
      if (!first) continue;
      if (std::exchange(is_first, false)) firsts.set(files[i].number, *first);
      if (*proto::last_place_of(record) < from) {
        before = &record;
        continue;
      }
      if (before != nullptr) {
        add_last(*before, page);
      } else if (!before_file.empty()) {
        add_last(before_file, page);
      }
      before = nullptr;
      before_file.clear();
      for (proto::EventLineReader lines(record); lines.next();) {
        is_used = true;
        if (!page.add(lines.line(), lines.place())) return {};
      }
    }
    if (before != nullptr) before_file = *before;
    // A file without a record from there on does not count: it is read once, to learn where it
    // ends. An unreadable file does not count either.
    if (is_used) bytes += files[i].bytes;
  }
  return {};
}

Result<proto::EventPlace> find_last(const std::string& directory,
                                    const std::vector<HistoryLog::File>& files, size_t count,
                                    uint64_t bytes_max, const EventFilter& filter) {
  std::optional<proto::EventPlace> end;
  std::optional<proto::EventPlace> first;
  uint64_t bytes = 0;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (bytes > 0 && bytes + file->bytes > bytes_max) break;
    bytes += file->bytes;
    Result<HistoryLog::Records> read = HistoryLog::read(directory, *file);
    if (!read && read.error().code() == ErrorCode::kNotFound) break;
    if (!read) return std::move(read).error();
    for (auto record = read->records.rbegin(); record != read->records.rend(); ++record) {
      const std::optional<proto::EventPlace> last = proto::last_place_of(*record);
      if (!last) continue;
      if (!end) end = {last->leader, last->number + 1};
      std::deque<proto::EventPlace> wanted;  // the newest `count` of this record
      for (proto::EventLineReader lines(*record); lines.next();) {
        if (!filter.wants(lines.line())) continue;
        wanted.push_back(lines.place());
        if (wanted.size() > count) wanted.pop_front();
      }
      if (wanted.empty()) continue;
      first = wanted.front();
      count -= wanted.size();
      if (count == 0) return *first;
    }
  }
  return first ? *first : end.value_or(proto::EventPlace());
}

}  // namespace proffer::master
