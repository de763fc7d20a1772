#include "cli/service_client.h"

#include "sdk/request.h"

namespace proffer::cli {

Result<std::string> ServiceClient::ask(const proto::ServiceCall& what) const {
  return sdk::request({.master = to_text(master_), .framework = framework_},
                      proto::service_call_json(what));
}

Result<proto::ServiceStatusPage> ServiceClient::status(const std::string& app) const {
  proto::ServiceStatusPage all;
  std::string after;
  while (true) {
    const Result<std::string> answer = ask({.verb = "status", .app = app, .after = after});
    if (!answer) return answer.error();
    Result<proto::ServiceStatusPage> page = proto::parse_service_status(*answer);
    if (!page) return std::move(page).error().in("the scheduler's answer");
    all.app = std::move(page->app);
    for (auto& row : page->instances) all.instances.push_back(std::move(row));
    if (page->next.empty() || page->next == after) return all;
    after = page->next;
  }
}

std::map<TaskId, proto::TaskRow> ServiceClient::tasks(const std::string& app) const {
  std::map<TaskId, proto::TaskRow> tasks;
  const auto rows =
      call_list<proto::TaskRow>(master_, "tasks", {.prefix = app + "."}, proto::parse_tasks);
  if (!rows) return tasks;
  for (const proto::TaskRow& row : *rows) tasks[row.task] = row;
  return tasks;
}

std::string host_of(const proto::TaskRow& task) {
  const std::string& address = task.https_address.empty() ? task.http_address : task.https_address;
  // A socket: the agent is on this machine.
  if (address.starts_with('/')) return "127.0.0.1";
  return address.substr(0, address.rfind(':'));
}

}  // namespace proffer::cli
