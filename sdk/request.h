#pragma once

// For programs that ask a framework something, through the master, as its users do: the other end
// of Scheduler::on_request.
//
//   const auto answer = proffer::sdk::request({.framework = "batch"}, R"({"verb":"list"})");

#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer::sdk {

struct RequestOptions {
  // A socket's path or HOST:PORT, of several masters a list with commas; empty: $PROFFER_MASTER,
  // the one joined, or the one of this machine.
  std::string master = {};
  std::string framework = {};      // its id or name
  RoleName role = {};              // to be charged: the framework's or one below it; empty: none
  Duration timeout = seconds(10);  // for one answer
  // So long an unreachable master or scheduler is asked again; always a few times.
  Duration patience = {};
};

// Blocks. The scheduler's answer to `data`, which is text. A request that gets no answer is made
// again with the same id, so that its scheduler hears of it once. Errors: kInvalidArgument (which
// option), kUnavailable and kTimeout (nobody answered; the request may have been heard),
// kNotFound (there is no such framework), kPermissionDenied, and those of the scheduler.
Result<std::string> request(const RequestOptions& options, const std::string& data);

}  // namespace proffer::sdk
