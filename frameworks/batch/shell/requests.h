#pragma once

// Requests that the master relays, as bytes of JSON, into what the core is asked; and its pictures
// back.

#include <string>
#include <string_view>
#include <variant>

#include "frameworks/batch/core/jobs.h"
#include "proto/messages.h"

namespace proffer::batch {

// Jobs in one answer, which the master relays only up to kRelayedBytesMax; more go in further
// pages.
inline constexpr size_t kJobsPerPage = 20;
inline constexpr size_t kSchedulesPerPage = 10;

struct ListJobs {
  bool with_ended = false;
  JobId after = {};
  std::string pipeline = {};  // of all jobs if empty
};
struct ListSchedules {
  std::string after = {};
  size_t fire_times = 1;  // to come, of each
};
// Pictures of all jobs or schedules are answered at once; the others are the core's to answer.
using Asked = std::variant<Request, ListJobs, ListSchedules>;

// Errors: kInvalidArgument for what is no request, or a job that cannot be.
Result<Asked> parse_request(const proto::FrameworkRequest& request);
Caller caller_of(const proto::FrameworkRequest& request);

std::string show(const Jobs& jobs, const ListJobs& asked, const Caller& by, Time now);
std::string show(const Jobs& jobs, const ListSchedules& asked, const Caller& by, Time now);

}  // namespace proffer::batch
