// proffer service autoscale: repeatedly measures the apps that are scaled by their load, and
// reports to their scheduler, which decides. Read Measurer::round first.

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
#include "cli/http_questions.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "cli/service_client.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::cli {
namespace {

// The most instances of one app that are asked in a round, in turn: their mean stands for all.
constexpr size_t kAskedMax = 64;
constexpr size_t kNumberBytesMax = 4'096;
// A round does not wait longer than this for agents and instances, even if many do not answer.
constexpr HttpBounds kRoundBounds{.at_once = 256, .each = seconds(1), .all = seconds(3)};

using Clock = std::chrono::steady_clock;
using Figures = std::vector<proto::ServiceFigure>;

// The scheduler or the master does not answer: a call for the next app would take as long.
bool is_away(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kTimeout;
}

// A number such as 12 or 0.5, if it is the whole answer.
std::optional<int64_t> number_in(const HttpReply& reply) {
  if (!reply.body) return std::nullopt;
  const Result<int64_t> number = parse_milli(trimmed(*reply.body));
  return number ? std::optional(*number) : std::nullopt;
}

// An app in a round: the instances to measure, and their tasks.
struct MeasuredApp {
  std::string app = {};
  proto::ServiceScale scale = {};
  std::vector<proto::ServiceInstanceRow> instances = {};
  std::map<TaskId, proto::TaskRow> tasks = {};  // empty if the load is read over HTTP
};

struct Round {
  std::vector<proto::ServiceChange> said = {};    // the scheduler's answers to the figures
  std::vector<proto::ServiceChange> failed = {};  // the apps whose figures were refused, and why
};

class Measurer {
 public:
  Measurer(Masters master, std::string framework)
      : master_(std::move(master)), framework_(std::move(framework)) {}

  // One round over all apps. Figures that cannot be measured are left out; the scheduler reports
  // it.
  Result<Round> round() {
    const Result<FrameworkId> id = ServiceClient(master_, framework_).framework();
    if (!id) return id.error();
    // The round uses the framework's id, because the name may soon mean another framework.
    const ServiceClient client(master_, id->str());
    ++rounds_;
    const Result<std::vector<MeasuredApp>> apps = find_apps(client, *id);
    if (!apps) return apps.error();
    const std::map<std::string, HttpReply> replies = ask(*apps, *id);
    const std::vector<Figures> figures = figures_of(*apps, *id, replies);

    Round round;
    for (size_t i = 0; i < apps->size(); ++i) {
      const std::string& app = (*apps)[i].app;
      proto::ServiceCall call{.verb = "figures", .app = app};
      call.figures = figures[i];
      const Result<std::string> answer = client.ask(call);
      if (!answer && is_away(answer.error())) return answer.error();
      if (!answer) {
        round.failed.push_back({.app = app, .result = answer.error().message()});
        continue;
      }
      const auto changes = proto::parse_service_changes(*answer);
      if (changes) round.said.insert(round.said.end(), changes->begin(), changes->end());
    }
    return round;
  }

 private:
  struct Used {
    int64_t cpu_nanos = 0;
    Clock::time_point at = {};
  };

  // The scheduler hides the scaling of other users' apps from this user: they are not measured.
  Result<std::vector<MeasuredApp>> find_apps(const ServiceClient& client,
                                             const FrameworkId& framework) const {
    const auto rows = client.list();
    if (!rows) return rows.error();
    std::vector<MeasuredApp> apps;
    for (const proto::ServiceAppRow& row : *rows) {
      if (!row.scale || row.state == "stopping" || row.state == "unattended") continue;
      auto page = client.status(row.app);
      if (!page && is_away(page.error())) return page.error();
      if (!page) continue;
      MeasuredApp app{.app = row.app, .scale = *row.scale, .instances = std::move(page->instances)};
      std::erase_if(app.instances, [](const auto& one) { return !one.ready; });
      if (app.scale.source == "http") {
        take_turns(app.instances);
      } else {
        auto tasks = tasks_of(framework, app.app);
        if (!tasks && is_away(tasks.error())) return tasks.error();
        if (!tasks) continue;  // A failed measurement is not a missing figure.
        app.tasks = *std::move(tasks);
      }
      apps.push_back(std::move(app));
    }
    return apps;
  }

