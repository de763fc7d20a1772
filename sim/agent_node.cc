// The shell of the simulated agent, like slave/shell/agent_shell.cc. Read step first: records, then
// actions; it may crash between any two of them.

#include "sim/agent_node.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "proto/codec/records.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

// One in this many steps with records is followed by a compaction, as if the log had grown.
constexpr uint64_t kCompactEvery = 50;

}  // namespace

AgentNode::AgentNode(World& world, Network& network, Host& host, std::vector<Place> masters,
                     Attributes attributes)
    : Node(world, host.name().str()),
      network_(network),
      host_(host),
      masters_(std::move(masters)),
      party_(host.agent_party()),
      attributes_(std::move(attributes)),
      chance_(world.chance(text("agent ", host.name().str()))) {}

void AgentNode::start() {
  if (is_up() || retired_ || !host_.is_powered()) return;
  begin_life();
  stopping_ = false;
  has_adopted_ = false;
  std::optional<agent::AgentSnapshot> snapshot = read_disk();
  if (!snapshot) return fail("the disk refuses");
  core_ = std::make_unique<agent::Agent>(
      agent::AgentOptions{.name = host_.name(),
                          .fresh_secret = random_secret(chance_),
                          .attributes = attributes_,
                          .total = host_.total(),
                          .http_address = text(host_.name().str(), ":5081"),
                          .boot_id = host_.boot_id(),
                          .checkpoint = host_.disk().mark(),
                          .remembered = remembered_,
                          .newest_run = host_.newest_run(),
                          .seed = chance_.next()},
      *snapshot);
  host_.set_parent(
      {.started =
           [this](const ProcessStart& start, int32_t pid, uint64_t ticks) {
             when_awake([this, start, pid, ticks] {
               step(agent::ExecutorStarted{start.framework, start.executor, start.run, pid, ticks});
             });
           },
       .spare_refused =
           [this](const ProcessStart& start) {
             when_awake([this, start] {
               step(agent::SpareRefused{start.framework, start.executor, start.run, *start.spare});
             });
           },
       .start_failed =
           [this](const ProcessStart& start, const Error& error) {
             when_awake([this, start, error] {
               step(agent::ExecutorStartFailed{start.framework, start.executor, start.run, error});
             });
           },
       .exited =
           [this](const ProcessStart& start, std::optional<int32_t> exit_code,
                  std::optional<int32_t> signal, bool had_process) {
             when_awake([this, start, exit_code, signal, had_process] {
               step(agent::ExecutorExited{.framework = start.framework,
                                          .executor = start.executor,
                                          .run = start.run,
                                          .exit_code = exit_code,
                                          .signal = signal,
                                          .had_process = had_process});
             });
           },
       .leftover_ended =
           [this](const proto::ExecutorRecord& executor) {
             when_awake([this, framework = executor.framework, name = executor.executor] {
               step(agent::LeftoverEnded{framework, name});
             });
           }});
  note(AgentBegins{});
  network_.listen(host_.executors(), this);
  line_ = network_.call(party_, masters_, this);
  stepped();
}

// Encodes and decodes the records. Sometimes the log was compacted before.
std::optional<agent::AgentSnapshot> AgentNode::read_disk() {
  Result<AgentDisk::Opened> opened = host_.disk().open();
  if (!opened) return std::nullopt;
  remembered_ = opened->cut ? agent::Remembered::kToItsEnd : agent::Remembered::kAll;
  if (opened->damaged) return salvage(std::move(opened->records));
  agent::AgentSnapshot snapshot;
  for (const proto::CheckpointRecord& record : opened->records) {
    Result<proto::CheckpointRecord> read = proto::decode_record(proto::encode_record(record));
    if (!read) {
      world().violated(name(), Violation{read.error().message()});
      continue;
    }
    snapshot.records.push_back(*std::move(read));
  }
  // As in open_checkpoint().
  if (!agent::take_gap(snapshot, host_.newest_run()).empty()) {
    remembered_ = agent::Remembered::kWithGaps;
    host_.disk().renew();
  }
  const bool is_loss_new = remembered_ != agent::Remembered::kAll;
  const bool has_gaps = remembered_ == agent::Remembered::kWithGaps;
  remembered_ = agent::note_loss(snapshot, remembered_);
  if (is_loss_new && !host_.disk().rewrite(snapshot.records) && has_gaps) return std::nullopt;
  if (chance_.chance(1, 2)) return snapshot;
  std::vector<proto::CheckpointRecord> compact =
      agent::Agent(agent::AgentOptions{.name = host_.name(), .total = host_.total()}, snapshot)
          .snapshot()
          .records;
  if (!host_.disk().rewrite(compact)) return std::nullopt;
  return agent::AgentSnapshot{.records = std::move(compact)};
}

