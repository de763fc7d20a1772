#pragma once

// Pages of the event log, made of lines from memory or from the disk. A page is a JSON object, or a
// part of a stream of server-sent events.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/trace.h"
#include "master/shell/event_filter.h"
#include "proto/events.h"
#include "store/history_log.h"

namespace proffer::master {

// A leader begins. The event states how the last leader of its data directory ended, so that a
// reader knows whether events are missing between the two.
struct MasterLeads {
  std::string after;         // the place of the last event before it; empty: there is none
  bool was_cut_off = false;  // that leader did not end cleanly: its last events may be missing
  // The last place of the earlier log, if that was set aside because its places are not before this
  // leader's.
  std::string set_aside;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master leads"}; }
  void fields(TraceFields& f) const {
    if (!set_aside.empty()) f("set_aside", set_aside);
    if (after.empty()) return;
    f("after", after)("ended", was_cut_off ? "cut_off" : "in_order");
  }
};

struct MasterLeadsNoLonger {
  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master leads no longer"}; }
  void fields(TraceFields&) const {}
};
bool is_last_of_leader(std::string_view line);  // O(1)

// The place of the last event in the log.
std::optional<proto::EventPlace> last_place(const HistoryLog& log);

enum class EventForm : uint8_t { kPage, kStream };
// The size of a part of a stream, unless a single event is larger: the most that waits for a slow
// listener.
inline constexpr size_t kEventPieceBytesMax = 48 * 1024;

// Makes one page.
class EventPageMaker {
 public:
  EventPageMaker(const proto::EventQuery& query, EventFilter filter,
                 EventForm form = EventForm::kPage);

  // Adds the next line if its place is not before `from`. False: the page is full and the line is
  // not added.
  bool add(std::string_view line, const proto::EventPlace& place);

  // There are no events at `from`, and never will be: adds a gap up to `end`, where the page
  // continues.
  void go_back(const proto::EventPlace& end, Time now);

  bool is_empty() const { return rows_ == 0; }
  // `from` of the next page, if all lines so far were added.
  const proto::EventPlace& next() const { return next_; }
  // {"events":[…],"next"}, or the messages of a stream; nothing for an empty stream page.
  std::string body() const;

 private:
  void add_gap(std::string_view line, const proto::EventPlace& place);
  void note_end(std::string_view line, const proto::EventPlace& place);
  bool is_whole_before(std::string_view line, const proto::EventPlace& place) const;
  void put(std::string_view line, const proto::EventPlace& seen, bool is_gap);

  const EventFilter filter_;
  const EventForm form_;
  const size_t bytes_max_;
  const size_t limit_;
  const bool is_from_oldest_;
  proto::EventPlace next_;
  std::optional<proto::EventPlace>
      ended_;  // the clean end of a leader, if the last line is that event
  bool has_begun_ = false;
  size_t rows_ = 0;
  std::vector<std::string> lines_ = {};  // in the page
  std::string stream_ = {};
  size_t bytes_ = 0;
};

// Caches the first place of each file, as far as known, to avoid needless reads. For any thread.
class FirstPlaces {
 public:
  std::optional<proto::EventPlace> find(uint64_t file) const;
  void set(uint64_t file, const proto::EventPlace& place);

 private:
  mutable std::mutex guard_;
  std::map<uint64_t, proto::EventPlace> places_;
};

// Caches the file that was read last, for a reader that reads page after page: a file has several
// pages.
struct KeptFile {
  HistoryLog::File file = {};
  HistoryLog::Records records = {};
};

// Reads files from `from` on, oldest first: at most `bytes_max` of them, but at least one. Files
// before it are read once, to learn their first places. Blocks. `kept`, which may be nullptr, is
// the cached file of the last page, and is replaced by that of this page. Errors: kUnavailable.
Result<void> read_events(const std::string& directory, const std::vector<HistoryLog::File>& files,
                         const proto::EventPlace& from, uint64_t bytes_max, FirstPlaces& firsts,
                         EventPageMaker& page, KeptFile* kept = nullptr);

// The place at which the newest `count` events that match `filter` begin, within `bytes_max` of the
// files; after the last event if there is none. Blocks. Errors: kUnavailable.
Result<proto::EventPlace> find_last(const std::string& directory,
                                    const std::vector<HistoryLog::File>& files, size_t count,
                                    uint64_t bytes_max, const EventFilter& filter);

}  // namespace proffer::master
