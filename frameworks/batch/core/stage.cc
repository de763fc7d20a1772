// The transitions of tasks between pending, running and done. Each function is one transition and
// keeps the sets and counts consistent; job_core.cc decides which one.

#include "frameworks/batch/core/stage.h"

#include <algorithm>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer::batch {

std::vector<std::string> Stage::avoided(size_t max) const {
  std::set<AgentId> agents;
  for (const uint32_t number : elsewhere_) {
    const std::set<AgentId>& failed_on = tasks_[number].failed_on;
    agents.insert(failed_on.begin(), failed_on.end());
    if (agents.size() >= max) break;
  }
  std::vector<std::string> names;
  for (const AgentId& agent : agents) {
    if (names.size() == max) break;
    names.push_back(agent.str());
  }
  return names;
}

std::optional<Time> Stage::next_deadline() const {
  std::optional<Time> first;
  for (const uint32_t number : elsewhere_) {
    const Time until = *tasks_[number].elsewhere_until;
    if (!first || until < *first) first = until;
  }
  return first;
}

std::optional<uint32_t> Stage::pick(const AgentId& agent, bool elsewhere_first,
                                    size_t bucket) const {
  const auto untried_elsewhere = [&]() -> std::optional<uint32_t> {
    for (const uint32_t number : elsewhere_) {
      if (tasks_[number].failed_on.count(agent) == 0) return number;
    }
    return std::nullopt;
  };
  if (elsewhere_first) {
    if (const auto first = untried_elsewhere()) return first;
  }
  if (const auto untried = pick_pending(agent, bucket, false)) return untried;
  if (!elsewhere_first) {
    if (const auto second = untried_elsewhere()) return second;
  }
  return pick_pending(agent, bucket, true);
}

std::optional<uint32_t> Stage::pick_pending(const AgentId& agent, size_t bucket,
                                            bool takes_failed) const {
  const auto first_of = [&](const std::set<uint32_t>& from) -> std::optional<uint32_t> {
    for (const uint32_t number : from) {
      if (takes_failed || tasks_[number].failed_on.count(agent) == 0) return number;
    }
    return std::nullopt;
  };
  if (groups_.empty()) return first_of(pending_);
  const auto first_of_group = [&](uint32_t group) -> std::optional<uint32_t> {
    const auto found = pending_of_group_.find(group);
    return found == pending_of_group_.end() ? std::nullopt : first_of(found->second);
  };
  for (const uint32_t group : buckets_.near(agent)) {
    if (const auto near = first_of_group(group)) return near;
  }
  if (bucket == LocalityBuckets::kRest) {
    for (const auto& [group, numbers] : pending_of_group_) {
      if (buckets_.of_group(group) != bucket) continue;
      if (const auto one = first_of(numbers)) return one;
    }
  } else if (const auto one = first_of_group(buckets_.own_group(bucket))) {
    return one;
  }
  return first_of_group(0);
}

size_t Stage::pending_in(size_t bucket) const {
  if (groups_.empty()) return bucket == LocalityBuckets::kNone ? pending_.size() : 0;
  return pending_in_[bucket];
}

void Stage::prefer(const Locality& locality, std::vector<uint32_t> groups) {
  if (groups.empty()) return;
  CHECK_EQ(groups.size(), tasks_.size());
  groups_ = std::move(groups);
  buckets_ = LocalityBuckets(locality, groups_);
  for (const uint32_t number : std::exchange(pending_, {})) add_pending(number);
}

void Stage::add_pending(uint32_t number) {
  if (!pending_.insert(number).second || groups_.empty()) return;
  pending_of_group_[groups_[number]].insert(number);
  ++pending_in_[buckets_.of_group(groups_[number])];
}

void Stage::remove_pending(uint32_t number) {
  if (pending_.erase(number) == 0 || groups_.empty()) return;
  const auto of_group = pending_of_group_.find(groups_[number]);
  of_group->second.erase(number);
  if (of_group->second.empty()) pending_of_group_.erase(of_group);
  --pending_in_[buckets_.of_group(groups_[number])];
}

void Stage::count_place(uint32_t number, int64_t sign) {
  const uint32_t group = group_of(number);
  if (group == 0) return;
  const std::vector<uint32_t>& near = buckets_.near(tasks_[number].winner_agent);
  (std::binary_search(near.begin(), near.end(), group) ? near_ : far_) += sign;
}

TaskId Stage::launch(uint32_t number) {
  const std::optional<uint32_t> attempt = next_attempt(number);
  CHECK(attempt) << to_text(kind_) << " " << number;
  ++tasks_[number].launches;
  TaskId id = attempt_id(number, *attempt);
  resume(number, id);
  return id;
}

