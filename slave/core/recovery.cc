// What an agent does first: it ends what its predecessor left, says that those tasks are lost, and
// only then registers. Nothing is decided from guesses: an executor that was about to be started
// may run, so it is looked for as well.

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"

namespace proffer::agent {

void Agent::State::begin(Step& step) {
  begun_ = true;
  if (!ledger_.identity()) {
    record(proto::AgentIdentity{.agent = options_.name, .secret = options_.fresh_secret}, step);
    step.out.sync = true;
  }
  // A reboot ended what ran before it.
  const std::map<ExecutorKey, proto::ExecutorRecord> known = ledger_.executors();
  for (const auto& [key, executor] : known) {
    if (executor.boot_id == options_.boot_id) {
      leftovers_.emplace(key, executor);
      step.out.actions.push_back(EndLeftover{executor});
      trace(TraceLevel::kLongLived, "leftover executor ends",
            {{"framework", key.first.str()},
             {"executor", key.second.str()},
             {"pid", std::to_string(executor.pid)}},
            step);
    } else {
      record(proto::ExecutorGone{key.first, key.second}, step);
    }
  }
  if (leftovers_.empty()) return finish_recovery(step);
  deadlines_.arm({Deadline::Kind::kLeftovers}, step.now + kLeftoversReport);
}

void Agent::State::on(const LeftoverEnded& ended, Step& step) {
  const ExecutorKey key{ended.framework, ended.executor};
  if (leftovers_.erase(key) == 0) return;
  record(proto::ExecutorGone{ended.framework, ended.executor}, step);
  if (leftovers_.empty()) finish_recovery(step);
}

void Agent::State::report_leftovers(Step& step) {
  for (const auto& [key, executor] : leftovers_) {
    trace(TraceLevel::kOperator,
          "processes of an earlier life cannot be ended; the agent registers when they are gone",
          {{"framework", key.first.str()},
           {"executor", key.second.str()},
           {"pid", std::to_string(executor.pid)}},
          step);
  }
  deadlines_.arm({Deadline::Kind::kLeftovers}, step.now + kLeftoversReport);
}

void Agent::State::finish_recovery(Step& step) {
  recovered_ = true;
  deadlines_.cancel({Deadline::Kind::kLeftovers});
  std::vector<TaskKey> live;
  for (const auto& [key, task] : ledger_.tasks()) {
    if (task.is_live()) live.push_back(key);
  }
  for (const TaskKey& key : live) {
    CHECK(make_update(key,
                      {.state = proto::TaskState::kLost,
                       .reason = proto::TaskReason::kAgentRestarted,
                       .message = "the agent restarted and ended what it ran"},
                      step));
  }
  trace(TraceLevel::kLongLived, "agent recovered",
        {{"agent", options_.name.str()}, {"tasks_lost", std::to_string(live.size())}}, step);
  begin_session(step);
}

}  // namespace proffer::agent
