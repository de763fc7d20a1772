#pragma once

// The job's output directory: made before the job is submitted, as the user that submits; complete
// or gone after it, which its last task does (frameworks/batch/executor).

#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/splits.h"

namespace proffer::batch {

class OutputDirectory {
 public:
  // Makes the directory and _temporary in it. Errors: kAlreadyExists, kNotFound for its parent,
  // kUnavailable with the system's words.
  static Result<OutputDirectory> prepare(std::string path);

  const std::string& path() const { return path_; }
  // Writes the job's plan (plan.h) into it, durably. Errors: kUnavailable with the system's words.
  Result<void> write_plan(const std::string& name, const std::vector<Split>& splits,
                          const std::vector<std::string>& arguments, const ShippedFiles& files);
  // Before these: copies the files at these paths, by their names, into the plan's directory.
  // Errors: kNotFound, kUnavailable with the system's words, or for a file that changes meanwhile;
  // kResourceExhausted.
  Result<std::map<std::string, LargeFile>> copy_files(
      const std::string& name, const std::map<std::string, std::string>& paths);
  // In place of it, of a job that awaits its plan: what that is made of.
  Result<void> write_request(const std::string& name, const PlanRequest& request,
                             const HostsOfPaths& hosts);
  // Of an array: its order beside the plan.
  Result<void> write_order(const JobOrder& order);
  // Of a job that was not submitted: removes the directory with all that is in it.
  void abandon();

 private:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}
  // The plan's own directory, made if it is not there. Errors: kUnavailable.
  Result<std::string> make_plan_directory(const std::string& name) const;
  std::string path_;
};

}  // namespace proffer::batch