  void take_turns(std::vector<proto::ServiceInstanceRow>& instances) const {
    if (instances.size() <= kAskedMax) return;
    const size_t first = rounds_ * kAskedMax % instances.size();
    std::rotate(instances.begin(), instances.begin() + static_cast<std::ptrdiff_t>(first),
                instances.end());
    instances.resize(kAskedMax);
  }

  Result<std::map<TaskId, proto::TaskRow>> tasks_of(const FrameworkId& framework,
                                                    const std::string& app) const {
    auto rows = instances_of(master_, framework, app, false);
    std::map<TaskId, proto::TaskRow> tasks;
    if (!rows) return rows.error();
    for (proto::TaskRow& row : *rows) tasks[row.task] = std::move(row);
    return tasks;
  }

  // Asks each agent once for all apps, and each instance that serves its own number.
  std::map<std::string, HttpReply> ask(const std::vector<MeasuredApp>& apps,
                                       const FrameworkId& framework) {
    std::map<std::string, AskingTurn> by_name;
    const auto add = [&](const std::string& name, HttpQuestion question, size_t number,
                         std::optional<AgentId> agent = {}) {
      by_name.try_emplace(name, AskingTurn{.name = name,
                                           .agent = std::move(agent),
                                           .question = std::move(question),
                                           .number = number,
                                           .was_silent = silent_.contains(name)});
    };
    for (const MeasuredApp& app : apps) {
      for (const auto& [task, row] : app.tasks) {
        if (by_name.contains(name_of(row.agent))) continue;
        Result<HttpQuestion> question =
            usage_question(places_, framework, row.agent, row.http_address);
        if (question) add(name_of(row.agent), *std::move(question), 0, row.agent);
      }
      for (size_t i = 0; i < app.instances.size(); ++i) {
        const std::string address = address_of(app, app.instances[i]);
        if (address.empty()) continue;
        add(address + app.scale.path,
            {.place = {.address = address}, .target = app.scale.path, .bytes_max = kNumberBytesMax},
            i);
      }
    }
    std::vector<AskingTurn> turns;
    for (auto& [name, turn] : by_name) turns.push_back(std::move(turn));
    sort_turns(turns);
    std::vector<HttpQuestion> questions;
    for (const AskingTurn& turn : turns) questions.push_back(turn.question);
    std::vector<HttpReply> answers = ask_all(questions, kRoundBounds);
    silent_.clear();
    std::map<std::string, HttpReply> replies;
    for (size_t i = 0; i < turns.size(); ++i) {
      if (answers[i].is_asked && !answers[i].body) silent_.insert(turns[i].name);
      if (!answers[i].body && turns[i].agent) places_.forget(framework, *turns[i].agent);
      replies[turns[i].name] = std::move(answers[i]);
    }
    return replies;
  }

  static std::string name_of(const AgentId& agent) { return text("agent ", agent.str()); }
  // The address at which the instance serves its number; empty if the load is not read over HTTP,
  // or the address is not known yet.
  static std::string address_of(const MeasuredApp& app, const proto::ServiceInstanceRow& one) {
    const auto port = one.ports.find(app.scale.port);
    if (app.scale.source != "http" || one.host.empty() || port == one.ports.end()) return {};
    return text(one.host, ':', port->second);
  }

