// proffer service autoscale: measures the apps that are scaled by their load, again and again, and
// tells their scheduler, which decides. measure() is what it does for one app.

#include "cli/service_autoscale.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "cli/agent_status.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/service_client.h"
#include "common/printable.h"
#include "common/text.h"
#include "net/http_get.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::cli {
namespace {

// Of one app at a time, in turn: their mean stands for the others.
constexpr size_t kMeasuredMax = 64;
constexpr size_t kNumberBytesMax = 4'096;
constexpr Duration kNumberWithin = seconds(1);
constexpr Duration kEveryMin = seconds(1);
constexpr Duration kEveryMax = seconds(20);

using Clock = std::chrono::steady_clock;
using Figures = std::vector<proto::ServiceFigure>;

// A number, as 12 or 0.5, alone in the answer.
std::optional<int64_t> ask_instance(const std::string& host, uint16_t port,
                                    const std::string& path) {
  std::string body;
  const auto append = [&body](std::string_view bytes) {
    if (body.size() + bytes.size() <= kNumberBytesMax) body += bytes;
  };
  const Result<HttpAnswer> answered =
      http_get({.address = text(host, ':', port)}, path, append,
               {.begin_max = kNumberWithin, .end_max = kNumberWithin});
  if (!answered || answered->status != 200) return std::nullopt;
  const Result<int64_t> number = parse_milli(trimmed(body));
  return number ? std::optional(*number) : std::nullopt;
}

class Measurer {
 public:
  Measurer(Masters master, ServiceClient client)
      : master_(std::move(master)), client_(std::move(client)) {}

  // One round over all apps. What cannot be measured is left out, and the scheduler says so.
  Result<std::vector<proto::ServiceChange>> round() {
    const auto apps = client_.list();
    if (!apps) return apps.error();
    std::vector<proto::ServiceChange> said;
    std::map<TaskId, Used> before = std::exchange(used_, {});
    ++rounds_;
    const Result<FrameworkId> framework = client_.framework();
    for (const proto::ServiceAppRow& app : *apps) {
      if (!app.scale || app.state == "stopping" || app.state == "unattended") continue;
      const auto page = client_.status(app.app);
      if (!page) continue;
      if (!framework && app.scale->source != "http") {
        said.push_back({.app = app.app, .result = framework.error().message()});
        continue;
      }
      proto::ServiceCall call{.verb = "figures", .app = app.app};
      call.figures = measure(*app.scale, framework ? text(framework->str(), '/', app.app, '.') : "",
                             page->instances, before);
      const Result<std::string> answer = client_.ask(call);
      if (!answer) {
        said.push_back({.app = app.app, .result = answer.error().message()});
        continue;
      }
      const auto changes = proto::parse_service_changes(*answer);
      if (changes) said.insert(said.end(), changes->begin(), changes->end());
    }
    return said;
  }

 private:
  struct Used {
    int64_t cpu_nanos = 0;
    Clock::time_point at = {};
  };

  // `prefix`: FRAMEWORK/APP., of the app's tasks.
  Figures measure(const proto::ServiceScale& scale, const std::string& prefix,
                  std::vector<proto::ServiceInstanceRow> instances,
                  const std::map<TaskId, Used>& before) {
    std::erase_if(instances, [](const auto& one) { return !one.ready; });
    if (instances.size() > kMeasuredMax) {
      std::rotate(instances.begin(),
                  instances.begin() + static_cast<std::ptrdiff_t>(rounds_ % instances.size()),
                  instances.end());
      if (scale.source == "http") instances.resize(kMeasuredMax);
    }
    return scale.source == "http" ? by_http(scale, instances)
                                  : by_agents(scale, prefix, instances, before);
  }

  static Figures by_http(const proto::ServiceScale& scale,
                         const std::vector<proto::ServiceInstanceRow>& instances) {
    Figures figures;
    for (const proto::ServiceInstanceRow& one : instances) {
      const auto port = one.ports.find(scale.port);
      if (one.host.empty() || port == one.ports.end()) continue;
      const auto figure = ask_instance(one.host, port->second, scale.path);
      if (figure) figures.push_back({.task = one.task, .milli = *figure});
    }
    return figures;
  }

