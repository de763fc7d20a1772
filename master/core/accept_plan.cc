// The rules of an accept, each in one place. Begin with plan_accept at the end: it goes over the
// tasks in order, and AcceptPlanner::refusal says why one cannot be launched.

#include "master/core/accept_plan.h"

#include <algorithm>
#include <set>

#include "common/text.h"

namespace proffer::master {
namespace {

using proto::TaskReason;

constexpr Duration kGraceMax = hours(24 * 365 * 10);

// The offers of one agent in this accept.
struct Pool {
  OffersUse use = {};
  RoleName role = {};                 // that they were made in
  std::vector<Resources> rests = {};  // what of each offer is not used yet
  PortSet free_ports = {};
  size_t launched = 0;
};

// Moves what `from` has of `wanted` from both into the result: amounts by kind, gpus by device.
Resources take_part(Resources& from, Resources& wanted) {
  Resources part{.amounts = from.amounts.min(wanted.amounts)};
  part.amounts[ResourceKind::kGpus] = 0;
  for (const GpuDevice& device : wanted.gpus) {
    const auto has = std::find_if(from.gpus.begin(), from.gpus.end(),
                                  [&](const GpuDevice& d) { return d.index == device.index; });
    if (has == from.gpus.end()) continue;
    const int32_t milli = std::min(has->milli, device.milli);
    part.gpus.push_back({device.index, milli});
    part.amounts[ResourceKind::kGpus] += milli;
  }
  from -= part;
  wanted -= part;
  return part;
}

class AcceptPlanner {
 public:
  AcceptPlanner(const FrameworkId& from, const TakenOffers& taken, const Tasks& tasks,
                const Agents& agents)
      : from_(from), invalid_(taken.invalid), tasks_(tasks), agents_(agents) {
    for (const Grant* grant : taken.valid) {
      Pool& pool = pools_[grant->offer.agent];
      pool.use.offers.push_back(grant->offer.id);
      pool.rests.push_back(grant->offer.total());
      pool.role = grant->role;
      if (const Agent* agent = agents.find(grant->offer.agent)) pool.free_ports = agent->free_ports;
    }
  }

  // Launches the task, or says why not.
  std::optional<TaskRefusal> place(const AgentId& on, const proto::TaskSpec& spec,
                                   proto::Assignment& assignment) {
    if (std::optional<TaskRefusal> refused = refusal(on, spec)) return refused;
    Pool& pool = pools_.find(on)->second;

    // One offer that is enough if there is one, else all of them together.
    const auto alone =
        std::find_if(pool.rests.begin(), pool.rests.end(),
                     [&](const Resources& of_one) { return fits(spec.shape, of_one); });
    const Resources rest = alone != pool.rests.end() ? *alone : rest_of(pool);
    if (!fits(spec.shape, rest)) {
      return TaskRefusal{
          .reason = TaskReason::kResourcesExceeded,
          .message = text("it needs ", to_text(spec.shape), ", but of the offers of agent ",
                          quoted(on.str()), " only ", quoted(to_text(rest)), " is left")};
    }
    const auto count = static_cast<int64_t>(spec.port_names.size());
    std::vector<uint16_t> ports;
    if (count > 0) {
      std::optional<std::vector<uint16_t>> lowest = pool.free_ports.lowest(count);
      if (!lowest) {
        return TaskRefusal{
            .reason = TaskReason::kPortsNotAvailable,
            .message = text("it needs ", count, " ports, but agent ", quoted(on.str()), " has ",
                            pool.free_ports.size(), " free")};
      }
      ports = *std::move(lowest);
    }

    Resources chosen = carve(spec.shape, rest);
    assignment.resources = chosen;
    assignment.claim = {.slices = {Slice{.resources = chosen}}, .role = pool.role};
    if (alone != pool.rests.end()) {
      take_part(*alone, chosen);
    } else {
      for (Resources& of_one : pool.rests) take_part(of_one, chosen);
    }
    CHECK(chosen.is_zero()) << to_text(chosen) << " of the task is in none of the offers";

    std::vector<PortRange> ranges;
    for (size_t i = 0; i < ports.size(); ++i) {
      assignment.ports.emplace(spec.port_names[i], ports[i]);
      ranges.push_back({ports[i], ports[i]});
    }
    if (!ranges.empty()) {
      assignment.resources.ports = PortSet(std::move(ranges));
      pool.free_ports -= assignment.resources.ports;
      ports_[on] += assignment.resources.ports;
    }
    pool.use.tasks.push_back({.task = spec.id, .ask = spec.ask, .claim = assignment.claim});
    ++pool.launched;
    return std::nullopt;
  }

  void finish(AcceptPlan& plan) {
    for (auto& [agent, pool] : pools_) plan.uses.push_back(std::move(pool.use));
    plan.ports = std::move(ports_);
  }

