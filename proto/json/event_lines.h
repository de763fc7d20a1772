#pragma once

// The lines of the event log: each event as one object of JSON, as readers of the log get it. The
// rules of json.h hold.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/time.h"
#include "common/trace.h"
#include "proto/event_block.h"
#include "proto/events.h"

namespace proffer::proto {

// "info", "detail", "warning" or "error".
std::string_view level_word(TraceLevel level);

inline constexpr std::string_view kEventLineBegin = "{\"seq\":\"";
inline constexpr std::string_view kGapWords = "gap";

// Reads the events of one record of a log's file: of a block, or of a line. Logs before blocks
// have lines, and a standby keeps a line as it is if a block could not reproduce it byte for byte.
// The record may be any bytes: what is malformed is the end.
//
//   for (EventLineReader lines(record); lines.next();) use(lines.line(), lines.place());
class EventLineReader {
 public:
  // `record` outlives the reader.
  explicit EventLineReader(std::string_view record);

  // Goes to the first event, or the next one. False: there is none.
  bool next();
  const EventPlace& place() const { return place_; }
  // {"seq":"17.4021","time_s":…,"event":"task launched","level":"detail", then its fields and,
  // where it has none, `user` and `role` of its framework}. Until the next one.
  std::string_view line() const { return line_; }

 private:
  std::optional<EventBlockReader> block_ = {};
  EventPlace place_ = {};
  std::string_view line_;
  bool is_line_read_ = false;  // the record, which is a line
  std::string printed_ = {};   // of a block
};

// O(1). None: it is no record of a log.
std::optional<EventPlace> first_place_of(std::string_view record);
std::optional<EventPlace> last_place_of(std::string_view record);
// O(events in it). Empty: there is none.
std::string last_line_of(std::string_view record);

// The lines of a block, in memory.
struct EventLines {
  explicit EventLines(std::string_view block);

  size_t size() const { return ends.size(); }
  std::string_view line(size_t i) const;

  std::string text = {};
  std::vector<size_t> ends = {};  // in `text`
};

// Where events from `from` to before `until` are missing: {"seq":FROM,"time_s","event":"gap",
// "level":"warning","until":UNTIL,"lost"}; `lost` is left out if nobody knows how many they are.
std::string event_gap_json(const EventPlace& from, const EventPlace& until, Time at,
                           std::optional<uint64_t> lost);

// A line as above, as server-sent events have it (html.spec.whatwg.org/#server-sent-events), to be
// appended. `seen` becomes its id: a reader that has it goes on behind that place.
void append_event_message(std::string& out, std::string_view line, const EventPlace& seen,
                          bool is_gap);

// Of a line as above, which was read from a disk: nothing if it is none.
std::optional<EventPlace> place_of(std::string_view line);

// A text as it stands in an event, with its quotes.
std::string json_text(std::string_view text);

}  // namespace proffer::proto
