#pragma once

// The job's output directory. It is made before the job is submitted, as the submitting user. After
// the job it is complete or gone; the last task does that (frameworks/batch/executor).

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
  // Call it before these: copies the files at these paths, by their names, into the plan's
  // directory. Errors: kNotFound, kUnavailable with the system's words, or for a file that changes
  // meanwhile; kResourceExhausted.
  Result<std::map<std::string, LargeFile>> copy_files(
      const std::string& name, const std::map<std::string, std::string>& paths);
  // Instead of the plan, for a job that awaits its plan: writes the input of the plan.
  Result<void> write_request(const std::string& name, const PlanRequest& request,
                             const HostsOfPaths& hosts);
  // For an array: writes the variables of this shell beside the plan, for its user only.
  Result<void> write_exported(const std::string& name, const proto::Environment& exported);
  // For an array: writes its order beside the plan.
  Result<void> write_order(const JobOrder& order);
  // For a job that was not submitted: removes the directory with its contents.
  void abandon();

 private:
  explicit OutputDirectory(std::string path) : path_(std::move(path)) {}
  // The plan's own directory, made if it does not exist. Errors: kUnavailable.
  Result<std::string> make_plan_directory(const std::string& name) const;
  std::string path_;
};

}  // namespace proffer::batch
