// The agent shell of a scenario's machine. Read step, then run and end: an action of the agent's
// core on an executor is done at once, and the executor's answer is another event at the same
// instant.

#include "sim/machine.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

// No messages are lost between processes of one machine, so no heartbeats are needed.
constexpr Duration kNever = hours(24 * 365 * 5);

}  // namespace

Machine::Machine(World& world, Network& network, Place master, TaskBook& book,
                 const ScenarioAgent& agent, AgentId name)
    : Node(world, name.str()),
      network_(network),
      master_(master),
      book_(book),
      party_(network.add_party()),
      chance_(world.chance(text("machine ", name.str()))) {
  secret_ = random_secret(chance_);
  options_ = {.name = std::move(name),
              .fresh_secret = secret_,
              .attributes = agent.attributes,
              .total = agent.resources,
              .reserved = agent.reserved,
              .http_address = text(this->name(), ":5081"),
              .checkpoint = 1,
              .executor_start_timeout = kNever,
              .executor_heartbeat = kNever,
              .executor_timeout = kNever * 2,
              .seed = chance_.next()};
}

// --- tasks from before -------------------------------------------------------------------------

// The agent begins as after a restart: its checkpoint names one executor of each framework and its
// tasks; begin() of the core looks for them.
void Machine::runs(const std::vector<MachineTask>& tasks) {
  CHECK(core_ == nullptr);
  checkpoint_ = {
      proto::AgentIdentity{.agent = options_.name, .secret = secret_, .leader = LeaderEpoch(1)}};
  options_.boot_id = text(name(), "-boot-", boots_);
  std::map<FrameworkId, uint64_t> runs;
  std::vector<Slice> free = agent::to_slices(options_.total, options_.reserved).value();
  for (const MachineTask& task : tasks) {
    inherited_.push_back({task});
    if (runs.emplace(task.framework, runs.size() + 1).second) {
      checkpoint_.push_back(
          proto::ExecutorRecord{.framework = task.framework,
                                .executor = ExecutorId(std::string(kSimulatedProgram)),
                                .token = random_secret(chance_),
                                .run = runs[task.framework],
                                .pid = ++pids_,
                                .start_ticks = 1,
                                .boot_id = options_.boot_id,
                                .program = std::string(kSimulatedProgram)});
    }
    const ScenarioTasks& what = book_.tasks(task.ref);
    std::optional<std::vector<Slice>> slices = take_for(task.role, what.resources, free);
    CHECK(slices.has_value()) << name() << " has no room for " << book_.name_of(task.ref);
    const Resources resources = sum_of(*slices);
    inherited_.back().resources = resources;
    proto::TaskRecord record{.framework = task.framework,
                             .spec = {.id = book_.id_of(task.ref),
                                      .ask = AskName(what.name),
                                      .shape = what.resources,
                                      .executor = std::string(kSimulatedProgram),
                                      .executor_id = ExecutorId(std::string(kSimulatedProgram)),
                                      .data = to_text(task.ref)},
                             .assignment = {.resources = resources},
                             .executor = ExecutorId(std::string(kSimulatedProgram)),
                             .run = runs[task.framework]};
    record.assignment.claim = {.slices = *std::move(slices),
                               .role = task.role,
                               .priority = what.ask.priority,
                               .band = what.ask.band};
    if (what.ask.gang > 1) {  // Any number that its framework uses once will do.
      record.assignment.claim.gang = 1 + (uint64_t{task.ref.group} << 32) +
                                     task.ref.number / static_cast<uint64_t>(what.ask.gang);
    }
    const proto::TaskStatus status{.task = record.spec.id,
                                   .agent = options_.name,
                                   .state = proto::TaskState::kRunning,
                                   .sequence = 1};
    checkpoint_.push_back(std::move(record));
    checkpoint_.push_back(proto::UpdateRecord{task.framework, status, 1});
    checkpoint_.push_back(proto::AcknowledgedRecord{task.framework, status.task, 1});
  }
}

// --- the machine ---------------------------------------------------------------------------------

