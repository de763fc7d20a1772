#pragma once

// One job on a disk that fails once. The command submits it, the scheduler's core decides, and the
// executor's code runs its tasks, each in a process of its own with real commands and files. The
// commands write a journal on another disk.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/shell/job_file.h"
#include "frameworks/batch/shell/results.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "tests/frameworks/batch/job_scenario.h"
#include "tests/frameworks/batch_disk/failing_disk.h"
#include "tests/support/temporary_directory.h"

namespace proffer::batch::disk_test {

class DiskJob {
 public:
  DiskJob(Fault fault, int64_t index);
  ~DiskJob();

  std::string disk() const { return root_ / "disk"; }
  std::string output() const { return root_ / "disk/out"; }
  std::string beside(const std::string& name) const { return root_ / "beside/" + name; }
  FailingDisk& failing() { return failing_; }
  JobScenario& scheduler() { return *scheduler_; }

  // Submits like `proffer batch submit`. If it fails, it must leave nothing behind, and is
  // submitted once more.
  void submit(const JobText& flags);
  // Runs until the job has ended.
  void run();
  // False if the retry is refused.
  bool retry();

  // Counts the journal's lines whose first word is `first`, by the rest of the line.
  std::map<std::string, int> journal(const std::string& first) const;
  // The output of each finished element, as `proffer batch results` reads it.
  std::map<uint32_t, std::string> results() const;
  std::string output_of_parts() const;
  // The number of tasks that failed or were killed, and the finished tasks that ran again.
  int failed_tasks() const { return failed_tasks_; }
  const std::vector<std::string>& repeated() const { return repeated_; }

 private:
  struct Told;
  std::string in_child(const std::function<std::string()>& what, bool& was_killed);
  void run_one(const std::string& id);

  const test::TemporaryDirectory root_;
  FailingDisk failing_;
  Loop loop_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<JobScenario> scheduler_;
  int failed_tasks_ = 0;
  std::set<std::string> finished_;
  std::vector<std::string> repeated_;
};

}  // namespace proffer::batch::disk_test