  // The figures of each app, in the order of the apps.
  std::vector<Figures> figures_of(const std::vector<MeasuredApp>& apps,
                                  const FrameworkId& framework,
                                  const std::map<std::string, HttpReply>& replies) {
    std::map<TaskId, std::pair<size_t, const proto::TaskRow*>> wanted;
    std::vector<Figures> figures(apps.size());
    std::set<AgentId> agents;
    for (size_t i = 0; i < apps.size(); ++i) {
      for (const proto::ServiceInstanceRow& one : apps[i].instances) {
        if (const std::string address = address_of(apps[i], one); !address.empty()) {
          const auto figure = number_in(replies.at(address + apps[i].scale.path));
          if (figure) figures[i].push_back({.task = one.task, .milli = *figure});
        }
        const auto row = apps[i].tasks.find(one.task);
        if (row == apps[i].tasks.end()) continue;
        wanted[one.task] = {i, &row->second};
        agents.insert(row->second.agent);
      }
    }
    const std::map<TaskId, Used> before = std::exchange(used_, {});
    for (const AgentId& agent : agents) {
      const auto reply = replies.find(name_of(agent));
      if (reply == replies.end() || !reply->second.body) continue;
      const auto status = proto::parse_agent_status(*reply->second.body);
      if (!status) continue;
      // An agent's answer counts only for its own tasks.
      for (const proto::AgentExecutorRow& executor : status->executors) {
        const std::optional<TaskId> task = task_of(executor, framework);
        const auto one = task ? wanted.find(*task) : wanted.end();
        if (one == wanted.end()) continue;
        const auto& [app, row] = one->second;
        if (row->agent != agent) continue;
        const auto figure = apps[app].scale.source == "memory"
                                ? memory_of(executor, *row)
                                : cpu_of(executor, *row, reply->second.at, before);
        if (figure) figures[app].push_back({.task = *task, .milli = *figure});
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

  // The CPU use since the last round, so an instance counts from its second round on.
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
    // used / micros is in thousandths of a CPU; the figure is in thousandths of milli_cpus.
    return used / micros * 1'000 / milli_cpus;
  }

  const Masters master_;
  const std::string framework_;
  FilePlaces places_ = FilePlaces(master_);
  std::map<TaskId, Used> used_;
  std::set<std::string> silent_;  // did not answer in the last round
  size_t rounds_ = 0;
};

}  // namespace

std::optional<TaskId> task_of(const proto::AgentExecutorRow& executor,
                              const FrameworkId& framework) {
  if (executor.framework != framework || executor.tasks != 1) return std::nullopt;
  return TaskId(executor.executor.str());
}

void sort_turns(std::vector<AskingTurn>& turns) {
  std::stable_sort(turns.begin(), turns.end(), [](const AskingTurn& a, const AskingTurn& b) {
    return std::pair(a.was_silent, a.number) < std::pair(b.was_silent, b.number);
  });
}

int run_service_autoscale(const Words& words) {
  std::string master_flag;
  std::string framework = "service";
  std::string every_text = "5s";
  bool json = false;
  bool once = false;
  bool quiet = false;
  Arguments arguments(
      "proffer service autoscale [--every D] [--once] [--quiet]",
      "measure the apps that have `scale` in their files, and report to their scheduler");
  arguments.master(&master_flag);
  arguments.option("--framework", &framework, "framework name or id (default service)");
  arguments.option("--every", &every_text, "time between two rounds, 1s to 20s (default 5s)");
  arguments.flag("--json", &json, "print one JSON object per line for each change");
  arguments.flag("--once", &once, "measure once and exit");
  arguments.flag("--quiet", &quiet, "print errors only");
  arguments.examples({"proffer service autoscale --every 2s"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  const Result<Duration> every = parse_duration(every_text);
  if (!every) return usage_error(Error(every.error()).in("--every"), json);
  if (*every < proto::kMeasuredEveryMin || *every > proto::kMeasuredEveryMax) {
    return usage_error(Error::invalid_argument(
                           text("--every must be from ", to_text(proto::kMeasuredEveryMin), " to ",
                                to_text(proto::kMeasuredEveryMax), ", not ", to_text(*every))),
                       json);
  }
  Measurer measurer(*master, framework);
  std::map<std::string, std::string> told;  // by app, the last reported result
  std::map<std::string, std::string> wrong;
  std::string trouble;
  while (true) {
    const auto begun = Clock::now();
    const Result<Round> round = measurer.round();
    if (!round && once) return print_error(round.error(), json);
    if (!round && round.error().message() != trouble) print_error(round.error(), json);
    trouble = round ? "" : round.error().message();
    std::map<std::string, std::string> wrong_before = std::exchange(wrong, {});
    for (const proto::ServiceChange& one : round ? round->failed : Round().failed) {
      wrong[one.app] = one.result;
      if (wrong_before[one.app] == one.result) continue;
      print_error(Error::unavailable(text("app ", quoted(one.app), ": ", one.result)), json);
    }
    for (const proto::ServiceChange& one : round ? round->said : Round().said) {
      if (std::exchange(told[one.app], one.result) == one.result || quiet) continue;
      if (json) {
        print_json(proto::service_changes_json({one}));
      } else {
        print_line(text(one.app, ": ", one.result));
      }
    }
    if (once) return 0;
    std::this_thread::sleep_until(begun + std::chrono::milliseconds(every->millis()));
  }
}

}  // namespace proffer::cli
