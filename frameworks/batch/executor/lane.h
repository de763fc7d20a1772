#pragma once

// Where elements of an array put what they write, and how they ended: the lanes of the job's output
// directory (ElementEnd in work.h).

#include <cstdint>
#include <string>

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
  // Before an element begins: takes the room for its end, so that a disk that is full by then has
  // it. Errors: kUnavailable from the system; the element must not begin.
  Result<void> begin();
  // The element has ended. From here on its end is kept, also if this process is killed. `end` gets
  // the place of its output. A write that fails is tried again for some seconds.
  // Errors: kUnavailable from
  // the system: nobody will find this end.
  Result<void> keep(ElementEnd& end);
  // The end of what the last element wrote to standard error, at most so many bytes.
  std::string stderr_tail(const ElementEnd& end, size_t bytes_max) const;
  // All is on disk, and another may go on here. Errors: kUnavailable from the system: ends that
  // were kept may be gone, as on NFS if the disk is full.
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
  int64_t index_bytes_ = 0;  // of whole entries; the next one's place
  int64_t room_until_ = 0;   // of the index
  Fd out_;
  Fd err_;
  int64_t out_begin_ = 0;
  int64_t err_begin_ = 0;
  bool has_kept_ = false;
};

}  // namespace proffer::batch