void Machine::start() {
  if (is_up()) return;
  begin_life();
  options_.boot_id = text(name(), "-boot-", boots_);
  core_ = std::make_unique<agent::Agent>(options_, agent::AgentSnapshot{checkpoint_});
  std::erase_if(checkpoint_, [](const proto::CheckpointRecord& record) {
    return !std::holds_alternative<proto::AgentIdentity>(record);
  });
  note(AgentBegins{});
  line_ = network_.call(party_, {master_}, this);
  stepped();
}

void Machine::crash() {
  if (!is_up()) return;
  note(MachineGoesDown{slots_.size()});
  for (const auto& [number, slot] : slots_) book_.taken_down(slot.ref, now());
  slots_.clear();
  executors_.clear();
  waiting_.clear();
  used_ = Resources();
  network_.hang_up(line_);
  end_life();
  core_.reset();
  ++boots_;
}

std::vector<TaskRef> Machine::running() const {
  std::vector<TaskRef> refs;
  for (const auto& [number, slot] : slots_) refs.push_back(slot.ref);
  std::sort(refs.begin(), refs.end());
  return refs;
}

// --- its agent -----------------------------------------------------------------------------------

void Machine::step(agent::AgentEvent event) {
  if (stepping_) return waiting_.push_back(std::move(event));
  stepping_ = true;
  take_step(event);
  while (!waiting_.empty() && is_up()) {
    const agent::AgentEvent next = std::move(waiting_.front());
    waiting_.pop_front();
    take_step(next);
  }
  stepping_ = false;
  if (is_up()) stepped();
}

void Machine::take_step(const agent::AgentEvent& event) {
  out_.clear();
  core_->handle(event, now(), out_);
  note(out_.trace);
  for (const proto::CheckpointRecord& record : out_.records) {
    if (std::holds_alternative<proto::AgentIdentity>(record)) checkpoint_ = {record};
  }
  for (agent::AgentAction& action : out_.actions) carry_out(action);
}

void Machine::carry_out(agent::AgentAction& action) {
  if (auto* send = std::get_if<agent::SendToMaster>(&action)) {
    network_.send(line_, std::move(send->envelope));
  } else if (const auto* told = std::get_if<agent::SendToExecutor>(&action)) {
    hear(told->peer, *told->envelope.message);
  } else if (std::holds_alternative<agent::ResetMaster>(action)) {
    network_.reset(line_);
  } else if (const auto* start = std::get_if<agent::StartExecutor>(&action)) {
    begin_executor({start->framework, start->executor, start->run}, start->token, ++pids_);
  } else if (const auto* fetch = std::get_if<agent::FetchFiles>(&action)) {
    world().violated(name(), {text("no files can be fetched here: ", fetch->executor.str())});
  } else if (const auto* adopt = std::get_if<agent::AdoptExecutor>(&action)) {
    const proto::ExecutorRecord& known = adopt->executor;
    begin_executor({known.framework, known.executor, known.run}, known.token, known.pid);
  } else if (const auto* kill = std::get_if<agent::KillExecutor>(&action)) {
    for (const auto& [peer, executor] : executors_) {
      if (executor.framework != kill->framework || executor.run != kill->run) continue;
      return exit(peer);
    }
  } else if (const auto* ends = std::get_if<agent::Exit>(&action)) {
    world().violated(name(), {text("its agent ends: ", ends->reason)});
  }
}

// --- in place of an executor --------------------------------------------------------------------

void Machine::begin_executor(Executor executor, const Secret& token, int32_t pid) {
  const PeerId peer(++peers_);
  Executor& begun = executors_[peer] = std::move(executor);
  step(agent::ExecutorStarted{begun.framework, begun.executor, begun.run, pid, 1});
  say(peer, proto::ExecutorHello{begun.framework, begun.executor, token});
  for (const Inherited& inherited : std::exchange(inherited_, {})) {
    const MachineTask& task = inherited.task;
    if (task.framework != begun.framework) {
      inherited_.push_back(inherited);
      continue;
    }
    const uint64_t number = slots_given_ + 1;
    const TaskId id = book_.id_of(task.ref);
    book_.started(task.ref, now());
    begun.tasks[id] = number;
    occupy({.ref = task.ref,
            .task = id,
            .executor = peer,
            .resources = inherited.resources,
            .updates = 1});
    const std::optional<Duration> lasts = book_.duration_of(task.ref);
    if (!lasts) continue;
    // The agent begins slightly before the scenario.
    world().at(std::max(now(), book_.zero() + *lasts - task.since),
               [this, number] { end(number, proto::TaskState::kFinished); });
  }
}

