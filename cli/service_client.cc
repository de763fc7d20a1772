#include "cli/service_client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <thread>

#include "common/text.h"
#include "proto/json/json.h"
#include "sdk/request.h"

namespace proffer::cli {
namespace {

constexpr Duration kAnswersIn = seconds(10);
constexpr Duration kPause = milliseconds(500);
constexpr int kPagesTries = 10;

// Reads all pages of an answer one by one; `take` collects a page.
template <class Page>
Result<void> read_pages(const ServiceClient& client, proto::ServiceCall call,
                        Result<Page> (*parse)(std::string_view), auto&& take) {
  while (true) {
    const Result<std::string> answer = client.ask(call);
    if (!answer) return answer.error();
    Result<Page> page = parse(*answer);
    if (!page) return std::move(page).error().in("the scheduler's answer");
    std::string next = page->next;
    if (!take(*std::move(page)) || next.empty() || next == call.after) return {};
    call.after = std::move(next);
  }
}

template <class Row>
void append(std::vector<Row>& all, std::vector<Row>&& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Error no_scheduler(const std::string& framework) {
  return Error::unavailable(text("there is no framework ", quoted(framework)))
      .with_hint(
          "start the scheduler with `proffer service scheduler` (proffer dev and the installed "
          "package do so), or name another with --framework");
}

bool is_ready(const proto::TaskRow& task) {
  return task.state == proto::TaskState::kRunning && task.ready.value_or(true);
}

// Counts the task in the row of its app.
void count(const proto::TaskRow& task, const InstanceName& name, proto::ServiceAppRow& row) {
  row.app = name.app;
  row.owner = task.user;
  row.state = "unattended";
  row.version = std::max(row.version, static_cast<uint64_t>(name.version));
  ++row.live;
  if (is_ready(task)) ++row.ready;
}

}  // namespace

std::optional<InstanceName> parse_instance(const TaskId& task) {
  const std::string_view id = task.str();
  const size_t dash = id.rfind('-');
  const size_t slot_at = id.rfind('.', dash);
  if (dash == id.npos || slot_at == id.npos || slot_at == 0) return std::nullopt;
  const size_t version_at = id.rfind('.', slot_at - 1);
  if (version_at == id.npos) return std::nullopt;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Result<int64_t> version =
      parse_whole("version", id.substr(version_at + 1, slot_at - version_at - 1), 0, kMost);
  const Result<int64_t> slot =
      parse_whole("slot", id.substr(slot_at + 1, dash - slot_at - 1), 0, kMost);
  if (!version || !slot) return std::nullopt;
  return InstanceName{std::string(id.substr(0, version_at)), *version, *slot};
}

Result<FrameworkId> framework_named(const std::vector<proto::FrameworkRow>& rows,
                                    const std::string& word) {
  std::vector<const proto::FrameworkRow*> of_name;
  for (const proto::FrameworkRow& row : rows) {
    if (row.framework.str() == word) return row.framework;
    if (row.name == word) of_name.push_back(&row);
  }
  if (of_name.empty()) return no_scheduler(word);
  if (of_name.size() > 1) {
    std::erase_if(of_name, [](const proto::FrameworkRow* row) {
      return row->state != proto::FrameworkState::kConnected;
    });
  }
  if (of_name.size() == 1) return of_name.front()->framework;
  return Error::invalid_argument(
      text("several frameworks are named ", quoted(word), "; give the id: --framework ID"));
}

proto::TaskQuery instances_query(const FrameworkId& framework, const std::string& app, bool ended) {
  return {.prefix = text(framework.str(), '/', app, '.'), .ended = ended};
}

bool is_instance_of(const proto::TaskRow& task, const FrameworkId& framework,
                    const std::string& app) {
  const std::optional<InstanceName> name = parse_instance(task.task);
  return task.framework == framework && name && name->app == app;
}

Result<std::vector<proto::TaskRow>> instances_of(const Masters& master,
                                                 const FrameworkId& framework,
                                                 const std::string& app, bool ended) {
  auto rows = call_list<proto::TaskRow>(master, "tasks", instances_query(framework, app, ended),
                                        proto::parse_tasks);
  if (!rows) return rows;
  std::erase_if(*rows, [&](const auto& row) { return !is_instance_of(row, framework, app); });
  return rows;
}

Result<FrameworkId> ServiceClient::framework() const {
  const auto rows =
      call_list<proto::FrameworkRow>(master_, "frameworks", {}, proto::parse_frameworks);
  if (!rows) return rows.error();
  return framework_named(*rows, framework_);
}

Result<std::string> ServiceClient::ask(const proto::ServiceCall& what) const {
  Result<std::string> answer = sdk::request(
      {.master = to_text(master_), .framework = framework_, .timeout = kAnswersIn + what.wait},
      proto::service_call_json(what));
  if (!answer && answer.error().code() == ErrorCode::kNotFound &&
      answer.error().message().find("no framework") != std::string::npos) {
    return no_scheduler(framework_);
  }
  return answer;
}

Result<std::vector<proto::ServiceAppRow>> ServiceClient::list() const {
  std::vector<proto::ServiceAppRow> all;
  Result<void> read = read_pages<proto::ServiceAppsPage>(
      *this, {.verb = "list"}, proto::parse_service_apps, [&](proto::ServiceAppsPage&& page) {
        append(all, std::move(page.apps));
        return true;
      });
  if (!read) return std::move(read).error();
  return all;
}

Result<proto::ServiceStatusPage> ServiceClient::status(const std::string& app) const {
  proto::ServiceStatusPage all;
  Result<void> read = read_pages<proto::ServiceStatusPage>(
      *this, {.verb = "status", .app = app}, proto::parse_service_status,
      [&](proto::ServiceStatusPage&& page) {
        all.app = std::move(page.app);
        append(all.instances, std::move(page.instances));
        return true;
      });
  if (!read) return std::move(read).error();
  std::map<TaskId, proto::TaskRow> told;
  for (proto::ServiceInstanceRow& row : all.instances) {
    if (!row.host.empty() && !row.ports.empty()) continue;
    // The app has not reported its ports yet, or a scheduler of an earlier version launched it.
    if (told.empty()) told = tasks(app);
    const auto task = told.find(row.task);
    if (task == told.end()) continue;
    if (row.ports.empty()) row.ports = task->second.ports;
    if (row.host.empty()) {
      row.host = proto::host_of(task->second.http_address, task->second.https_address);
    }
  }
  return all;
}

Result<FrameworkId> ServiceClient::unattended_framework() const {
  const auto rows =
      call_list<proto::FrameworkRow>(master_, "frameworks", {}, proto::parse_frameworks);
  if (!rows) return rows.error();
  const Result<FrameworkId> id = framework_named(*rows, framework_);
  if (!id) return id;
  const bool is_connected = std::any_of(rows->begin(), rows->end(), [&](const auto& row) {
    return row.framework == *id && row.state == proto::FrameworkState::kConnected;
  });
  if (!is_connected) return id;
  return Error::failed_precondition(
      text("the scheduler of framework ", id->str(), " is connected"));
}

Result<std::vector<proto::ServiceAppRow>> ServiceClient::unattended_apps() const {
  const Result<FrameworkId> framework = unattended_framework();
  if (!framework) return framework.error();
  const auto tasks = call_list<proto::TaskRow>(master_, "tasks", {.prefix = framework->str() + "/"},
                                               proto::parse_tasks);
  if (!tasks) return tasks.error();
  std::map<std::string, proto::ServiceAppRow> rows;
  for (const proto::TaskRow& task : *tasks) {
    if (const auto name = parse_instance(task.task)) count(task, *name, rows[name->app]);
  }
  std::vector<proto::ServiceAppRow> all;
  for (auto& [app, row] : rows) all.push_back(std::move(row));
  return all;
}

Result<proto::ServiceStatusPage> ServiceClient::unattended_status(const std::string& app) const {
  const Result<FrameworkId> framework = unattended_framework();
  if (!framework) return framework.error();
  const Result<std::vector<proto::TaskRow>> tasks = instances_of(master_, *framework, app, false);
  if (!tasks) return tasks.error();
  proto::ServiceStatusPage page;
  for (const proto::TaskRow& task : *tasks) {
    const InstanceName name = *parse_instance(task.task);
    count(task, name, page.app);
    page.instances.push_back({.task = task.task,
                              .agent = task.agent,
                              .host = proto::host_of(task.http_address, task.https_address),
                              .slot = name.slot,
                              .version = static_cast<uint64_t>(name.version),
                              .state = std::string(to_text(task.state)),
                              .ready = is_ready(task),
                              .healthy = task.healthy,
                              .ports = task.ports,
                              .launched_at = task.launched_at});
  }
  if (page.instances.empty()) {
    return Error::not_found(text("no instance of app ", quoted(app), " runs"));
  }
  return page;
}

Result<proto::ServersPage> ServiceClient::servers(const std::vector<std::string>& apps,
                                                  const std::string& seen, Duration wait) const {
  proto::ServersPage all;
  bool is_one_version = false;
  // If the state changes between two pages, all pages are read again at once.
  for (int tries = 0; !is_one_version; ++tries) {
    if (tries == kPagesTries) {
      return Error::unavailable("the list of servers changes too fast to be read page by page")
          .with_hint("name fewer apps");
    }
    all = {};
    const bool is_first = tries == 0;
    Result<void> read = read_pages<proto::ServersPage>(
        *this,
        {.verb = "servers",
         .apps = apps,
         .seen = is_first ? seen : "",
         .wait = is_first ? wait : Duration()},
        proto::parse_servers, [&](proto::ServersPage&& page) {
          is_one_version = all.version.empty() || all.version == page.version;
          all.version = std::move(page.version);
          append(all.servers, std::move(page.servers));
          append(all.unknown, std::move(page.unknown));
          return is_one_version;
        });
    if (!read) return std::move(read).error();
  }
  std::map<std::string, std::map<TaskId, proto::TaskRow>> told;
  for (proto::ServerRow& row : all.servers) {
    if (!row.host.empty()) continue;
    const auto [of_app, is_new] = told.try_emplace(row.app);
    if (is_new) of_app->second = tasks(row.app);
    const auto task = of_app->second.find(row.task);
    if (task == of_app->second.end()) continue;
    row.host = proto::host_of(task->second.http_address, task->second.https_address);
  }
  return all;
}

std::map<TaskId, proto::TaskRow> ServiceClient::tasks(const std::string& app) const {
  std::map<TaskId, proto::TaskRow> tasks;
  const Result<FrameworkId> of = framework();
  if (!of) return tasks;
  const auto rows = instances_of(master_, *of, app, false);
  if (!rows) return tasks;
  for (const proto::TaskRow& row : *rows) tasks[row.task] = row;
  return tasks;
}

Result<proto::ServersPage> ServersFollower::next(Duration wait) {
  const auto paced =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::min(wait, kPause).millis());
  Result<proto::ServersPage> page =
      client_.servers(apps_, seen_, seen_.empty() ? Duration() : wait);
  const bool has_changed = page && std::exchange(seen_, page->version) != page->version;
  // A busy scheduler answers at once; pause before the next call.
  if (!has_changed) std::this_thread::sleep_until(paced);
  return page;
}

std::string addresses_of(const std::string& host, const std::map<std::string, uint16_t>& ports) {
  std::string addresses;
  if (host.empty()) return addresses;
  for (const auto& [name, port] : ports) {
    addresses += text(addresses.empty() ? "" : " ", name, "=", host, ":", port);
  }
  return addresses;
}

}  // namespace proffer::cli