  // Of CPUs since the round before, so an instance counts from its second round on.
  Figures by_agents(const proto::ServiceScale& scale, const std::string& prefix,
                    const std::vector<proto::ServiceInstanceRow>& instances,
                    const std::map<TaskId, Used>& before) {
    const auto rows =
        call_list<proto::TaskRow>(master_, "tasks", {.prefix = prefix}, proto::parse_tasks);
    if (!rows) return {};
    std::set<TaskId> wanted;
    for (const proto::ServiceInstanceRow& one : instances) wanted.insert(one.task);
    std::map<TaskId, const proto::TaskRow*> tasks;
    std::set<std::string> addresses;
    for (const proto::TaskRow& row : *rows) {
      if (!wanted.contains(row.task) || row.http_address.empty()) continue;
      tasks[row.task] = &row;
      addresses.insert(row.http_address);
    }
    Figures figures;
    for (const std::string& address : addresses) {
      const std::optional<proto::AgentStatus> status = ask_agent(address);
      const Clock::time_point at = Clock::now();
      if (!status) continue;
      for (const proto::AgentExecutorRow& executor : status->executors) {
        const proto::TaskRow* row = task_of(executor, tasks);
        if (row == nullptr) continue;
        const auto figure = scale.source == "memory" ? memory_of(executor, *row)
                                                     : cpu_of(executor, *row, at, before);
        if (figure) figures.push_back({.task = row->task, .milli = *figure});
      }
    }
    return figures;
  }

  static std::optional<int64_t> memory_of(const proto::AgentExecutorRow& executor,
                                          const proto::TaskRow& row) {
    const int64_t mebibytes = row.resources.amounts[ResourceKind::kMem] / 1'000;
    if (!executor.usage.memory_bytes || mebibytes <= 0) return std::nullopt;
    return *executor.usage.memory_bytes / 1'024 * 1'000 / (mebibytes * 1'024);
  }

  std::optional<int64_t> cpu_of(const proto::AgentExecutorRow& executor, const proto::TaskRow& row,
                                Clock::time_point at, const std::map<TaskId, Used>& before) {
    const int64_t milli_cpus = row.resources.amounts[ResourceKind::kCpus];
    if (!executor.usage.cpu_nanos || milli_cpus <= 0) return std::nullopt;
    used_[row.task] = {.cpu_nanos = *executor.usage.cpu_nanos, .at = at};
    const auto last = before.find(row.task);
    if (last == before.end()) return std::nullopt;
    const int64_t used = std::max<int64_t>(*executor.usage.cpu_nanos - last->second.cpu_nanos, 0);
    const int64_t micros =
        std::chrono::duration_cast<std::chrono::microseconds>(at - last->second.at).count();
    if (micros <= 0) return std::nullopt;
    // used / 1000 micros of one CPU are 1000 thousandths of `micros`; of milli_cpus so many more.
    return used / micros * 1'000 / milli_cpus;
  }

  const Masters master_;
  const ServiceClient client_;
  std::map<TaskId, Used> used_;
  size_t rounds_ = 0;
};

}  // namespace

const proto::TaskRow* task_of(const proto::AgentExecutorRow& executor,
                              const std::map<TaskId, const proto::TaskRow*>& tasks) {
  const auto row = tasks.find(TaskId(executor.executor.str()));
  if (row == tasks.end() || executor.tasks != 1) return nullptr;
  return executor.framework == row->second->framework ? row->second : nullptr;
}

int run_service_autoscale(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string every_text = "5s";
  bool json = false;
  bool once = false;
  Arguments arguments("proffer service autoscale [--every D] [--once]",
                      "measure the apps that have scale in their files, and tell their scheduler");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "the scheduler's name or id (service)");
  arguments.option("--every", &every_text, "between two rounds, 1s to 20s (5s)");
  arguments.flag("--json", &json, "one JSON object in a line for each change");
  arguments.flag("--once", &once, "measure one round and end");
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<Duration> every = parse_duration(every_text);
  if (!every) return usage_error(Error(every.error()).in("--every"), json);
  if (*every < kEveryMin || *every > kEveryMax) {
    return usage_error(
        Error::invalid_argument(text("--every must be from ", to_text(kEveryMin), " to ",
                                     to_text(kEveryMax), ", not ", to_text(*every))),
        json);
  }
  Measurer measurer(*master, ServiceClient(*master, framework));
  std::map<std::string, std::string> told;  // by app, what was said last
  std::string trouble;
  while (true) {
    const auto begun = Clock::now();
    const auto said = measurer.round();
    if (!said && once) return print_error(said.error(), json);
    if (!said && said.error().message() != trouble) print_error(said.error(), json);
    trouble = said ? "" : said.error().message();
    for (const proto::ServiceChange& one : said ? *said : std::vector<proto::ServiceChange>()) {
      if (std::exchange(told[one.app], one.result) == one.result) continue;
      print_line(json ? proto::service_changes_json({one}) : text(one.app, ": ", one.result));
    }
    if (once) return 0;
    std::this_thread::sleep_until(begun + std::chrono::milliseconds(every->millis()));
  }
}

}  // namespace proffer::cli
