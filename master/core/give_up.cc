// Agents that were away for too long: each is given up, or held back by the brake. Begin with
// give_up_or_hold; an operator lifts the brake with on_lift_brake.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::AgentEvent;
using proto::AgentState;

namespace {

const DeadlineKey kBrakeDue{.kind = DeadlineKind::kBrake, .peer = {}, .id = {}};

}  // namespace

// An agent passes the brake once per absence: before its tasks are reported as unreachable, or, if
// an earlier master has reported that, before the agent is removed.
void Master::State::give_up_or_hold(Agent& agent, Step& step) {
  if (agent.passed_brake || brake_.pass(agents_.size(), step.now)) return give_up(agent, step);
  deadlines_.cancel({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = agent.id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kAgentRemoved, .peer = {}, .id = agent.id.str()});
  const bool is_first = brake_.held().empty();
  brake_.hold(agent.id, agent.lost_at);
  deadlines_.arm(kBrakeDue, brake_.next());
  step.trace(AgentHeldBack{agent.id, agent.tasks.size()});
  if (!is_first) return;
  step.trace(BrakeHolds{agents_.size(), brake_.most(agents_.size()), options_.brake.period});
}

void Master::State::give_up(Agent& agent, Step& step) {
  agent.passed_brake = true;
  brake_.release(agent.id, agent.lost_at);
  if (agent.state == AgentState::kDisconnected) return make_unreachable(agent, step);
  remove(agent, AgentEvent::kForgotten, "it did not come back in time", step);
}

// As many as the brake allows, the longest away first.
void Master::State::on_brake_due(Step& step) {
  deadlines_.cancel(kBrakeDue);
  while (!brake_.held().empty()) {
    if (!brake_.pass(agents_.size(), step.now)) {
      deadlines_.arm(kBrakeDue, brake_.next());
      return;
    }
    Agent* agent = agents_.find(brake_.held().begin()->second);
    CHECK(agent != nullptr) << brake_.held().begin()->second.str();
    give_up(*agent, step);
  }
  step.trace(BrakeHoldsNoLonger{});
}

void Master::State::on_lift_brake(const LiftBrake& message, Step& step) {
  if (Result<void> may = permit(message.by, Action::kLiftBrake, "all agents", step); !may) {
    return answer(message.call, std::move(may).error(), step);
  }
  const Duration span =
      std::clamp(message.span.value_or(options_.brake.period), Duration(), kDurationMax);
  brake_.lift(step.now + span);
  step.trace(BrakeLifted{span, brake_.held().size()});
  if (!brake_.held().empty()) on_brake_due(step);
  answer(message.call, std::string(), step);
}

}  // namespace proffer::master
