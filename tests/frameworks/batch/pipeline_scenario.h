#pragma once

// The batch scheduler with several jobs, a store, and a cluster with room for all tasks. Tasks run
// until `run` decides how they end. violations() is checked after each step.

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/core/jobs.h"
#include "tests/frameworks/batch/job_scenario.h"
#include "tests/frameworks/batch/store_answers.h"

namespace proffer::batch {

class PipelineScenario {
 public:
  using State = proto::TaskState;

  explicit PipelineScenario(JobsOptions options = {}) : options_(std::move(options)) { restart(); }

  // Starts a new scheduler process and reports the running tasks to it.
  void restart() {
    jobs_ = std::make_unique<Jobs>(options_);
    asks_.clear();
    answers_.clear();
    step(sdk::Notification(proto::Subscribed{.framework = FrameworkId("batch-1-1"),
                                             .session = SessionEpoch(++sessions_)}));
    answer_store();
    for (const auto& [task, spec] : std::map(running_)) tell(task, State::kRunning);
    step(sdk::Notification(sdk::AllTasksKnown{}));
    answer_store();
  }
  // The store loses the last unanswered write; then call restart().
  void crash_before_next_write() { crashes_ = true; }
  bool has_crashed() const { return has_crashed_; }

  // --- users -----------------------------------------------------------------------------------
  static StageOrder stage(const std::string& name, std::vector<StageDependency> after = {}) {
    StageOrder stage{.stage = name, .order = JobScenario::order(1, 0), .after = std::move(after)};
    stage.order.name = name.empty() ? "job" : name;
    stage.order.output = "/out-" + name;
    stage.order.plan = "plan-" + name;
    if (!stage.after.empty()) {
      stage.order.maps = 0;
      stage.order.input_bytes = 0;
    }
    return stage;
  }
  Result<proto::BatchJob> submit(std::vector<StageOrder> stages, const std::string& name = "p") {
    return ask(SubmitStages{.stages = {.pipeline = name, .stages = std::move(stages)}, .role = {}});
  }
  Result<proto::BatchJob> ask(decltype(Request::what) what, Caller by = {.user = "ada"}) {
    last_answer_.reset();
    step(Request{.relay = ++relays_, .what = std::move(what), .by = std::move(by)});
    answer_store();
    EXPECT_TRUE(last_answer_ || has_crashed_) << "a request was not answered";
    return last_answer_ ? *last_answer_ : Error::unavailable("the scheduler has crashed");
  }
  Result<proto::BatchSchedule> ask_schedule(decltype(Request::what) what,
                                            Caller by = {.user = "ada"}) {
    const Result<proto::BatchJob> answer = ask(std::move(what), std::move(by));
    return answer ? Result<proto::BatchSchedule>(last_schedule_) : answer.error();
  }
  Result<proto::BatchJob> retry(const std::string& job) { return ask(Retry{JobId(job)}); }
  Result<proto::BatchJob> cancel(const std::string& job) { return ask(Cancel{JobId(job)}); }

  // --- tasks -----------------------------------------------------------------------------------
  // Tasks of jobs with this in their id fail from now on.
  void fails(const std::string& part) { failing_.insert(part); }
  void works(const std::string& part) { failing_.erase(part); }
  // The same for one element of an array.
  void fails(const std::string& part, uint32_t element) { failing_elements_[part].insert(element); }
  void works(const std::string& part, uint32_t element) { failing_elements_[part].erase(element); }
  // The result of plan tasks.
  void finds(PlanResult result) { found_ = result; }
  // Runs until the plan task of this job has ended.
  void run_until_planned(const std::string& job) {
    launch();
    for (const auto& [task, spec] : std::map(running_)) {
      if (task.str().starts_with(job + ".plan")) end(task);
    }
  }
  // Launches tasks for the asks and ends them, until nothing more happens.
  void run() {
    for (int round = 0; round < 1'000 && !has_crashed_; ++round) {
      if (!launch() && running_.empty()) {
        if (!jobs_->next_deadline() || *jobs_->next_deadline() > now_ + seconds(10)) return;
        now_ = *jobs_->next_deadline();
        step(Tick{});
        answer_store();
        continue;
      }
      if (!running_.empty()) end(running_.begin()->first);
    }
  }
  // Makes one offer for each ask; true if a task was launched.
  bool launch() {
    const size_t before = running_.size();
    for (const Ask& ask : std::vector<Ask>(asks_)) {
      Offer offer{.id = OfferId(++offers_), .agent = AgentId("a")};
      offer.fills.push_back({ask.name, ask.count});
      step(sdk::Notification(proto::Offers{{offer}}));
      answer_store();
    }
    return running_.size() > before;
  }
  void end(TaskId task) {
    const auto found = running_.find(task);
    const Result<Work> work = decode_work(found->second.data);
    running_.erase(found);
    bool fails =
        !std::holds_alternative<EndWork>(*work) && !std::holds_alternative<GatherWork>(*work);
    fails &= std::any_of(failing_.begin(), failing_.end(), [&](const std::string& part) {
      return task.str().find(part) != std::string::npos;
    });
    if (killed_.contains(task)) return tell(task, State::kKilled);
    if (const auto* range = std::get_if<RangeWork>(&*work)) return end_range(task, *range, fails);
    if (fails) {
      return tell(task, State::kFailed, encode_failure({.blame = Blame::kInput}));
    }
    if (std::holds_alternative<PlanWork>(*work)) {
      return tell(task, State::kFinished, encode_plan_result(found_));
    }
    tell(task, State::kFinished, encode_result({.bytes_in = 1, .http_address = "a:1"}));
  }