void Machine::hear(PeerId peer, const proto::Message& message) {
  if (const auto* task = std::get_if<proto::RunTask>(&message)) {
    run(peer, *task);
  } else if (const auto* kill = std::get_if<proto::KillTask>(&message)) {
    Executor& executor = executors_.at(peer);
    const auto at = executor.tasks.find(kill->task);
    if (at != executor.tasks.end()) end(at->second, proto::TaskState::kKilled);
  } else if (std::holds_alternative<proto::ExecutorShutdown>(message)) {
    exit(peer);
  }
}

void Machine::run(PeerId peer, const proto::RunTask& run) {
  Executor& executor = executors_.at(peer);
  const uint64_t number = slots_given_ + 1;
  // After a restart the agent sends running tasks again.
  if (!executor.tasks.emplace(run.spec.id, number).second) return;
  const TaskRef ref = parse_task_ref(run.spec.data);
  if (!book_.is_current(ref)) {
    world().violated(name(), {text(book_.name_of(ref), " is started, but was not launched")});
  }
  book_.started(ref, now());
  Resources resources = run.assignment.resources;
  occupy({.ref = ref, .task = run.spec.id, .executor = peer, .resources = std::move(resources)});
  tell(slots_.at(number), proto::TaskState::kRunning);
  if (const std::optional<Duration> lasts = book_.duration_of(ref)) {
    // Numbers are not reused, so end() does not find a task that has already ended.
    world().after(*lasts, [this, number] { end(number, proto::TaskState::kFinished); });
  }
}

void Machine::occupy(Slot slot) {
  used_ += slot.resources;
  if (!options_.total.contains(used_)) {
    world().violated(name(), {text("runs ", proffer::to_text(used_), " but has ",
                                   proffer::to_text(options_.total), " when ",
                                   book_.name_of(slot.ref), " starts")});
  }
  slots_.emplace(++slots_given_, std::move(slot));
}

void Machine::end(uint64_t number, proto::TaskState state) {
  const auto at = slots_.find(number);
  if (at == slots_.end()) return;
  Slot slot = std::move(at->second);
  slots_.erase(at);
  executors_.at(slot.executor).tasks.erase(slot.task);
  used_ -= slot.resources;
  book_.ended(slot.ref, now());
  tell(slot, state);
}

void Machine::tell(Slot& slot, proto::TaskState state) {
  proto::TaskStatus status{
      .task = slot.task, .state = state, .sequence = ++slot.updates, .at = now()};
  if (state == proto::TaskState::kFinished) {
    status.reason = proto::TaskReason::kCommandExited;
    status.exit_code = 0;
  } else if (state == proto::TaskState::kKilled) {
    status.reason = proto::TaskReason::kKilledByScheduler;
  }
  say(slot.executor, proto::ExecutorUpdate{std::move(status)});
}

void Machine::say(PeerId peer, proto::BoxedMessage message) {
  step(agent::ExecutorFrame{peer,
                            executors_.at(peer).channel.stamp(LeaderEpoch(), std::move(message))});
}

// Ends the executor and its running tasks.
void Machine::exit(PeerId peer) {
  while (!executors_.at(peer).tasks.empty()) {
    end(executors_.at(peer).tasks.begin()->second, proto::TaskState::kKilled);
  }
  const Executor gone = std::move(executors_.at(peer));
  executors_.erase(peer);
  step(agent::ExecutorPeerLost{peer});
  step(agent::ExecutorExited{gone.framework, gone.executor, gone.run, 0, std::nullopt});
}

}  // namespace proffer::sim
