// A machine: it starts and ends processes, and reports this to the agent if the agent that started
// them still runs.

#include "sim/host.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

constexpr int32_t kCannotBegin = 126;  // as in slave/core/quarantine.h
constexpr Duration kExecMin = milliseconds(1);
constexpr Duration kExecMax = milliseconds(80);

}  // namespace

Host::Host(World& world, Network& network, Journal& journal, AgentId name, Resources total)
    : world_(world),
      network_(network),
      journal_(journal),
      name_(std::move(name)),
      total_(std::move(total)),
      site_(network.add_site()),
      agent_party_(network.add_party(site_)),
      executors_(network.add_place(agent_party_)),
      chance_(world.chance(text("host ", name_.str()))) {
  journal_.machine(name_, total_);
}

std::string Host::boot_id() const { return text(name_.str(), "-boot-", boots_); }

void Host::forget_parent() {
  parent_ = Parent();
  ++parent_life_;
}

void Host::start(const ProcessStart& start) {
  if (start.in_place_of) kill(start.framework, start.in_place_of->executor, start.in_place_of->run);
  sandboxes_.emplace(start.framework, start.executor);
  const uint64_t life = parent_life_;
  const Duration soon = microseconds(chance_.between(50, 2'000));
  if (starts_fail_ && chance_.chance(1, 2)) return start_in_vain(start);
  if (starts_fail_ || (start_failures_ > 0 && chance_.chance(start_failures_, 1'000))) {
    // As in Supervisor::go_on_as: a spare whose new sandbox cannot be made ends.
    if (start.spare) kill(start.framework, start.spare->executor, start.spare->run);
    world_.after(soon, [this, life, start] {
      if (life == parent_life_) {
        parent_.start_failed(start, Error::resource_exhausted("no more processes"));
      }
    });
    return;
  }
  newest_run_ = std::max(newest_run_, start.run);
  if (start.spare) return go_on(start, soon);
  forked_.insert(start.run);
  const int32_t pid = ++pids_;
  all_.push_back(make_process(start, pid));
  ExecutorProcess* process = all_.back().get();
  processes_[pid] = Child{.process = process, .parent_life = life};
  world_.after(soon, [this, life, start, pid] {
    if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
  });
  world_.after(nanoseconds(chance_.between(kExecMin.nanos(), kExecMax.nanos())),
               [process] { process->begin(); });
}

// Sometimes its process cannot be used.
void Host::go_on(const ProcessStart& start, Duration soon) {
  const auto at = std::find_if(processes_.begin(), processes_.end(), [&](const auto& one) {
    const ProcessStart& is = one.second.process->started_as();
    return is.framework == start.framework && is.executor == start.spare->executor &&
           is.run == start.spare->run;
  });
  if (at == processes_.end() || chance_.chance(1, 20)) {
    world_.after(soon, [this, life = parent_life_, start] {
      if (life == parent_life_) parent_.spare_refused(start);
    });
    return;
  }
  const int32_t pid = at->first;
  ExecutorProcess& process = *at->second.process;
  process.becomes({start.framework, start.executor, start.run, start.program, start.token});
  world_.after(soon, [this, life = parent_life_, start, pid] {
    if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
  });
}

std::unique_ptr<ExecutorProcess> Host::make_process(const ProcessStart& start, int32_t pid) {
  if (programs_) {
    if (auto process = programs_(*this, start, pid)) return process;
  }
  return std::make_unique<ScriptedExecutor>(world_, network_, *this, start, pid);
}

TaskScript Host::script_of(const proto::RunTask& run) {
  return scripts_ ? scripts_(run, name_, chance_)
                  : TaskScript{.task = parse_sim_task(run.spec.command)};
}

// Its process cannot enter its groups or become its user.
void Host::start_in_vain(const ProcessStart& start) {
  newest_run_ = std::max(newest_run_, start.run);
  const int32_t pid = ++pids_;
  world_.after(microseconds(chance_.between(50, 2'000)), [this, life = parent_life_, start, pid] {
    if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
  });
  world_.after(microseconds(chance_.between(2'500, 10'000)), [this, life = parent_life_, start] {
    if (life == parent_life_) parent_.exited(start, kCannotBegin, std::nullopt, true);
  });
}

void Host::exited(ExecutorProcess& process, std::optional<int32_t> exit_code,
                  std::optional<int32_t> signal) {
  const auto at = processes_.find(process.pid());
  if (at == processes_.end()) return;
  const uint64_t life = at->second.parent_life;
  const ProcessStart known_as = at->second.known_as();
  if (at->second.adopted) {
    exit_code.reset();
    signal.reset();
  }
  processes_.erase(at);
  if (life != parent_life_) return;
  // After `started`: the agent waits for its children on one event loop.
  world_.after(microseconds(chance_.between(2'500, 10'000)),
               [this, life, start = known_as, exit_code, signal] {
                 if (life == parent_life_) parent_.exited(start, exit_code, signal, true);
               });
}

// Found by its token, as the real machine finds a process by its environment, whether or not its
// pid was written in time.
void Host::adopt(const proto::ExecutorRecord& executor) {
  const Duration soon = microseconds(chance_.between(50, 2'000));
  for (auto& [pid, child] : processes_) {
    const ProcessStart& start = child.process->started_as();
    if (start.framework != executor.framework || start.token != executor.token) continue;
    child.parent_life = parent_life_;
    child.adopted = true;
    const ProcessStart named{executor.framework, executor.executor, executor.run, executor.program,
                             executor.token};
    child.taken_for.reset();
    if (executor.run >= start.run) {
      // Its agent may have ended before it could change it to the named one.
      child.process->becomes(named);
    } else {
      child.taken_for = named;
    }
    world_.after(soon, [this, life = parent_life_, start = named, pid = pid] {
      if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
    });
    return;
  }
  world_.after(soon, [this, life = parent_life_, executor] {
    if (life != parent_life_) return;
    parent_.exited(
        {executor.framework, executor.executor, executor.run, executor.program, executor.token},
        std::nullopt, std::nullopt, forked_.contains(executor.run));
  });
}

void Host::end_process(ExecutorProcess& process, int32_t signal) {
  process.kill();
  exited(process, std::nullopt, signal);
}

void Host::kill(const FrameworkId& framework, const ExecutorId& executor, uint64_t run) {
  for (const auto& [pid, child] : processes_) {
    const ProcessStart& start = child.known_as();
    if (start.framework != framework || start.executor != executor || start.run != run) continue;
    return end_process(*child.process, 9);
  }
}

void Host::end_leftover(const proto::ExecutorRecord& executor) {
  if (executor.boot_id == boot_id() || executor.boot_id.empty()) {
    for (const auto& [pid, child] : processes_) {
      const ProcessStart& start = child.process->started_as();
      const bool is_its = start.token == executor.token ||
                          (start.executor == executor.executor && start.run == executor.run);
      if (start.framework != executor.framework || !is_its) continue;
      end_process(*child.process, 9);
      break;
    }
  }
  world_.after(microseconds(chance_.between(100, 20'000)), [this, life = parent_life_, executor] {
    if (life == parent_life_) parent_.leftover_ended(executor);
  });
}

void Host::end_unnamed() {
  std::vector<ExecutorProcess*> unnamed;
  for (const auto& [pid, child] : processes_) {
    if (child.parent_life != parent_life_) unnamed.push_back(child.process);
  }
  for (ExecutorProcess* process : unnamed) end_process(*process, 9);
}

void Host::remove_sandboxes(const FrameworkId& framework, const std::vector<std::string>& begins) {
  for (const std::string& begin : begins) {
    for (auto at = sandboxes_.lower_bound({framework, ExecutorId(begin)});
         at != sandboxes_.end() && at->first == framework && at->second.str().starts_with(begin);) {
      const TaskKey task(framework, TaskId(at->second.str()));
      const auto entry = journal_.entries().find(task);
      if (entry != journal_.entries().end() && entry->second.machine == name_ &&
          entry->second.ending == Ending::kRuns && !entry->second.forgotten) {
        world_.violated(name_.str(),
                        {text("the sandbox of ", to_text(task), " is removed, and the task runs")});
      }
      removed_.insert(*at);
      at = sandboxes_.erase(at);
    }
  }
}

std::vector<ExecutorProcess*> Host::executors_running() {
  std::vector<ExecutorProcess*> running;
  for (const auto& [pid, child] : processes_) running.push_back(child.process);
  return running;
}

ExecutorProcess* Host::some_executor(Prng& chance) {
  const std::vector<ExecutorProcess*> running = executors_running();
  return running.empty() ? nullptr : running[chance.below(running.size())];
}

void Host::power_off(Prng& chance) {
  powered_ = false;
  network_.set_power(site_, false);
  for (const auto& [pid, child] : processes_) child.process->kill();
  processes_.clear();
  disk_.lose_power(chance);
  journal_.memory_lost(name_);
}

void Host::power_on() {
  if (std::exchange(powered_, true)) return;
  ++boots_;
  network_.set_power(site_, true);
}

void Host::cut_checkpoint(Prng& chance) {
  disk_.cut(chance);
  journal_.memory_lost(name_);
}

void Host::forgotten_but(const std::vector<proto::CheckpointRecord>& records) {
  journal_.memory_lost(name_);
  // As the agent reads them: an executor recorded as gone is no longer named.
  std::map<std::pair<FrameworkId, ExecutorId>, Secret> named;
  for (const proto::CheckpointRecord& record : records) {
    if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
      named[{executor->framework, executor->executor}] = executor->token;
    } else if (const auto* gone = std::get_if<proto::ExecutorGone>(&record)) {
      named.erase({gone->framework, gone->executor});
    }
  }
  for (const auto& [pid, child] : processes_) {
    const ProcessStart& start = child.process->started_as();
    const auto at = named.find({start.framework, start.executor});
    if (at != named.end() && at->second == start.token) continue;
    for (const TaskKey& task : child.process->ran()) journal_.forgotten(task);
  }
}

}  // namespace proffer::sim
