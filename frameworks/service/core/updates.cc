// Status updates of instances: on_status. An update changes one instance and marks its app; the
// next plan decides what follows.

#include <algorithm>
#include <string_view>

#include "common/printable.h"
#include "common/text.h"
#include "frameworks/service/core/ports.h"
#include "frameworks/service/core/state.h"
#include "frameworks/service/core/trace.h"
#include "sdk/store.h"

namespace proffer::service {

using proto::TaskReason;
using proto::TaskState;
using proto::TaskStatus;

namespace {

// The pause between attempts that did not fail by the instance's own fault.
constexpr Duration kPause = seconds(1);

// Whether the instance ended by its own fault: its command ended, or could not be started.
bool is_own_fault(const TaskStatus& status) {
  switch (status.reason) {
    case TaskReason::kLaunchFailed:
    case TaskReason::kExecutorEnded:
    case TaskReason::kExecutorTimeout:
    case TaskReason::kTaskInvalid:
      return true;
    case TaskReason::kAgentRestarted:
      return false;
    default:
      return status.state == TaskState::kFinished || status.state == TaskState::kFailed;
  }
}

// The last line that is not blank.
std::string_view last_line(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const size_t begin = text.rfind('\n');
  return begin == std::string_view::npos ? text : text.substr(begin + 1);
}

std::string words_of(const TaskStatus& status) {
  if (!status.message.empty()) return status.message;
  if (status.exit_code) return text("exit code ", *status.exit_code);
  if (status.signal) return text("signal ", *status.signal);
  if (status.reason != TaskReason::kNone) return std::string(proto::to_text(status.reason));
  return std::string(proto::to_text(status.state));
}

}  // namespace

Instance* Service::State::find(const TaskId& task, RunningApp** app) {
  const std::optional<InstanceId> id = parse_task_id(task);
  const auto running = id ? apps_.find(id->app) : apps_.end();
  if (running == apps_.end()) return nullptr;
  const auto instance = running->second.app.instances.find(task);
  if (instance == running->second.app.instances.end()) return nullptr;
  *app = &running->second;
  return &instance->second;
}

void Service::State::on_status(Step& step, const TaskStatus& status) {
  if (!loaded_) {
    early_[status.task] = status;
    return;
  }
  RunningApp* running = nullptr;
  Instance* instance = find(status.task, &running);
  if (instance == nullptr) return on_unknown(step, status);
  mark(running->app.spec.name);
  unconfirmed_.erase(status.task);
  instance->unconfirmed = false;
  if (!status.agent.empty()) instance->agent = status.agent;
  if (is_terminal(status.state)) {
    on_ended(step, *running, status.task, status);
  } else {
    on_alive(step, *running, *instance, status);
  }
}

// A task of an app that is long forgotten is killed.
void Service::State::on_unknown(Step& step, const TaskStatus& status) {
  if (is_terminal(status.state) || status.state == TaskState::kKilling) return;
  step.trace(UnknownInstanceKilled{status.task, status.agent});
  step.out.commands.push_back(proto::KillTask{.framework = {}, .task = status.task, .grace = {}});
}

void Service::State::on_alive(Step& step, RunningApp& running, Instance& instance,
                              const TaskStatus& status) {
  const Instance before = instance;
  switch (status.state) {
    case TaskState::kStaging:
      instance.state = InstanceState::kStaging;
      break;
    case TaskState::kRunning:
      instance.state = InstanceState::kRunning;
      break;
    case TaskState::kKilling:
      instance.state = InstanceState::kKilling;
      break;
    default:
      instance.state = InstanceState::kUnreachable;
      break;
  }
  if (status.healthy) {
    instance.healthy = status.healthy;
    instance.why_unhealthy = *status.healthy ? "" : status.message;
  }
  if (status.ready) {
    instance.told_ready = status.ready;
    if (*status.ready) instance.why_not_ready.clear();
    if (!*status.ready && !status.message.empty()) instance.why_not_ready = status.message;
  }
  if (std::map<std::string, uint16_t> ports = parse_told_ports(status.data); !ports.empty()) {
    instance.ports = std::move(ports);
  }
  if (instance.kill_asked && instance.state != InstanceState::kUnreachable) {
    // The sender does not know about the kill: its agent was disconnected, or the master has just
    // started.
    const bool is_leaving = instance.leaves_at && *instance.leaves_at > step.now;
    if (instance.state != InstanceState::kKilling && !is_leaving) {
      say_kill(step, status.task, instance);
    }
  }
  if (!instance.is_ready()) {
    instance.ready_since.reset();
  } else if (!instance.ready_since) {
    instance.ready_since = step.now;
    Attempts* attempts = running.app.attempts(instance.id.slot, instance.id.version);
    if (attempts != nullptr && attempts->failures == 0) {
      attempts->why.clear();
      attempts->last_words.clear();
    }
  }
  if (instance.healthy != before.healthy || instance.told_ready != before.told_ready ||
      instance.ports != before.ports || instance.agent != before.agent) {
    write_later(block_name_of(status.task));
  }
  if (instance.state == before.state && instance.healthy == before.healthy &&
      instance.told_ready == before.told_ready && instance.why_not_ready == before.why_not_ready) {
    return;
  }
  const bool is_waited_for = instance.state == InstanceState::kRunning && !instance.is_ready() &&
                             !instance.why_not_ready.empty();
  using To = InstanceChanged::To;
  const To to = instance.is_unhealthy()                         ? To::kUnhealthy
                : instance.state == InstanceState::kUnreachable ? To::kUnreachable
                : instance.is_ready()                           ? To::kReady
                : is_waited_for                                 ? To::kNotReady
                : instance.state == InstanceState::kRunning     ? To::kRunning
                : instance.state == InstanceState::kKilling     ? To::kEnding
                                                                : To::kStaging;
  std::string reason = to == To::kUnhealthy ? words_of(status)
                       : is_waited_for      ? instance.why_not_ready
                                            : "";
  step.trace(InstanceChanged{status.task, instance.agent, to, std::move(reason), instance.ports});
}

void Service::State::on_ended(Step& step, RunningApp& running, const TaskId& task,
                              const TaskStatus& status) {
  App& app = running.app;
  const Instance instance = app.instances.at(task);
  app.remove(task);
  write_later(block_name_of(task));
  const bool was_wanted = !instance.kill_asked && !app.stopping;
  const std::string words = words_of(status);
  Attempts* attempts = app.attempts(instance.id.slot, instance.id.version);
  // An instance on a lost agent already has its replacement (a daemon has none), and the cause of
  // its end is unknown: it may have been the loss. Counted as a failure it would delay the next
  // instance of the slot, whenever that is wanted.
  const bool was_lost = instance.state == InstanceState::kUnreachable && !app.spec.daemon;
  if (was_wanted && !was_lost && is_own_fault(status)) {
    count_failure(step, app, instance, words, status.data);
  } else if (instance.was_unhealthy) {
    count_failure(step, app, instance,
                  instance.why_unhealthy.empty() ? "it was unhealthy" : instance.why_unhealthy, "");
  } else if (status.state == TaskState::kRefused) {
    asks_stale_ = true;  // It is unknown whether the master lowered the ask for it.
    if (attempts != nullptr) {
      attempts->not_before = std::max(attempts->not_before, step.now + kPause);
      attempts->why = text("it was refused: ", words);
    }
  }
  InstanceEnded ended{
      .instance = task, .agent = instance.agent, .reason = words, .was_wanted = was_wanted};
  if (was_wanted && attempts != nullptr && attempts->not_before > step.now) {
    ended.again_in = attempts->not_before - step.now;
  }
  step.trace(std::move(ended));
  if (app.spec.daemon && leaves_its_agent(status)) {
    running.launches.erase(instance.id.slot);
    app.slots.erase(instance.id.slot);
  }
}

void Service::State::count_failure(Step& step, App& app, const Instance& instance,
                                   const std::string& why, std::string_view words) {
  // Failures of another version do not count for this one.
  Attempts* attempts = app.attempts(instance.id.slot, instance.id.version);
  if (attempts == nullptr) return;
  if (instance.ready_since && step.now - *instance.ready_since >= kForgivenAfter) {
    attempts->failures = 0;
  }
  attempts->failures += attempts->failures < 1'000'000 ? 1 : 0;
  attempts->not_before = step.now + backoff(attempts->failures);
  attempts->why = why;
  attempts->last_words = printable(last_line(words));
}

void Service::State::erase(const std::string& key) { journal_.add({sdk::erase(key)}); }

// --- invariants --------------------------------------------------------------------------------

std::vector<Violation> Service::State::violations() const {
  std::vector<Violation> found;
  const auto say = [&](std::string what) { found.push_back(Violation{std::move(what)}); };
  for (const auto& [name, running] : apps_) {
    const App& app = running.app;
    if (app.spec.name != name) say(text("app ", name, " is named ", app.spec.name));
    if (running.figures_at.has_value() != measured_.contains(name)) {
      say(text("app ", name, " disagrees on whether it is measured"));
    }
    // An app whose time has come is planned, at once or as soon as it may be planned again.
    const std::optional<Time> look = looks_.time_of(name);
    if (look != running.look_again && (look || !changed_.contains(name))) {
      say(text("app ", name, " has two times for its next look"));
    }
    std::map<int64_t, int> launched;  // instances launched by this scheduler, by slot
    for (const auto& [task, instance] : app.instances) {
      if (to_task_id(instance.id) != task || instance.id.app != name) {
        say(text("instance ", task.str(), " has another's id"));
      }
      if (instance.is_ready() != instance.ready_since.has_value()) {
        say(text("instance ", task.str(), " disagrees on whether it is ready"));
      }
      if (instance.unconfirmed != (unconfirmed_.count(task) > 0)) {
        say(text("instance ", task.str(), " disagrees on whether it is unconfirmed"));
      }
      const bool is_planned = instance.state == InstanceState::kPlanned;
      if (is_planned) ++launched[instance.id.slot];
      if (is_planned != (running.planned.count(task) > 0)) {
        say(text("instance ", task.str(), " disagrees on whether it is planned"));
      }
    }
    for (const auto& [task, instance] : app.instances) {
      if (launched[instance.id.slot] == 0 || instance.state == InstanceState::kPlanned) continue;
      // Only an instance that has come back may be in the same slot; it was launched earlier.
      for (const auto& [other, planned] : app.instances) {
        if (planned.state == InstanceState::kPlanned && planned.id.slot == instance.id.slot &&
            planned.launched_at < instance.launched_at) {
          say(text("instance ", task.str(), " was launched beside ", other.str()));
        }
      }
    }
    size_t in_blocks = 0;
    for (const auto& [number, tasks] : app.blocks) {
      in_blocks += tasks.size();
      for (const TaskId& task : tasks) {
        const auto instance = app.instances.find(task);
        if (instance == app.instances.end() ||
            instance->second.id.slot / kSlotsPerBlock != number) {
          say(text("instance ", task.str(), " is not of block ", number));
        }
      }
    }
    if (in_blocks != app.instances.size()) say(text("app ", name, " has instances in no block"));
    for (const auto& [slot, count] : launched) {
      if (count > 1) say(text("slot ", slot, " of app ", name, " has ", count, " planned"));
    }
  }
  if (!changing_.empty() && requests_.empty())
    say("a change that was not requested is being written");
  for (const Ask& ask : declared_) {
    if (ask.count <= 0) say(text("ask ", ask.name.str(), " counts ", ask.count));
  }
  return found;
}

}  // namespace proffer::service
