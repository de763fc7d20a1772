#pragma once

// Converts relayed requests in JSON into events of the core, and its answers into JSON.

#include <string>
#include <string_view>
#include <variant>

#include "frameworks/batch/core/jobs.h"
#include "proto/messages.h"

namespace proffer::batch {

// Jobs in one answer, since the master relays at most kRelayedBytesMax. More follow in further
// pages.
inline constexpr size_t kJobsPerPage = 20;
inline constexpr size_t kSchedulesPerPage = 10;

struct ListJobs {
  bool with_ended = false;
  JobId after = {};
  std::string pipeline = {};  // all jobs if empty
};
struct ListSchedules {
  std::string after = {};
  size_t fire_times = 1;  // next fire times of each
};
// Lists of jobs or schedules are answered at once; the core answers the others.
using Asked = std::variant<Request, ListJobs, ListSchedules>;

// Errors: kInvalidArgument for a malformed request, or an invalid job.
Result<Asked> parse_request(const proto::FrameworkRequest& request);
Caller caller_of(const proto::FrameworkRequest& request);

std::string show(const Jobs& jobs, const ListJobs& asked, const Caller& by, Time now);
std::string show(const Jobs& jobs, const ListSchedules& asked, const Caller& by, Time now);

}  // namespace proffer::batch