// As in AgentShell: the rest of a damaged log begins a new log.
std::optional<agent::AgentSnapshot> AgentNode::salvage(std::vector<proto::CheckpointRecord> left) {
  note(CheckpointDamaged{});
  remembered_ = agent::Remembered::kWithGaps;
  agent::AgentSnapshot snapshot{.records = std::move(left)};
  agent::note_loss(snapshot, remembered_);
  if (!host_.disk().append(snapshot.records) || !host_.disk().sync()) return std::nullopt;
  host_.forgotten_but(snapshot.records);
  return snapshot;
}

void AgentNode::crash() {
  if (!is_up()) return;
  note(AgentCrashes{});
  host_.forget_parent();
  if (core_ != nullptr) {
    network_.hang_up(line_);
    network_.shut(host_.executors());
  }
  end_life();
  network_.thaw(party_);
  core_.reset();
}

void AgentNode::retire() {
  retired_ = true;
  crash();
}

void AgentNode::fail(std::string why) {
  note(AgentEnds{why});
  crash();
  if (on_failed_) on_failed_();
}

void AgentNode::stop(bool kill_tasks) {
  if (!is_up()) return;
  stopping_ = true;
  when_awake([this, kill_tasks] { step(agent::StopAsked{kill_tasks}); });
}

void AgentNode::step(const agent::AgentEvent& event) {
  agent::AgentOutbox out;
  core_->handle(event, now(), out);
  note(out.trace);
  if (crashes_now()) return crash_within(out);
  if (!persist(out)) return;
  for (const agent::AgentAction& action : out.actions) {
    carry_out(action);
    if (!is_up()) return;
  }
  // As in AgentShell: the first step looks for all named executors.
  if (!std::exchange(has_adopted_, true)) host_.end_unnamed();
  stepped();
}

// Before its records, in the middle of them, or in the middle of its actions.
void AgentNode::crash_within(const agent::AgentOutbox& out) {
  const size_t whole = chance_.below(out.records.size() + 1);
  if (whole < out.records.size()) {
    host_.disk().append_torn(out.records, whole);
  } else if (persist(out)) {
    const size_t done = chance_.below(out.actions.size() + 1);
    for (size_t i = 0; i < done && is_up(); ++i) carry_out(out.actions[i]);
  }
  crash();
}

// Called before any message or action. False: the agent has ended, as it must not act on state that
// a restart would not know.
bool AgentNode::persist(const agent::AgentOutbox& out) {
  if (out.records.empty()) return true;
  AgentDisk& disk = host_.disk();
  Result<void> written = disk.append(out.records);
  if (written && out.sync) written = disk.sync();
  if (written && chance_.chance(1, kCompactEvery))
    written = disk.rewrite(core_->snapshot().records);
  if (!written) fail(written.error().message());
  return written.has_value();
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
    host_.start({start->framework, start->executor, start->run, start->program, start->token,
                 start->spare, start->in_place_of});
  } else if (const auto* fetch = std::get_if<agent::FetchFiles>(&action)) {
    world().violated(name(), {text("no files can be fetched here: ", fetch->executor.str())});
  } else if (const auto* adopt = std::get_if<agent::AdoptExecutor>(&action)) {
    host_.adopt(adopt->executor);
  } else if (const auto* kill = std::get_if<agent::KillExecutor>(&action)) {
    host_.kill(kill->framework, kill->executor, kill->run);
  } else if (const auto* removal = std::get_if<agent::RemoveSandboxes>(&action)) {
    host_.remove_sandboxes(removal->framework, removal->begins);
  } else if (const auto* leftover = std::get_if<agent::EndLeftover>(&action)) {
    host_.end_leftover(leftover->executor);
  } else if (const auto* exit = std::get_if<agent::Exit>(&action)) {
    note(AgentExits{});
    if (exit->reason.empty()) return crash();
    // The operator follows the advice: the next life has an empty directory.
    if (exit->reason.find("the master ends this agent") == 0) host_.begin_anew();
    fail(exit->reason);
  }
}

}  // namespace proffer::sim