TaskId Stage::launch_copy(uint32_t number) {
  const std::optional<uint32_t> attempt = next_attempt(number);
  CHECK(attempt) << to_text(kind_) << " " << number;
  ++tasks_[number].launches;
  ++copied_;
  TaskId id = attempt_id(number, *attempt);
  resume_copy(number, id);
  return id;
}

void Stage::restore(const BlockRecord& kept) {
  for (const auto& [number, task] : kept.tasks) {
    if (number < tasks_.size()) restore(number, task);
  }
  if (!kept.tasks.empty()) count(kept.tasks.begin()->first / kBlockTasks, kept.counters);
}

void Stage::restore(uint32_t number, const TaskRecord& kept) {
  tasks_[number].is_counted = kept.is_counted;
  tasks_[number].failures = kept.failures;
  tasks_[number].last_failed = kept.last_failed;
  failed_ += kept.failures;
  if (kept.cpu > Duration()) add_cpu(number, kept.cpu);
  if (kept.winner != 0) complete(number, kept.winner, kept.agent, kept.result);
  changed_.clear();  // it is what the store has
}

std::optional<TaskRecord> Stage::kept(uint32_t number) const {
  const JobTask& task = tasks_[number];
  if (task.winner == 0 && task.failures == 0 && !task.is_counted) return std::nullopt;
  return TaskRecord{.winner = task.winner,
                    .failures = task.failures,
                    .last_failed = task.last_failed,
                    .cpu = task.cpu.value_or(Duration()),
                    .agent = task.winner_agent,
                    .result = task.result,
                    .is_counted = task.is_counted};
}

BlockRecord Stage::block(uint32_t block) const {
  BlockRecord record;
  const size_t end = std::min<size_t>(tasks_.size(), size_t{block + 1} * kBlockTasks);
  for (size_t number = size_t{block} * kBlockTasks; number < end; ++number) {
    if (std::optional<TaskRecord> task = kept(static_cast<uint32_t>(number))) {
      record.tasks.emplace_hint(record.tasks.end(), static_cast<uint32_t>(number),
                                *std::move(task));
    }
  }
  const auto counters = block_counters_.find(block);
  if (counters != block_counters_.end()) record.counters = counters->second;
  return record;
}

void Stage::resume(uint32_t number, TaskId id) {
  JobTask& task = tasks_[number];
  CHECK(task.state == JobTask::State::kPending) << id.str();
  unwant(number);
  task.state = JobTask::State::kRunning;
  task.active = std::move(id);
  ++running_;
}

void Stage::resume_copy(uint32_t number, TaskId id) {
  JobTask& task = tasks_[number];
  CHECK(task.state == JobTask::State::kRunning && task.copy.empty()) << id.str();
  task.copy = std::move(id);
  ++copies_;
}

bool Stage::runs_without(JobTask& task, const TaskId& id) {
  CHECK(task.state == JobTask::State::kRunning) << id.str();
  CHECK(id == task.active || id == task.copy) << id.str();
  if (task.copy.empty()) return false;
  if (id == task.active) task.active = std::move(task.copy);
  task.copy = {};
  --copies_;
  return true;
}

void Stage::lose(uint32_t number, const TaskId& id) {
  if (runs_without(tasks_[number], id)) return;
  --running_;
  want(number);
}

int32_t Stage::fail(uint32_t number, uint32_t attempt, const TaskId& id, const AgentId& agent,
                    std::optional<Time> elsewhere_until) {
  JobTask& task = tasks_[number];
  ++failed_;
  if (!agent.empty()) task.failed_on.insert(agent);
  if (!runs_without(task, id)) {
    --running_;
    task.elsewhere_until = elsewhere_until;
    want(number);
  }
  task.last_failed = std::max(task.last_failed, attempt);
  note_change(number);
  return ++task.failures;
}

void Stage::complete(uint32_t number, uint32_t attempt, const AgentId& agent, TaskResult result) {
  JobTask& task = tasks_[number];
  CHECK(task.state != JobTask::State::kDone) << number;
  if (task.state == JobTask::State::kRunning)
    --running_;
  else
    unwant(number);
  if (!task.copy.empty()) --copies_;
  task.state = JobTask::State::kDone;
  task.active = {};
  task.copy = {};
  task.winner = attempt;
  task.winner_agent = agent;
  task.result = std::move(result);
  if (!task.result.counters.empty() && !task.is_counted) {
    task.is_counted = true;
    count(number / kBlockTasks, task.result.counters);
  }
  task.result.counters.clear();
  outputs_[agent].insert(number);
  ++done_;
  count_place(number, 1);
  add_to_sums(task.result, 1);
  note_change(number);
}

