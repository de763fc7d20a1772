#pragma once

// The batch framework's requests and status in JSON: the requests of the CLI to its scheduler
// through the master, and the output of `--json`. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/batch_status.h"

namespace proffer::proto {

// {"job","owner","role","priority","phase","framework","map":{…},"reduce":{…},"array":{…},
// "input_bytes","retries","pipeline","stage","after":[{"job","on","fate"}],"submitted_at_s",
// "started_at_s","ended_at_s","retry_until_s","output","note","error","hint","failed_task"}
std::string batch_job_json(const BatchJob& job);
Result<BatchJob> parse_batch_job(std::string_view json);
// {"jobs":[…],"next"}: `next` is the last job of the page if more follow.
struct BatchPage {
  std::vector<BatchJob> jobs = {};
  std::string next = {};
  bool operator==(const BatchPage&) const = default;
};
std::string batch_page_json(const BatchPage& page);
Result<BatchPage> parse_batch_page(std::string_view json);

// A request to the scheduler: "submit" (order), "cancel" and "retry" (job), "list" (after, ended,
// pipeline), "status" (job, phase, wait); for schedules "schedules" (after, count), "pause",
// "resume" and "remove" (job: the schedule's name).
struct BatchCall {
  std::string verb = {};
  std::string job = {};
  std::string order = {};     // as bytes; hexadecimal in JSON
  bool ended = false;         // also list jobs that have ended
  std::string after = {};     // return the page after this job
  std::string pipeline = {};  // list only its stages
  int64_t count = 1;          // number of next fire times of each schedule; at most 100
  // For "status": the answer waits until the job is in another phase than this, at most for `wait`.
  std::string phase = {};
  Duration wait = {};
  bool operator==(const BatchCall&) const = default;
};
std::string batch_call_json(const BatchCall& call);
// Refuses unknown members.
Result<BatchCall> parse_batch_call(std::string_view json);

}  // namespace proffer::proto
