#pragma once

// For programs that send a request to a framework through the master, as its users do.
// Scheduler::on_request receives it.
//
//   const auto answer = proffer::sdk::request({.framework = "batch"}, R"({"verb":"list"})");

#include <string>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer::sdk {

struct RequestOptions {
  // A socket's path, HOST:PORT, or a list of masters separated by commas. Empty: $PROFFER_MASTER,
  // else the cluster that was joined, else the master of this machine.
  std::string master = {};
  std::string framework = {};      // its id or name
  RoleName role = {};              // to charge: the framework's or one below it; empty: none
  Duration timeout = seconds(10);  // for one answer
  // An unreachable master or scheduler is retried for this time, and at least a few times.
  Duration patience = {};
};

// Returns the scheduler's answer to `data`, which is text. Blocks. A request without an answer is
// retried with the same id, so that its scheduler receives it once. Errors: kInvalidArgument (names
// the option), kUnavailable and kTimeout (no answer came; the request may have been received),
// kNotFound (there is no such framework), kPermissionDenied, and those of the scheduler.
Result<std::string> request(const RequestOptions& options, const std::string& data);

}  // namespace proffer::sdk
