#pragma once

// The lines of the event log: each event as one JSON object, in the form for readers. The rules of
// json.h apply.

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

// Reads the events of one record of a log file: a block or a line. Logs of earlier versions have
// lines, and a standby keeps a line if a block could not reproduce it byte for byte. The record may
// be any bytes: reading ends at the first malformed one.
//
//   for (EventLineReader lines(record); lines.next();) use(lines.line(), lines.place());
class EventLineReader {
 public:
  // `record` must outlive the reader.
  explicit EventLineReader(std::string_view record);

  // Moves to the first or next event. False: there is none.
  bool next();
  const EventPlace& place() const { return place_; }
  // {"seq":"17.4021","time_s":…,"event":"task launched","level":"detail", then its fields and,
  // unless it has such fields itself, `user` and `role` of its framework}. Valid until the next
  // call of next().
  std::string_view line() const { return line_; }

 private:
  std::optional<EventBlockReader> block_ = {};
  EventPlace place_ = {};
  std::string_view line_;
  bool is_line_read_ = false;  // the record is a line, and was read
  std::string printed_ = {};   // the printed event of a block
};

// O(1). None: it is not a record of a log.
std::optional<EventPlace> first_place_of(std::string_view record);
std::optional<EventPlace> last_place_of(std::string_view record);
// O(events in the record). Empty: it has no events.
std::string last_line_of(std::string_view record);

// The lines of a block, in memory.
struct EventLines {
  explicit EventLines(std::string_view block);

  size_t size() const { return ends.size(); }
  std::string_view line(size_t i) const;

  std::string text = {};
  std::vector<size_t> ends = {};  // ends of the lines in `text`
};

// The line for a gap: events are missing from `from` to before `until`.
// {"seq":FROM,"time_s","event":"gap","level":"warning","until":UNTIL,"lost"}; `lost` is left out if
// their number is unknown.
std::string event_gap_json(const EventPlace& from, const EventPlace& until, Time at,
                           std::optional<uint64_t> lost);

// Appends such a line in the form of server-sent events (html.spec.whatwg.org/#server-sent-events).
// `seen` becomes its id: a reader that has received it continues after that place.
void append_event_message(std::string& out, std::string_view line, const EventPlace& seen,
                          bool is_gap);

// The place in such a line that was read from a disk; empty if it is not such a line.
std::optional<EventPlace> place_of(std::string_view line);

// A text in the form that it has in an event, with quotes.
std::string json_text(std::string_view text);

}  // namespace proffer::proto
