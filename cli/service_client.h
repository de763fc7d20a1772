#pragma once

// What the verbs of `proffer service` ask of a scheduler and of the master.

#include <map>
#include <string>
#include <utility>

#include "cli/master_client.h"
#include "common/result.h"
#include "proto/json/service_json.h"
#include "proto/status.h"

namespace proffer::cli {

class ServiceClient {
 public:
  // `framework`: the scheduler's name or id.
  ServiceClient(Masters master, std::string framework)
      : master_(std::move(master)), framework_(std::move(framework)) {}

  // The scheduler's answer, as JSON. Blocks. Errors: the scheduler's; kUnavailable and kTimeout if
  // it or the master is away.
  Result<std::string> ask(const proto::ServiceCall& what) const;
  // An app with all its instances. Errors: as ask().
  Result<proto::ServiceStatusPage> status(const std::string& app) const;
  // What the master knows of the app's tasks; nothing if it does not answer.
  std::map<TaskId, proto::TaskRow> tasks(const std::string& app) const;

 private:
  const Masters master_;
  const std::string framework_;
};

// Where the task's agent is, as one reaches it from here: "127.0.0.1" or a host; empty: the master
// does not know, for a moment after its start.
std::string host_of(const proto::TaskRow& task);

}  // namespace proffer::cli
