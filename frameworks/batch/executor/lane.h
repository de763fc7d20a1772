#pragma once

// The files for the output of an array's elements and for their ends: the lanes of the job's output
// directory (ElementEnd in work.h).

#include <cstdint>
#include <string>

#include "common/result.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/posix.h"

namespace proffer::batch {

// A lane that belongs to this process until the process ends or the lane is closed.
class Lane {
 public:
  // Opens the first lane from `first` on that no other task has, and that was left tidy: processes
  // that outlive a killed task may still write into its lane. Errors: kUnavailable from the system.
  static Result<Lane> open(const std::string& output, uint32_t first);

  int out() const { return out_.get(); }
  int err() const { return err_.get(); }
  // Call it before an element begins: it reserves space for the element's end, so that a disk that
  // is full by then has it. Errors: kUnavailable from the system; the element must not begin.
  Result<void> begin();
  // Stores the end of an element, which survives even if this process is killed afterwards. `end`
  // receives the place of its output. A failed write is retried for some seconds. Errors:
  // kUnavailable from the system: this end is lost.
  Result<void> keep(ElementEnd& end);
  // The end of the last element's standard error, at most this many bytes.
  std::string stderr_tail(const ElementEnd& end, size_t bytes_max) const;
  // Writes everything to disk; another task may then continue in the lane. Errors: kUnavailable
  // from the system: stored ends may be lost, as on NFS if the disk is full.
  Result<void> close();

 private:
  Lane(Fd index, int64_t index_bytes, Fd out, Fd err)
      : index_(std::move(index)),
        index_bytes_(index_bytes),
        out_(std::move(out)),
        err_(std::move(err)) {}
  Result<void> measure();
  Result<void> put(const ElementEnd& end);

  Fd index_;
  int64_t index_bytes_ = 0;  // of whole entries; the place of the next one
  int64_t room_until_ = 0;   // of the index
  Fd out_;
  Fd err_;
  int64_t out_begin_ = 0;
  int64_t err_begin_ = 0;
  bool has_kept_ = false;
};

}  // namespace proffer::batch
