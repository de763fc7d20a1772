#include "cli/service_forecast.h"

#include <algorithm>
#include <sstream>

#include "cli/live_snapshot.h"
#include "cli/programs.h"
#include "cli/service_client.h"
#include "common/text.h"
#include "sim/live_scenario.h"

namespace proffer::cli {
namespace {

// A simulation of 1,000 agents takes seconds.
constexpr Duration kForecastTimeMax = minutes(2);

const proto::LiveFramework* find_framework(const proto::LiveSnapshot& live, const FrameworkId& id) {
  for (const proto::LiveFramework& one : live.frameworks) {
    if (one.framework == id) return &one;
  }
  return nullptr;
}

// Asks of an app are named APP.VERSION.
bool is_ask_of(const AskName& ask, const std::string& app) {
  const std::string_view name = ask.str();
  return name.starts_with(app + ".") &&
         name.find_first_not_of("0123456789", app.size() + 1) == name.npos;
}

bool is_instance_of(const TaskId& task, const std::string& app) {
  const std::optional<InstanceName> name = parse_instance(task);
  return name && name->app == app;
}

// The lines of the report that concern these apps.
std::vector<std::string> answers(const std::string& report,
                                 const std::vector<proto::ServicePlan>& plans,
                                 const RoleName& role) {
  std::vector<std::string> lines;
  bool fits = true;
  std::istringstream stream(report);
  for (std::string line; std::getline(stream, line);) {
    constexpr std::string_view kWaits = "waits        ";
    constexpr std::string_view kRevoked = "revoked      ";
    if (line.starts_with(kWaits)) {
      const bool is_ours = std::any_of(plans.begin(), plans.end(), [&](const auto& plan) {
        return line.find(text("/", plan.app, ".")) != line.npos;
      });
      if (!is_ours) continue;
      fits = false;
      lines.push_back(text("would wait: ", line.substr(kWaits.size())));
    } else if (line.starts_with(kRevoked) &&
               line.find(text(" for role ", role.str(), ":")) != line.npos) {
      lines.push_back(text("would be preempted: ", line.substr(kRevoked.size())));
    }
  }
  if (fits) lines.insert(lines.begin(), "it would fit");
  return lines;
}

}  // namespace

Result<proto::LiveSnapshot> with_plans(proto::LiveSnapshot live, const FrameworkId& id,
                                       const std::vector<proto::ServicePlan>& plans) {
  const proto::LiveFramework* found = find_framework(live, id);
  if (found == nullptr) {
    return Error::not_found(text("there is no framework ", quoted(id.str())));
  }
  for (const proto::ServicePlan& plan : plans) {
    if (plan.wants.empty()) continue;
    proto::LiveAsk wanted = plan.wants.front();
    std::erase_if(live.asks, [&](const proto::LiveAsk& ask) {
      return ask.framework == id && is_ask_of(ask.ask.name, plan.app);
    });
    std::erase_if(live.tasks, [&](const proto::LiveTask& task) {
      if (task.framework != id || !is_instance_of(task.task, plan.app)) return false;
      if (task.ask != wanted.ask.name || wanted.ask.count == 0) return true;
      --wanted.ask.count;  // It runs already.
      return false;
    });
    wanted.framework = id;
    if (wanted.ask.count > 0) live.asks.push_back(std::move(wanted));
  }
  return live;
}

Result<std::vector<std::string>> forecast(const Masters& master, const FrameworkId& framework,
                                          const std::vector<proto::ServicePlan>& plans) {
  if (std::all_of(plans.begin(), plans.end(), [](auto& plan) { return plan.wants.empty(); })) {
    return std::vector<std::string>();
  }
  Result<proto::LiveSnapshot> live = take_snapshot(master);
  if (!live) return live.error();
  Result<proto::LiveSnapshot> planned = with_plans(*std::move(live), framework, plans);
  if (!planned) return planned.error();
  const RoleName role = find_framework(*planned, framework)->role;
  const Result<sim::LiveScenario> scenario = sim::scenario_of(*planned);
  if (!scenario) return scenario.error();

  const Result<std::string> report =
      output_of("simulate", {std::string(kGivenFile)}, sim::to_yaml(*scenario), kForecastTimeMax);
  if (!report) return report.error();
  return answers(*report, plans, role);
}

}  // namespace proffer::cli
