#pragma once

// Pages of the event log: a page is made of lines in their order, from memory or from the disk. It
// is an object of JSON, or a piece of a stream of server-sent events.

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

// A leader begins. It says how its data directory's last leader ended, so that a reader knows
// whether events are missing between the two.
struct MasterLeads {
  std::string after;         // the place of the last event before; empty: there is none
  bool was_cut_off = false;  // that leader did not end in order: its last events may be missing
  // The last place of the log that was there before, if it is not before this leader's places.
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
// Of a piece of a stream, but for a single event that has more: so much waits for a listener that
// is slow to read.
inline constexpr size_t kEventPieceBytesMax = 48 * 1024;

// One page that is being made.
class EventPageMaker {
 public:
  EventPageMaker(const proto::EventQuery& query, EventFilter filter,
                 EventForm form = EventForm::kPage);

  // The next line, if its place is not before `from`. False: the page is full, and the line is not
  // in it.
  bool add(std::string_view line, const proto::EventPlace& place);

  // Nothing is at `from`, and nothing will be: a gap up to `end`, where it goes on.
  void go_back(const proto::EventPlace& end, Time now);

  bool is_empty() const { return rows_ == 0; }
  // `from` of the next page, if all lines so far are read.
  const proto::EventPlace& next() const { return next_; }
  // {"events":[…],"next"}, or the messages of a stream; of an empty one nothing.
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
      ended_;  // where a leader ended in order, if the last line says so
  bool has_begun_ = false;
  size_t rows_ = 0;
  std::vector<std::string> lines_ = {};  // of a page
  std::string stream_ = {};
  size_t bytes_ = 0;
};

// The first place of each file, as far as it is known: so that files are not read for nothing. Any
// thread.
class FirstPlaces {
 public:
  std::optional<proto::EventPlace> find(uint64_t file) const;
  void set(uint64_t file, const proto::EventPlace& place);

 private:
  mutable std::mutex guard_;
  std::map<uint64_t, proto::EventPlace> places_;
};

// The file that was read last, for a reader that asks for page after page: a file has several.
struct KeptFile {
  HistoryLog::File file = {};
  HistoryLog::Records records = {};
};

// Reads files from `from` on, at most `bytes_max` of them but one at least, oldest first; those
// before it are read once, to learn where they begin. Blocks. `kept`, which may be nullptr, is that
// of the page before, and becomes that of this one. Errors: kUnavailable.
Result<void> read_events(const std::string& directory, const std::vector<HistoryLog::File>& files,
                         const proto::EventPlace& from, uint64_t bytes_max, FirstPlaces& firsts,
                         EventPageMaker& page, KeptFile* kept = nullptr);

// Where the newest `count` events begin that `filter` wants, as far as `bytes_max` of the files
// reach; behind the last one if there is none. Blocks. Errors: kUnavailable.
Result<proto::EventPlace> find_last(const std::string& directory,
                                    const std::vector<HistoryLog::File>& files, size_t count,
                                    uint64_t bytes_max, const EventFilter& filter);

}  // namespace proffer::master
