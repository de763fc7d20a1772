#pragma once

// The output of an array's elements in the job's output directory, while the job runs and when it
// has ended.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/array.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/results.h"

namespace proffer::batch {

// The order of an array that has not ended. Errors: kNotFound, and those of decode_order.
Result<JobOrder> read_order(const std::string& output);

// The results of an ended job, in the order of the elements: from its index, or, while it can be
// retried, from the ends that its tasks have stored. Errors: kNotFound if it has none, kUnavailable
// from the system, kCorruption.
Result<std::vector<ElementResult>> read_results(const std::string& output);

// Copies an element's standard output or standard error to `to`. Errors: kUnavailable from the
// system.
Result<void> copy_output(const std::string& output, const ElementResult& result, bool is_stderr,
                         int to);

// Prints the output of elements while the job runs, in the order of the elements or of their ends:
// standard output to ours, standard error to ours. An element that will be retried is not printed
// yet.
class ResultStream {
 public:
  // `retries`: how often the job was retried.
  ResultStream(std::string output, ArrayOrder array, bool as_ended, int64_t retries = 0)
      : output_(std::move(output)),
        array_(std::move(array)),
        as_ended_(as_ended),
        attempts_before_(retries * array_.attempts_max()) {}

  // Prints the output of ended elements; in the order of the elements, up to the first that has not
  // ended. Call it again later.
  void pump();
  // The job has ended: prints the rest.
  void finish();

 private:
  void read_lane(uint32_t lane);
  // Prints nothing and returns false if its lane is gone: its result is in another lane now.
  bool print(const ElementResult& result);
  bool is_printed(uint32_t position) const {
    return position < next_ || printed_.contains(position);
  }

  const std::string output_;
  const ArrayOrder array_;
  const bool as_ended_;
  const int64_t attempts_before_;              // before the last retry (elements.h)
  std::map<uint32_t, int64_t> read_;           // bytes of each index that were read, by lane
  std::map<uint32_t, ElementResult> waiting_;  // by position
  uint32_t next_ = 0;                          // position; all before it are printed
  std::set<uint32_t> printed_;                 // printed positions after it
};

}  // namespace proffer::batch
