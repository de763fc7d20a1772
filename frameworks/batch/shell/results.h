#pragma once

// What elements of an array wrote, as it lies in the job's output directory: while the job runs,
// and when it has ended.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/core/results.h"

namespace proffer::batch {

// The results of a job that has ended, in the order of the elements. Errors: kNotFound if it has
// none, kUnavailable from the system, kCorruption.
Result<std::vector<ElementResult>> read_results(const std::string& output);

// What an element wrote to standard output, or to standard error; written to `to`. Errors:
// kUnavailable from the system.
Result<void> copy_output(const std::string& output, const ElementResult& result, bool is_stderr,
                         int to);

// Prints what elements wrote in the order of the elements, while they end: standard output to ours,
// standard error to ours. An element that is to be tried again is not printed yet.
class ResultStream {
 public:
  ResultStream(std::string output, ArrayOrder array)
      : output_(std::move(output)), array_(std::move(array)) {}

  // What has ended by now, up to the first element that has not. Call it again.
  void pump();
  // The job has ended: all that has not been printed.
  void finish();

 private:
  void read_lane(uint32_t lane);
  void print(const ElementResult& result);

  const std::string output_;
  const ArrayOrder array_;
  std::map<uint32_t, int64_t> read_;           // bytes of the index, by lane
  std::map<uint32_t, ElementResult> waiting_;  // by position
  uint32_t next_ = 0;                          // position to print
};

}  // namespace proffer::batch
