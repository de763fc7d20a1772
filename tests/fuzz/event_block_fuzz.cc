// A record of the event log, as a master finds it on its disk: a block of events, or a line.

#include <optional>
#include <string>

#include "common/check.h"
#include "proto/json/event_lines.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_event_block(Input input) {
  const std::string_view record = text_of(input);
  const std::optional<proto::EventPlace> first = proto::first_place_of(record);
  const std::optional<proto::EventPlace> last = proto::last_place_of(record);
  CHECK_EQ(first.has_value(), last.has_value());
  std::string last_line;
  std::optional<proto::EventPlace> before;
  for (proto::EventLineReader lines(record); lines.next();) {
    const proto::EventPlace place = lines.place();
    CHECK(first && place >= *first && place <= *last) << lines.line();
    CHECK(!before || place == (proto::EventPlace{before->leader, before->number + 1}));
    before = place;
    last_line = lines.line();
    CHECK(proto::place_of(last_line) == place) << last_line;
    if (proto::EventBlockReader::open(record)) {
      CHECK(last_line.find_first_of("\r\n") == std::string::npos) << last_line;
    }
  }
  CHECK(proto::last_line_of(record) == last_line);
  const proto::EventLines all(record);
  if (all.size() > 0) CHECK(all.line(all.size() - 1) == last_line);
}

}  // namespace proffer::fuzz