  // All elements of a range end in the same way.
  void end_range(const TaskId& task, const RangeWork& work, bool fails) {
    RangeResult result{.ended = work.count(), .ran = work.count()};
    for (uint32_t place = 0; place < work.count(); ++place) {
      if (!fails && !fails_here(task, work.first + place)) continue;
      const auto before = work.failures.find(place);
      const int32_t attempt = before == work.failures.end() ? 1 : before->second + 1;
      result.failures.push_back({.place = place, .attempt = attempt, .code = 1});
    }
    tell(task, State::kFinished, encode_range_result(result));
  }

  // --- results ---------------------------------------------------------------------------------
  proto::BatchJob job(const std::string& id) const {
    for (proto::BatchJob& job : jobs_->list({}, true, {}, 1'000, now_)) {
      if (job.job == id) return std::move(job);
    }
    return {};
  }
  std::string phase(const std::string& id) const { return std::string(to_text(job(id).phase)); }
  // Phases of a pipeline's stages, in their order: "a finished, b skipped".
  std::string phases(const std::string& pipeline = "p-1") const {
    std::string line;
    for (const proto::BatchJob& job : jobs_->list({}, true, {}, 1'000, now_, pipeline)) {
      line += text(line.empty() ? "" : ", ", job.stage, " ", to_text(job.phase));
    }
    return line;
  }
  // The first launch of each job, in their order: "p-a-2.map-00000-1".
  const std::vector<std::string>& begun() const { return begun_; }
  const std::map<std::string, std::string>& store() const { return store_; }
  std::map<TaskId, proto::TaskSpec>& running() { return running_; }
  Jobs& jobs() { return *jobs_; }
  Time now() const { return now_; }
  void advance(Duration duration) {
    now_ = now_ + duration;
    step(Tick{});
    answer_store();
  }

 private:
  bool fails_here(const TaskId& task, uint32_t element) const {
    return std::any_of(failing_elements_.begin(), failing_elements_.end(), [&](const auto& row) {
      return task.str().find(row.first) != std::string::npos && row.second.contains(element);
    });
  }
  void step(const JobsEvent& event) {
    if (has_crashed_) return;
    JobsOutbox out;
    jobs_->handle(event, now_, out);
    for (const sdk::Command& command : out.commands) apply(command);
    for (Answer& answer : out.answers) last_answer_ = std::move(answer.job);
    for (ScheduleAnswer& answer : out.schedule_answers) {
      last_schedule_ = std::move(answer.schedule);
      last_answer_ = proto::BatchJob();
    }
    for (const std::string& zone : out.zones_wanted) {
      step(ZoneRead{zone, zone == "Nowhere" ? Result<Zone>(Error::not_found("no such zone"))
                                            : Zone{.end = int64_t{1} << 33, .offsets = {{0, 0}}}});
    }
    for (const Violation& violation : jobs_->violations()) ADD_FAILURE() << violation.what;
  }
  void answer_store() {
    while (!answers_.empty()) {
      const proto::StoreResult answer = answers_.front();
      answers_.pop_front();
      step(sdk::Notification(answer));
    }
  }
  void tell(const TaskId& task, State state, const std::string& data = "") {
    proto::TaskStatus status;
    status.task = task;
    status.agent = AgentId("a");
    status.state = state;
    status.data = data;
    step(sdk::Notification(status));
    answer_store();
  }
  void apply(const sdk::Command& command) {
    if (const auto* declare = std::get_if<proto::DeclareAsks>(&command)) asks_ = declare->asks;
    if (const auto* request = std::get_if<proto::StoreRequest>(&command)) write(*request);
    if (const auto* kill = std::get_if<proto::KillTask>(&command)) killed_.insert(kill->task);
    const auto* accept = std::get_if<proto::Accept>(&command);
    if (accept == nullptr) return;
    for (const proto::Operation& operation : accept->operations) {
      for (const proto::TaskSpec& spec : std::get<proto::Launch>(operation).tasks) {
        EXPECT_TRUE(ever_.insert(spec.id.str()).second) << spec.id.str() << " was launched twice";
        const std::string id = spec.id.str().substr(0, spec.id.str().rfind('.'));
        if (jobs_begun_.insert(id).second) begun_.push_back(spec.id.str());
        running_[spec.id] = spec;
      }
    }
  }
  void write(const proto::StoreRequest& request) {
    const bool writes =
        std::any_of(request.operations.begin(), request.operations.end(), [](const auto& one) {
          return one.kind == proto::StoreOperation::Kind::kPut ||
                 one.kind == proto::StoreOperation::Kind::kDelete;
        });
    if (writes && std::exchange(crashes_, false)) has_crashed_ = true;
    if (has_crashed_) return;
    answers_.push_back(answer_of_store(store_, request));
  }

 public:
  // After has_crashed(): starts the next process.
  void come_back() {
    has_crashed_ = false;
    crashes_ = false;
    restart();
  }

 private:
  const JobsOptions options_;
  std::unique_ptr<Jobs> jobs_;
  std::map<std::string, std::string> store_;
  std::deque<proto::StoreResult> answers_;
  std::optional<Result<proto::BatchJob>> last_answer_;
  proto::BatchSchedule last_schedule_;
  std::vector<Ask> asks_;
  std::map<TaskId, proto::TaskSpec> running_;
  std::set<TaskId> killed_;
  PlanResult found_ = {.maps = 2, .input_bytes = 2};
  std::set<std::string> failing_;
  std::map<std::string, std::set<uint32_t>> failing_elements_;
  std::set<std::string> ever_;
  std::set<std::string> jobs_begun_;
  std::vector<std::string> begun_;
  Time now_ = Time::from_nanos(1'000'000'000);
  uint64_t relays_ = 0;
  uint64_t offers_ = 0;
  uint64_t sessions_ = 0;
  bool crashes_ = false;
  bool has_crashed_ = false;
};

}  // namespace proffer::batch
