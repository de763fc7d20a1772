#pragma once

// What tasks report of themselves: counters and a status, as Hadoop Streaming has them. A mapper, a
// combiner or a reducer writes to standard error
//
//   reporter:counter:GROUP,NAME,AMOUNT
//   reporter:status:TEXT

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "proto/batch_status.h"

namespace proffer {
class ByteReader;
class ByteWriter;
}  // namespace proffer

namespace proffer::batch {

// Amounts by group and name.
using Counters = std::map<std::pair<std::string, std::string>, int64_t>;

// Of one task, and of all tasks of one stage of a job: further ones are not counted.
inline constexpr size_t kCountersMax = 100;
inline constexpr size_t kCounterNameBytesMax = 128;    // of a group, and of a name
inline constexpr size_t kCountersBytesMax = 2 * 1024;  // as write() makes them
inline constexpr int64_t kCounterMax = int64_t{1}
                                       << 53;         // amounts stay within it, and its negative
inline constexpr size_t kReportLineBytesMax = 1'024;  // of a line that reports
inline constexpr size_t kTaskStatusBytesMax = 256;

// Adds `more` to `sum`. False: something had no room and is left out.
bool add_counters(const Counters& more, Counters& sum);
// As a picture of a job shows them.
std::vector<proto::BatchCounter> to_rows(const Counters& counters);
Counters from_rows(const std::vector<proto::BatchCounter>& rows);

void write(ByteWriter& out, const Counters& counters);
Counters read_counters(ByteReader& in);

// Takes the lines that report out of what is written to standard error. Lines that are not quite of
// their form are no reports.
class ReportLines {
 public:
  // The next bytes, in pieces of any size; those that are to be passed on. What could still become
  // a report waits.
  std::string feed(std::string_view bytes);
  // Behind the last bytes: what waited.
  std::string finish();

  const Counters& counters() const { return counters_; }
  // The last one, for people: at most kTaskStatusBytesMax, one line of clean text.
  const std::string& status() const { return status_; }

 private:
  bool take(std::string_view line);

  std::string open_;            // the beginning of a line that may report
  bool is_passing_on_ = false;  // the rest of the line is none
  Counters counters_;
  std::string status_;
};

}  // namespace proffer::batch
