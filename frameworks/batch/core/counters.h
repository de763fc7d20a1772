#pragma once

// Reports of tasks: counters and a status, as in Hadoop Streaming. A mapper, a combiner or a
// reducer writes to standard error
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

// Maximum number of counters of one task, and of one stage of a job. Further counters are ignored.
inline constexpr size_t kCountersMax = 100;
inline constexpr size_t kCounterNameBytesMax = 128;    // of a group, and of a name
inline constexpr size_t kCountersBytesMax = 2 * 1024;  // in the encoding of write()
inline constexpr int64_t kCounterMax = int64_t{1}
                                       << 53;         // amounts stay between its negative and it
inline constexpr size_t kReportLineBytesMax = 1'024;  // of a report line
inline constexpr size_t kTaskStatusBytesMax = 256;

// Adds `more` to `sum`. False: a counter had no room and is left out.
bool add_counters(const Counters& more, Counters& sum);
// In the form of a job's status.
std::vector<proto::BatchCounter> to_rows(const Counters& counters);
Counters from_rows(const std::vector<proto::BatchCounter>& rows);

void write(ByteWriter& out, const Counters& counters);
Counters read_counters(ByteReader& in);

// Filters the report lines from standard error. Lines that do not match the form exactly are not
// reports.
class ReportLines {
 public:
  // Takes the next bytes, in pieces of any size. Returns the bytes to pass on. The beginning of a
  // possible report is kept back.
  std::string feed(std::string_view bytes);
  // Call it after the last bytes; returns the bytes that were kept back.
  std::string finish();

  const Counters& counters() const { return counters_; }
  // The last status, for people: at most kTaskStatusBytesMax, one line of clean text.
  const std::string& status() const { return status_; }

 private:
  bool take(std::string_view line);

  std::string open_;            // the beginning of a line that may be a report
  bool is_passing_on_ = false;  // the rest of the line is not a report
  Counters counters_;
  std::string status_;
};

}  // namespace proffer::batch