 private:
  // What can be said before the resources are looked at.
  std::optional<TaskRefusal> refusal(const AgentId& on, const proto::TaskSpec& spec) {
    if (Result<void> checked = check_task(spec); !checked) {
      return TaskRefusal{.reason = TaskReason::kTaskInvalid, .message = checked.error().message()};
    }
    if (tasks_.is_used({from_, spec.id}) || !ids_.insert(spec.id).second) {
      return TaskRefusal{.reason = TaskReason::kDuplicateTaskId,
                         .message = text("the task id ", quoted(spec.id.str()),
                                         " was used before; each launch needs an id of its own")};
    }
    const Agent* agent = agents_.find(on);
    if (agent == nullptr || agent->state != proto::AgentState::kActive) {
      return TaskRefusal{.reason = TaskReason::kAgentNotAvailable,
                         .message = text("agent ", quoted(on.str()), " is not connected")};
    }
    if (invalid_) {
      return TaskRefusal{.reason = TaskReason::kOfferNotValid,
                         .message = text("offer ", invalid_->value(),
                                         " was answered before, rescinded, or its lease ended")};
    }
    const auto pool = pools_.find(on);
    if (pool == pools_.end()) {
      return TaskRefusal{.reason = TaskReason::kOfferNotValid,
                         .message = text("the accept names no offer of agent ", quoted(on.str()))};
    }
    if (agent->tasks.size() + pool->second.launched >= kTasksPerAgentMax) {
      return TaskRefusal{.reason = TaskReason::kAgentFull,
                         .message = text("agent ", quoted(on.str()), " has ", kTasksPerAgentMax,
                                         " tasks, which is the most")};
    }
    return std::nullopt;
  }

  Resources rest_of(const Pool& pool) const {
    Resources rest;
    for (const Resources& of_one : pool.rests) rest += of_one;
    return rest;
  }

  const FrameworkId& from_;
  const std::optional<OfferId> invalid_;
  const Tasks& tasks_;
  const Agents& agents_;
  std::map<AgentId, Pool> pools_;
  std::map<AgentId, PortSet> ports_;
  std::set<TaskId> ids_;  // of this accept
};

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Result<void> check_port_names(const std::vector<std::string>& names) {
  if (names.size() > kPortNamesMax) {
    return Error::invalid_argument(
        text("a task has at most ", kPortNamesMax, " ports, not ", names.size()));
  }
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!is_port_name(name)) {
      return Error::invalid_argument(
          text("the port name ", quoted(name), " must be letters, digits and '_'"));
    }
    if (!seen.insert(name).second) {
      return Error::invalid_argument(text("the port name ", quoted(name), " is given twice"));
    }
  }
  return {};
}

Result<void> check_environment(const proto::Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("the environment variable ", quoted(name),
               " must have a name without '=' and no byte of zero in name or value"));
    }
  }
  return {};
}

}  // namespace

Result<void> check_task(const proto::TaskSpec& spec) {
  if (Result<void> checked = check_name("task id", spec.id.str()); !checked) return checked;
  if (!spec.ask.empty()) {
    if (Result<void> checked = check_name("ask", spec.ask.str()); !checked) return checked;
  }
  if (!spec.executor_id.empty()) {
    if (Result<void> checked = check_name("executor id", spec.executor_id.str()); !checked) {
      return checked;
    }
  }
  if (spec.executor.empty() || spec.executor.find('\0') != std::string::npos) {
    return Error::invalid_argument(text("the executor must be ", proto::kCommandExecutor, ", ",
                                        proto::kBatchExecutor, " or a shell command line"));
  }
  if (spec.executor == proto::kCommandExecutor && spec.command.empty()) {
    return Error::invalid_argument("a task of the command executor needs a command");
  }
  if (spec.command.find('\0') != std::string::npos) {
    return Error::invalid_argument("the command must have no byte of zero");
  }
  if (spec.kill_grace < Duration() || spec.kill_grace > kGraceMax) {
    return Error::invalid_argument("the kill grace must be from 0 to ten years");
  }
  if (Result<void> checked = check_shape(spec.shape); !checked) return checked;
  if (Result<void> checked = check_port_names(spec.port_names); !checked) return checked;
  if (spec.health) {
    if (spec.executor != proto::kCommandExecutor) {
      return Error::invalid_argument(text("a health check is done by ", proto::kCommandExecutor,
                                          ", not by the executor ", quoted(spec.executor)));
    }
    if (Result<void> checked = proto::check_health_check(*spec.health, spec.port_names); !checked) {
      return checked;
    }
  }
  return check_environment(spec.environment);
}

AcceptPlan plan_accept(const proto::Accept& accept, const FrameworkId& from,
                       const TakenOffers& taken, const Tasks& tasks, const Agents& agents) {
  AcceptPlan plan;
  AcceptPlanner planner(from, taken, tasks, agents);
  for (size_t i = 0; i < accept.operations.size(); ++i) {
    const auto* launch = std::get_if<proto::Launch>(&accept.operations[i]);
    if (launch == nullptr) continue;
    for (size_t k = 0; k < launch->tasks.size(); ++k) {
      proto::Assignment assignment;
      std::optional<TaskRefusal> refused =
          planner.place(launch->agent, launch->tasks[k], assignment);
      if (refused) {
        refused->operation = i;
        refused->task = k;
        plan.refusals.push_back(*std::move(refused));
      } else {
        plan.launches.push_back({i, k, std::move(assignment)});
      }
    }
  }
  planner.finish(plan);
  return plan;
}

}  // namespace proffer::master
