#pragma once

// Where elements of an array put what they write, and how they ended: the lanes of the job's output
// directory (ElementEnd in work.h).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {

// A lane that is ours alone until the process ends or it is closed.
class Lane {
 public:
  // The first lane from `first` on that no other task has, and that was left tidy: processes that
  // outlive a killed task may still write into its lane. Errors: kUnavailable from the
  // system.
  static Result<Lane> open(const std::string& output, uint32_t first);

  int out() const { return out_.get(); }
  int err() const { return err_.get(); }
  // Before an element begins.
  Result<void> begin();
  // The element has ended. From here on its end is kept, also if this process is killed. `end` gets
  // the place of its output.
  Result<void> keep(ElementEnd& end);
  // The end of what the last element wrote to standard error, at most so many bytes.
  std::string stderr_tail(const ElementEnd& end, size_t bytes_max) const;
  // All is on disk, and another may go on here.
  Result<void> close();

 private:
  Lane(Fd index, Fd out, Fd err)
      : index_(std::move(index)), out_(std::move(out)), err_(std::move(err)) {}

  Fd index_;
  Fd out_;
  Fd err_;
  int64_t out_begin_ = 0;
  int64_t err_begin_ = 0;
  bool has_kept_ = false;
};

// An end in the output directory, and the lane that it is in.
struct KeptEnd {
  uint32_t lane = 0;
  ElementEnd end = {};
};
// Calls `take` with each end that the job's tasks have kept. Errors: kUnavailable from the system.
Result<void> read_ends(const std::string& output, const std::function<void(const KeptEnd&)>& take);

}  // namespace proffer::batch