void Stage::forget(uint32_t number) {
  JobTask& task = tasks_[number];
  CHECK(task.state == JobTask::State::kDone) << number;
  add_to_sums(task.result, -1);
  count_place(number, -1);
  const auto outputs = outputs_.find(task.winner_agent);
  outputs->second.erase(number);
  if (outputs->second.empty()) outputs_.erase(outputs);
  task.winner = 0;
  task.winner_agent = {};
  task.result = {};
  --done_;
  ++recomputed_;
  want(number);
  note_change(number);
}

void Stage::add_cpu(uint32_t number, Duration cpu) {
  // The value comes from agents; the clamp keeps all sums within their range.
  const Duration added = std::clamp(milliseconds(cpu.millis()), Duration(), kDurationMax);
  for (std::optional<Duration>* sum : {&tasks_[number].cpu, &cpu_}) {
    *sum = std::min(sum->value_or(Duration()) + added, kDurationMax);
  }
}

void Stage::end_waits(std::optional<Time> now) {
  for (auto it = elsewhere_.begin(); it != elsewhere_.end();) {
    const uint32_t number = *it;
    if (now && *tasks_[number].elsewhere_until > *now) {
      ++it;
      continue;
    }
    it = elsewhere_.erase(it);
    tasks_[number].elsewhere_until.reset();
    add_pending(number);
  }
}

void Stage::want(uint32_t number) {
  JobTask& task = tasks_[number];
  task.state = JobTask::State::kPending;
  task.active = {};
  if (task.elsewhere_until)
    elsewhere_.insert(number);
  else
    add_pending(number);
}

void Stage::unwant(uint32_t number) {
  remove_pending(number);
  elsewhere_.erase(number);
  tasks_[number].elsewhere_until.reset();
}

void Stage::add_to_sums(const TaskResult& result, int64_t sign) {
  sums_.records_in += sign * result.records_in;
  sums_.bytes_in += sign * result.bytes_in;
  sums_.records_out += sign * result.records_out;
  sums_.bytes_out += sign * result.bytes_out;
}

void Stage::count(uint32_t block, const Counters& counters) {
  for (const auto& [name, amount] : counters) {
    const Counters one = {{name, amount}};
    if (add_counters(one, counters_)) add_counters(one, block_counters_[block]);
  }
}

void Stage::check(std::vector<Violation>& out) const {
  const auto broken = [&](uint32_t number, std::string_view what) {
    out.push_back(Violation{text(to_text(kind_), " task ", number, ": ", what)});
  };
  size_t running = 0;
  size_t done = 0;
  size_t copies = 0;
  size_t with_output = 0;
  for (uint32_t i = 0; i < tasks_.size(); ++i) {
    const JobTask& task = tasks_[i];
    const bool is_pending = pending_.count(i) != 0;
    const bool is_elsewhere = elsewhere_.count(i) != 0;
    running += task.state == JobTask::State::kRunning;
    done += task.state == JobTask::State::kDone;
    if ((task.state == JobTask::State::kPending) != (is_pending != is_elsewhere)) {
      broken(i, "is wanted without being pending, or not while it is, or twice");
    }
    if (is_elsewhere != task.elsewhere_until.has_value()) broken(i, "its wait for another agent");
    if ((task.state == JobTask::State::kRunning) == task.active.empty()) broken(i, "its attempt");
    copies += !task.copy.empty();
    if (!task.copy.empty() && (task.active.empty() || task.copy == task.active)) {
      broken(i, "its copy");
    }
    if ((task.state == JobTask::State::kDone) != (task.winner != 0)) broken(i, "its winner");
    if (task.winner > attempts_before_ + task.launches) {
      broken(i, "a winner that was never launched");
    }
    if (task.state == JobTask::State::kDone) {
      const auto found = outputs_.find(task.winner_agent);
      if (found == outputs_.end() || found->second.count(i) == 0) broken(i, "its output");
    }
  }
  for (const auto& [agent, numbers] : outputs_) with_output += numbers.size();
  size_t in_buckets = 0;
  for (size_t bucket = 0; bucket < LocalityBuckets::kCount; ++bucket) {
    in_buckets += pending_in(bucket);
  }
  if (in_buckets != pending_.size()) {
    out.push_back(Violation{text(to_text(kind_), " tasks: ", pending_.size(), " are pending, ",
                                 in_buckets, " in the buckets of their hosts")});
  }
  if (running != running_ || copies != copies_ || done != done_ || with_output != done_) {
    out.push_back(Violation{text(to_text(kind_), " tasks: counts ", running_, " running, ", copies_,
                                 " twice, ", done_, " done, ", with_output, " outputs; found ",
                                 running, " and ", done)});
  }
}

}  // namespace proffer::batch
