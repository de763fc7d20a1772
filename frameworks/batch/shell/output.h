#pragma once

// The job's output directory: made before the job starts, complete or gone after it.

#include <cstdint>
#include <string>

#include "common/result.h"

namespace proffer::batch {

class OutputDirectory {
 public:
  // Makes the directory and _temporary in it. Errors: kAlreadyExists, kNotFound for its parent,
  // kUnavailable with the system's words.
  static Result<OutputDirectory> prepare(std::string path);

  const std::string& path() const { return path_; }
  // All parts are there: writes _SUCCESS and removes _temporary. Errors: kFailedPrecondition names
  // a part that is not there, so that a directory which is not the agents' is noticed.
  Result<void> commit(int64_t parts);
  // Removes the directory, which is ours, with all that is in it.
  void abandon();

 private:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace proffer::batch
