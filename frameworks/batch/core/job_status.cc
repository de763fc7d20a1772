// The status of a job, with the estimated time left, and broken invariants.

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "frameworks/batch/core/job_state.h"

namespace proffer::batch {
namespace {

// The time left, from the work done: rest / done * elapsed. In thousandths of a percent, so that no
// product exceeds 63 bits; none while nothing is done.
std::optional<Duration> time_left(Duration elapsed, int64_t done, int64_t total) {
  while (total > (int64_t{1} << 40)) {
    total >>= 1;
    done >>= 1;
  }
  if (total <= 0 || done <= 0 || elapsed < Duration()) return std::nullopt;
  const int64_t part = std::min<int64_t>(done * 100'000 / total, 100'000);
  if (part == 0) return std::nullopt;
  const int64_t elapsed_ms = std::min<int64_t>(elapsed.millis(), int64_t{1} << 40);
  return milliseconds(elapsed_ms * (100'000 - part) / part);
}

proto::BatchStage stage_status(const Stage& stage) {
  proto::BatchStage status;
  status.total = static_cast<int64_t>(stage.size());
  status.done = static_cast<int64_t>(stage.done());
  status.running = static_cast<int64_t>(stage.running());
  status.copies = static_cast<int64_t>(stage.copies());
  status.failed = stage.failed();
  status.recomputed = stage.recomputed();
  status.records_in = stage.sums().records_in;
  status.bytes_in = stage.sums().bytes_in;
  status.records_out = stage.sums().records_out;
  status.bytes_out = stage.sums().bytes_out;
  status.near = stage.near();
  status.far = stage.far();
  status.cpu = stage.cpu();
  return status;
}

}  // namespace

proto::BatchJob Job::State::status(Time now) const {
  const OrderRecord& record = options_.record;
  proto::BatchJob status;
  status.job = options_.id.str();
  status.owner = record.owner;
  status.role = order().role;
  status.priority = order().priority;
  status.framework = options_.framework;
  status.map = stage_status(maps_);
  status.reduce = stage_status(reduces_);
  status.input_bytes = order().input_bytes;
  status.retries = options_.retries;
  status.submitted_at = record.submitted_at;
  status.started_at = options_.started_at;
  status.output = order().output;
  status.phase =
      maps_.all_done() && !elements_ ? proto::BatchPhase::kReduce : proto::BatchPhase::kMap;
  if (!is_planned_) status.phase = proto::BatchPhase::kPlanning;
  if (elements_) {
    status.array = elements_->status();
    status.array->bytes_out = end_.sums().bytes_out;
  } else if (order().array) {
    status.array.emplace().total = order().array->size();
  }
  if (outcome_) {
    status.phase = outcome_->phase == proto::BatchPhase::kFinished || elements_
                       ? proto::BatchPhase::kCommitting
                       : proto::BatchPhase::kRemoving;
    status.error = outcome_->error;
    status.hint = outcome_->hint;
  }
  status.failed_task = failed_task_;
  if (status.phase == proto::BatchPhase::kMap && map_started_) {
    status.map.eta = time_left(now - *map_started_, maps_.sums().bytes_in, order().input_bytes);
  }
  if (status.phase == proto::BatchPhase::kReduce && reduce_started_) {
    status.reduce.eta = time_left(now - *reduce_started_, static_cast<int64_t>(reduces_.done()),
                                  static_cast<int64_t>(reduces_.size()));
  }
  Counters counters = maps_.counters();
  add_counters(reduces_.counters(), counters);
  status.counters = to_rows(counters);
  if (!outcome_) status.task_status = task_status_;
  status.note = note_;
  for (const AgentId& agent : avoided_.all()) status.avoided_agents.push_back(agent.str());
  for (const auto& [ask, why] : cannot_fit_) {
    status.note = text("no agent of the cluster could run a task now: ", why,
                       order().fail_if_impossible ? "" : "; waiting for one that can");
  }
  return status;
}

std::vector<Violation> Job::State::violations() const {
  std::vector<Violation> out;
  for (const Stage* stage : {&plan_, &maps_, &reduces_, &end_}) {
    stage->check(out);
    for (uint32_t i = 0; i < stage->size(); ++i) {
      for (const TaskId& id : {stage->task(i).active, stage->task(i).copy}) {
        if (id.empty()) continue;
        const auto found = attempts_.find(id);
        if (found == attempts_.end() || found->second.given_up) {
          out.push_back(Violation{text("task ", id.str(), " counts but is not known or given up")});
        }
      }
    }
  }
  if (elements_) elements_->check(out);
  for (const auto& [id, attempt] : attempts_) {
    const JobTask& task = stage(attempt.kind).task(attempt.number);
    if (!attempt.given_up && task.active != id && task.copy != id) {
      out.push_back(Violation{text("task ", id.str(), " runs and does not count")});
    }
  }
  return out;
}

}  // namespace proffer::batch
