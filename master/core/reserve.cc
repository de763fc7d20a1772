// Reservations of parts of an agent for a role, by an operator (on_reserve) or by a framework from
// its offers (accept.cc). They are durable before any peer is informed. All changes go through
// change_reservation.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

// The resources that tasks use of the agent's slices in this state.
Resources used_of(const Agent& agent, const RoleName& reserved_for) {
  Resources used;
  for (const Task* task : agent.tasks) {
    if (task->held) used += part_of(task->claim().slices, reserved_for);
  }
  for (const auto& [key, stray] : agent.strays) used += part_of(stray.claim.slices, reserved_for);
  return used;
}

Resources without(Resources of, const Resources& used) {
  of -= common_part(of, used);
  return of;
}

}  // namespace

void Master::State::on_reserve(const ReserveForRole& message, Step& step) {
  if (Result<void> may = permit(message.by, Action::kReserve, message.agent.str(), step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  Result<ReservationChange> change =
      message.unreserve ? plan_unreserve(message) : plan_reserve(message);
  if (!change) return answer(message.call, std::move(change).error(), step);
  change_reservations({*std::move(change)}, step);
  answer(message.call, std::string(), step);
}

Result<ReservationChange> Master::State::plan_reserve(const ReserveForRole& message) {
  Result<Agent*> found = find_agent(message.agent);
  if (!found) return std::move(found).error();
  const Agent& agent = **found;
  if (Result<void> checked = check_shape(message.amounts); !checked) {
    return std::move(checked).error();
  }
  if (!agent.allocatable) {
    return Error::unavailable(
        text("agent ", quoted(agent.id.str()), " is not connected: its resources are not known"));
  }
  if (!agent.reserved.contains(message.role) && agent.reserved.size() >= kReservationsPerAgentMax) {
    return Error::resource_exhausted(text("agent ", quoted(agent.id.str()), " has ",
                                          kReservationsPerAgentMax,
                                          " reservations, which is the maximum"));
  }
  const Resources all = part_of(agent.slices, RoleName());
  const Resources free = without(all, used_of(agent, RoleName()));
  if (!fits(message.amounts, free)) {
    return Error::failed_precondition(
               text("agent ", quoted(agent.id.str()), " has only ", quoted(to_text(free)),
                    " neither reserved nor in use, not ", to_text(message.amounts)))
        .with_hint(fits(message.amounts, all) ? "reserve less, or drain the agent first"
                                              : text("reserve at most ", to_text(all)));
  }
  return ReservationChange{.agent = agent.id,
                           .role = message.role,
                           .resources = carve(message.amounts, free),
                           .unreserve = false};
}

// No amounts: everything that is reserved for the role.
Result<ReservationChange> Master::State::plan_unreserve(const ReserveForRole& message) {
  Result<Agent*> found = find_agent(message.agent);
  if (!found) return std::move(found).error();
  const Agent& agent = **found;
  const auto reserved = agent.reserved.find(message.role);
  if (reserved == agent.reserved.end()) {
    const bool by_itself = !part_of(agent.own_slices, message.role).is_zero();
    return Error::failed_precondition(text("on agent ", quoted(agent.id.str()),
                                           " nothing is reserved for role ",
                                           quoted(message.role.str()), " by an operation"))
        .with_hint(by_itself
                       ? "the agent's own --reserved flag reserves them: start the agent without it"
                       : "");
  }
  // Resources in use by the role's tasks stay reserved, except those that the agent itself
  // reserves.
  Resources free = without(reserved->second, without(used_of(agent, message.role),
                                                     part_of(agent.own_slices, message.role)));
  const bool all = message.amounts.is_zero();
  if (all ? free != reserved->second : !fits(message.amounts, free)) {
    return Error::failed_precondition(text("on agent ", quoted(agent.id.str()), " ",
                                           quoted(to_text(reserved->second)),
                                           " is reserved for role ", quoted(message.role.str()),
                                           ", and only ", quoted(to_text(free)), " is not in use"))
        .with_hint("unreserve less, or end the tasks that use the reservation first");
  }
  return ReservationChange{.agent = agent.id,
                           .role = message.role,
                           .resources = all ? free : carve(message.amounts, free),
                           .unreserve = true};
}

void Master::State::change_reservations(const std::vector<ReservationChange>& changes, Step& step) {
  std::set<AgentId> changed;
  for (const ReservationChange& change : changes) {
    Agent& agent = *agents_.find(change.agent);
    Resources& reserved = agent.reserved[change.role];
    if (change.unreserve) {
      reserved -= change.resources;
    } else {
      reserved += change.resources;
    }
    step.trace(ReservationChanged{agent.id, change.role, change.resources, change.unreserve});
    const proto::ReservationRecord record{
        .agent = agent.id, .role = change.role, .resources = reserved};
    const bool is_over = reserved.is_zero();
    if (is_over) agent.reserved.erase(change.role);
    write(record, is_over, step);
    changed.insert(agent.id);
  }
  for (const AgentId& id : changed) {
    Agent& agent = *agents_.find(id);
    agent.slices = with_reserved(agent.own_slices, agent.reserved);
    if (agent.allocatable) {
      allocator_.set_agent(
          id, {.attributes = agent.attributes, .slices = agent.slices, .ports = agent.ports});
    }
  }
  if (!changed.empty()) report_dirty(step);
}

// The agent no longer exists.
void Master::State::forget_reservations(Agent& agent, Step& step) {
  for (const auto& [role, resources] : agent.reserved) {
    write(proto::ReservationRecord{.agent = agent.id, .role = role, .resources = resources}, true,
          step);
  }
  agent.reserved.clear();
}

}  // namespace proffer::master
