#pragma once

// The requests of `proffer service` to a scheduler and to the master.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/master_client.h"
#include "common/result.h"
#include "proto/json/service_json.h"
#include "proto/status.h"

namespace proffer::cli {

// The duration of one watch request; then it is sent again, so that a lost answer is noticed.
inline constexpr Duration kWatchFor = seconds(20);

// The parts of an instance's task id: APP.VERSION.SLOT-UNIQUE. None: the id is not an instance's.
struct InstanceName {
  std::string app = {};
  int64_t version = 0;
  int64_t slot = 0;
};
std::optional<InstanceName> parse_instance(const TaskId& task);

// The id of the framework with this id or name. Of several with one name the connected one counts,
// as for the master. Errors: kUnavailable: there is none; kInvalidArgument: several are connected,
// and the rows do not show which one the master would choose.
Result<FrameworkId> framework_named(const std::vector<proto::FrameworkRow>& rows,
                                    const std::string& word);

// The query to the master for the tasks of the framework's app, and the test whether a task is an
// instance of it: a prefix is not enough, since app "web.api" begins like "web", and framework
// "service-1-10" like "service-1-1".
proto::TaskQuery instances_query(const FrameworkId& framework, const std::string& app, bool ended);
bool is_instance_of(const proto::TaskRow& task, const FrameworkId& framework,
                    const std::string& app);

// The instances of the framework's app that the master knows; with `ended` also ended ones. Blocks.
// Errors: the master's.
Result<std::vector<proto::TaskRow>> instances_of(const Masters& master,
                                                 const FrameworkId& framework,
                                                 const std::string& app, bool ended);

class ServiceClient {
 public:
  // `framework`: the scheduler's name or id.
  ServiceClient(Masters master, std::string framework)
      : master_(std::move(master)), framework_(std::move(framework)) {}

  // The scheduler's answer, as JSON. Blocks. Errors: the scheduler's; kUnavailable and kTimeout if
  // it or the master is away.
  Result<std::string> ask(const proto::ServiceCall& what) const;
  // The following read all pages. Errors: as ask().
  Result<std::vector<proto::ServiceAppRow>> list() const;
  Result<proto::ServiceStatusPage> status(const std::string& app) const;
  // The scheduler's id. Blocks. Errors: those of the master and of framework_named().
  Result<FrameworkId> framework() const;
  // While the scheduler is away: the status of the apps from the tasks that the master knows, all
  // "unattended". Blocks. Errors: kFailedPrecondition (the scheduler is connected), kNotFound (no
  // task of the app runs), or those of framework_named() and the master.
  Result<std::vector<proto::ServiceAppRow>> unattended_apps() const;
  Result<proto::ServiceStatusPage> unattended_status(const std::string& app) const;
  // The servers of these apps; of all apps if `apps` is empty. The answer comes as soon as the
  // version of the list differs from `seen`, or after `wait`.
  Result<proto::ServersPage> servers(const std::vector<std::string>& apps, const std::string& seen,
                                     Duration wait) const;

 private:
  // The app's tasks from the master; empty if it does not answer.
  std::map<TaskId, proto::TaskRow> tasks(const std::string& app) const;
  // The framework's id, if its scheduler is away; errors as unattended_apps().
  Result<FrameworkId> unattended_framework() const;

  const Masters master_;
  const std::string framework_;
};

// Polls the servers of apps.
class ServersFollower {
 public:
  ServersFollower(ServiceClient client, std::vector<std::string> apps)
      : client_(std::move(client)), apps_(std::move(apps)) {}

  // The first call returns at once; later calls return when the servers have changed, or after
  // `wait`. Blocks. Errors: as ServiceClient::servers(), half a second later.
  Result<proto::ServersPage> next(Duration wait);

 private:
  const ServiceClient client_;
  const std::vector<std::string> apps_;
  std::string seen_;
};

// "http=127.0.0.1:31000 admin=…"; empty if the host is unknown or there are no ports.
std::string addresses_of(const std::string& host, const std::map<std::string, uint16_t>& ports);

}  // namespace proffer::cli
