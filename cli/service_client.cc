#include "cli/service_client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>

#include "common/text.h"
#include "sdk/request.h"

namespace proffer::cli {
namespace {

constexpr Duration kAnswersIn = seconds(10);
constexpr Duration kPause = milliseconds(500);
constexpr int kPagesTries = 10;

// All pages of an answer, one after the other: `take` keeps a page.
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

}  // namespace

Result<std::string> ServiceClient::ask(const proto::ServiceCall& what) const {
  return sdk::request(
      {.master = to_text(master_), .framework = framework_, .timeout = kAnswersIn + what.wait},
      proto::service_call_json(what));
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
    // One that has not told its ports yet, or that a scheduler of an earlier version launched.
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

Result<proto::ServersPage> ServiceClient::servers(const std::vector<std::string>& apps,
                                                  const std::string& seen, Duration wait) const {
  proto::ServersPage all;
  bool is_one_version = false;
  // Something may change between two pages: then they are read again, without waiting.
  for (int tries = 0; !is_one_version; ++tries) {
    if (tries == kPagesTries) {
      return Error::unavailable("the servers change faster than their pages can be read")
          .with_hint("ask for fewer apps");
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
  const auto rows =
      call_list<proto::TaskRow>(master_, "tasks", {.prefix = app + "."}, proto::parse_tasks);
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
  // Nobody who answers at once, as a busy scheduler does, is asked without a pause.
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
