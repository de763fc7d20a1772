#pragma once

// Records that are made where they are written from: in the form of a CheckpointLog's file, so that
// a record is copied once, into the file.
//
//   std::string& out = batch.begin();
//   out += "…";  // the record; what is before it must be left alone
//   batch.end();

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {

class LogBatch {
 public:
  LogBatch() = default;
  explicit LogBatch(const std::vector<std::string>& records);

  // Makes room beforehand, so that nothing is copied as the batch grows.
  void reserve(size_t records, size_t bytes);

  std::string& begin();
  void end();
  void add(std::string_view record);

  size_t size() const { return records_.size(); }
  // As long as nothing is added.
  std::string_view record(size_t i) const;
  size_t bytes() const { return bytes_.size(); }  // with what the file adds to each record

  // The bytes for a file with this mark: they belong to the batch. Errors: kInvalidArgument: a
  // record above kCheckpointRecordBytesMax.
  Result<std::string_view> bytes_for(uint32_t mark);

 private:
  struct Span {
    size_t begin = 0;  // in bytes_, behind the frame
    size_t size = 0;
  };
  std::string bytes_;
  std::vector<Span> records_;
};

}  // namespace proffer
