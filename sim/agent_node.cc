// The shell of the simulated agent. Read step first: records, then actions, and between the two it
// may crash.

#include "sim/agent_node.h"

#include "common/check.h"
#include "common/text.h"
#include "proto/codec/records.h"

namespace proffer::sim {

AgentNode::AgentNode(World& world, Network& network, Host& host, Place master,
                     Attributes attributes)
    : Node(world, host.name().str()),
      network_(network),
      host_(host),
      master_(master),
      attributes_(std::move(attributes)),
      chance_(world.chance(text("agent ", host.name().str()))) {}

void AgentNode::start() {
  if (is_up()) return;
  begin_life();
  crash_armed_ = false;
  core_ = std::make_unique<agent::Agent>(
      agent::AgentOptions{.name = host_.name(),
                          .fresh_secret = random_secret(chance_),
                          .attributes = attributes_,
                          .total = host_.total(),
                          .http_address = text(host_.name().str(), ":5081"),
                          .boot_id = host_.boot_id(),
                          .seed = chance_.next()},
      read_disk());
  host_.set_parent(
      {.started =
           [this](const ProcessStart& start, int32_t pid, uint64_t ticks) {
             step(agent::ExecutorStarted{start.framework, start.executor, start.run, pid, ticks});
           },
       .start_failed =
           [this](const ProcessStart& start, const Error& error) {
             step(agent::ExecutorStartFailed{start.framework, start.executor, start.run, error});
           },
       .exited =
           [this](const ProcessStart& start, std::optional<int32_t> exit_code,
                  std::optional<int32_t> signal) {
             step(agent::ExecutorExited{start.framework, start.executor, start.run, exit_code,
                                        signal});
           },
       .leftover_ended =
           [this](const proto::ExecutorRecord& executor) {
             step(agent::LeftoverEnded{executor.framework, executor.executor});
           }});
  note({.what = "agent begins"});
  network_.listen(host_.executors(), this);
  line_ = network_.call(master_, this);
  stepped();
}

// Through the bytes of the records. Now and then the log was compacted before.
agent::AgentSnapshot AgentNode::read_disk() {
  agent::AgentSnapshot snapshot;
  for (const proto::CheckpointRecord& record : host_.disk()) {
    Result<proto::CheckpointRecord> read = proto::decode_record(proto::encode_record(record));
    if (!read) {
      world().violated(name(), Violation{read.error().message()});
      continue;
    }
    snapshot.records.push_back(*std::move(read));
  }
  if (chance_.chance(1, 2)) return snapshot;
  host_.disk() =
      agent::Agent(agent::AgentOptions{.name = host_.name(), .total = host_.total()}, snapshot)
          .snapshot()
          .records;
  return {.records = host_.disk()};
}

void AgentNode::crash() {
  if (!is_up()) return;
  note({.what = "agent crashes"});
  host_.forget_parent();
  network_.hang_up(line_);
  network_.shut(host_.executors());
  end_life();
  core_.reset();
}

void AgentNode::stop(bool kill_tasks) {
  if (is_up()) step(agent::StopAsked{kill_tasks});
}

void AgentNode::step(const agent::AgentEvent& event) {
  agent::AgentOutbox out;
  core_->handle(event, now(), out);
  note(out.trace);
  for (proto::CheckpointRecord& record : out.records) host_.disk().push_back(std::move(record));
  if (crash_armed_ && (!out.records.empty() || !out.actions.empty())) {
    const size_t done = chance_.below(out.actions.size() + 1);
    for (size_t i = 0; i < done && is_up(); ++i) carry_out(out.actions[i]);
    return crash();
  }
  for (const agent::AgentAction& action : out.actions) {
    carry_out(action);
    if (!is_up()) return;
  }
  stepped();
}

void AgentNode::carry_out(const agent::AgentAction& action) {
  if (const auto* send = std::get_if<agent::SendToMaster>(&action)) {
    network_.send(line_, send->envelope);
  } else if (std::holds_alternative<agent::ResetMaster>(action)) {
    network_.reset(line_);
  } else if (const auto* told = std::get_if<agent::SendToExecutor>(&action)) {
    network_.send(told->peer, told->envelope);
  } else if (const auto* drop = std::get_if<agent::DropExecutorPeer>(&action)) {
    network_.drop(drop->peer);
  } else if (const auto* start = std::get_if<agent::StartExecutor>(&action)) {
    host_.start({start->framework, start->executor, start->run, start->program, start->token});
  } else if (const auto* adopt = std::get_if<agent::AdoptExecutor>(&action)) {
    host_.adopt(adopt->executor);
  } else if (const auto* kill = std::get_if<agent::KillExecutor>(&action)) {
    host_.kill(kill->framework, kill->executor, kill->run);
  } else if (const auto* leftover = std::get_if<agent::EndLeftover>(&action)) {
    host_.end_leftover(leftover->executor);
  } else if (std::holds_alternative<agent::Exit>(action)) {
    note({.what = "agent exits"});
    crash();
  }
}

}  // namespace proffer::sim
