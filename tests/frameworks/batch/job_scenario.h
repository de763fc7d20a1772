#pragma once

// The batch scheduler with one job, a store, and a small cluster. Offers match the asks, and the
// test decides how tasks end. Names of tasks and asks are the job's own, without its id. The job's
// last task runs by itself. violations() is checked after each step.

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/core/jobs.h"
#include "frameworks/batch/core/trace.h"
#include "tests/frameworks/batch/store_answers.h"

namespace proffer::batch {

// What the last task of an array does besides writing its index.
struct GatherForm {
  bool commits = false;
  bool keeps = false;
  bool operator==(const GatherForm&) const = default;
};

class JobScenario {
 public:
  using State = proto::TaskState;
  using Reason = proto::TaskReason;

  struct Running {
    AgentId agent = {};
    proto::TaskSpec spec = {};
    bool kill_asked = false;
  };

  static JobOrder order(int maps, int reducers) {
    JobOrder order;
    order.name = "job";
    order.map = "mapper";
    order.reduce = reducers > 0 ? "reducer" : "";
    order.output = "/out";
    order.plan = "plan";
    order.maps = maps;
    order.reducers = reducers;
    order.input_bytes = 1'000 * maps;
    order.resources = ResourceVector::of(1'000, 256'000);
    return order;
  }

  static JobOrder array(uint32_t elements) {
    JobOrder order;
    order.name = "job";
    order.output = "/out";
    order.plan = "plan";
    order.resources = ResourceVector::of(1'000, 256'000);
    ArrayOrder& array = order.array.emplace();
    array.command = {"true", "{}"};
    array.indices = {{.first = 1, .step = 1, .count = elements}};
    array.directory = "/";
    return order;
  }

  JobScenario(int maps, int reducers) : JobScenario(order(maps, reducers)) {}
  explicit JobScenario(JobOrder order) : order_(std::move(order)) { restart(); }

  // Starts a new scheduler process with the same store.
  void restart() {
    jobs_ = std::make_unique<Jobs>(JobsOptions());
    asks_.clear();
    answers_.clear();
  }

  // --- the cluster -----------------------------------------------------------------------------
  void agent(const std::string& name, int slots) { slots_[AgentId(name)] = slots; }
  void agent_ends(const std::string& name) { slots_.erase(AgentId(name)); }
  // Unacknowledged ends are reported first, then running tasks.
  void subscribe() {
    notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"),
                             .session = SessionEpoch(++sessions_)});
    for (const auto& [id, status] : std::map(unacknowledged_)) notify(status);
    for (const auto& [id, task] : std::map(running_)) {
      status(id, task.agent, State::kRunning);
    }
    notify(sdk::AllTasksKnown{});
    if (!std::exchange(is_submitted_, true)) {
      handle(
          Request{.relay = 1, .what = Submit{.order = order_, .role = {}}, .by = {.user = "ada"}});
    }
  }
  // Adds these agents, subscribes, and launches the first tasks.
  void begins_on(const std::map<std::string, int>& slots) {
    for (const auto& [name, count] : slots) agent(name, count);
    subscribe();
    offer_all();
  }
  void disconnect() {
    asks_.clear();
    notify(sdk::Disconnected{"gone"});
  }

  // Offers free slots for the asks until no more tasks fit. Returns the number of launched tasks.
  int offer_all() {
    int launched = 0;
    for (int round = 0; round < 1'000; ++round) {
      bool offered = false;
      for (const auto& [name, slots] : slots_) {
        const int64_t free = slots - busy(name);
        for (const Ask& ask : asks_) {
          const int64_t count = std::min(free, ask.count);
          if (count <= 0 || !allows(ask, name)) continue;
          launched += offer(name, ask.name, count);
          offered = true;
          break;  // the asks have changed
        }
      }
      if (!offered) break;
    }
    return launched;
  }
  // Makes one offer, whether it is wanted or not. Returns the number of launched tasks.
  int offer(const AgentId& agent, const AskName& ask, int64_t count) {
    Offer offered{.id = OfferId(++offers_), .agent = agent};
    offered.fills.push_back(AskFill{AskName(text(kJob, ask.str())), count});
    const size_t before = running_.size();
    notify(proto::Offers{{offered}});
    EXPECT_TRUE(over() || answered_ == offered.id) << "an offer was not answered";
    return static_cast<int>(running_.size() - before);
  }

  // --- tasks -----------------------------------------------------------------------------------
  // Ids are passed by value: they may be keys of the map that changes.
  void finish(std::string id) {
    if (id.starts_with("plan")) return finish_plan(id, {.maps = 1});
    const Running task = take(id);
    TaskResult result{.records_in = 10, .bytes_in = 1'000, .records_out = 20, .bytes_out = 500};
    result.http_address = text(task.agent.str(), ":5081");
    status(id, task.agent, State::kFinished, Reason::kNone, "", encode_result(result));
  }
  // The plan task ends with this result.
  void finish_plan(std::string id, PlanResult result) {
    const Running task = take(id);
    status(id, task.agent, State::kFinished, Reason::kNone, "", encode_plan_result(result));
  }
  // A range ends its first `ended` elements, these with failures; each element took `each`.
  void finish_range(std::string id, uint32_t ended, std::vector<ElementFailure> failures = {},
                    Duration each = milliseconds(100)) {
    const Running task = take(id);
    const RangeResult result{.ended = ended,
                             .ran = ended,
                             .micros = each.micros() * ended,
                             .failures = std::move(failures),
                             .stderr_tail = "oh"};
    status(id, task.agent, State::kFinished, Reason::kNone, "", encode_range_result(result));
  }
  void finish_range(const std::string& id) { finish_range(id, work_of<RangeWork>(id).count()); }
  void fail(std::string id, const std::string& message, TaskFailure failure = {}) {
    const Running task = take(id);
    status(id, task.agent, State::kFailed, Reason::kNone, message, encode_failure(failure));
  }
  void end(std::string id, State state, Reason reason = Reason::kNone,
           const std::string& message = "", const std::string& data = "") {
    const Running task = take(id);
    status(id, task.agent, state, reason, message, data);
  }
  // The task's agent is past its timeout; the task may still run there.
  void unreachable(const std::string& id) {
    status(id, running_.at(id).agent, State::kUnreachable, Reason::kAgentUnreachable);
  }
  void returns(const std::string& id) {
    status(id, running_.at(id).agent, State::kRunning, Reason::kAgentReturned);
  }
  void status(const std::string& id, const AgentId& agent, State state,
              Reason reason = Reason::kNone, const std::string& message = "",
              const std::string& data = "") {
    proto::TaskStatus update;
    update.task = TaskId(text(kJob, id));
    update.agent = agent;
    update.state = state;
    update.reason = reason;
    update.message = message;
    update.data = data;
    if (proto::is_terminal(state)) update.usage = {.cpu_nanos = cpu_each_.nanos()};
    if (proto::is_terminal(state)) unacknowledged_[update.task] = update;
    notify(update);
  }
  void finish_all() {
    while (!running_.empty()) {
      const std::string id = running_.begin()->first;
      id.starts_with("range") ? finish_range(id) : finish(id);
    }
  }

  // --- time and messages -----------------------------------------------------------------------
  void advance(Duration duration) {
    const Time until = now_ + duration;
    while (jobs_->next_deadline() && *jobs_->next_deadline() <= until) {
      now_ = std::max(now_, *jobs_->next_deadline());
      handle(Tick{});
    }
    now_ = until;
  }
  void notify(sdk::Notification what) { handle(std::move(what)); }
  void handle(const JobsEvent& event) {
    step(event);
    while (!answers_.empty()) {
      const proto::StoreResult answer = answers_.front();
      answers_.pop_front();
      step(sdk::Notification(answer));
    }
    end_by_itself();
  }
  // The cluster forgets this task.
  void forget(const std::string& id) { running_.erase(id); }
  // CPU time that each attempt uses.
  void attempts_use(Duration cpu) { cpu_each_ = cpu; }
  // From now on, the job's last tasks run until the test ends them.
  void holds_last_tasks() { holds_last_tasks_ = true; }
  // The task finishes before its kill arrives.
  void finishes_when_killed(const std::string& id) { finishing_.insert(id); }
  void cancel() { handle(Request{.relay = 2, .what = Cancel{id()}, .by = {.user = "ada"}}); }
  JobId id() const { return JobId("job-1"); }

  // --- results ---------------------------------------------------------------------------------
  const std::map<std::string, Running>& running() const { return running_; }
  std::vector<std::string> running_ids() const {
    std::vector<std::string> ids;
    for (const auto& [id, task] : running_) ids.push_back(id);
    return ids;
  }
  std::string agent_of(const std::string& id) const { return running_.at(id).agent.str(); }
  bool runs(const std::string& id) const { return running_.count(id) != 0; }
  bool killed(const std::string& id) const { return running_.at(id).kill_asked; }
  // The first event of this kind; nullptr if there was none.
  template <Traced T>
  const T* traced() const {
    for (const TraceEvent& one : trace_) {
      if (const T* found = one.as<T>()) return found;
    }
    return nullptr;
  }
  template <class T>
  T work_of(const std::string& id) const {
    const Result<Work> work = decode_work(running_.at(id).spec.data);
    return std::get<T>(*work);
  }
  int64_t asked(const std::string& name) const {
    for (const Ask& ask : asks_) {
      if (ask.name.str() == name) return ask.count;
    }
    return 0;
  }
  const std::vector<Ask>& asks() const { return asks_; }
  proto::BatchJob status() const {
    for (proto::BatchJob& job : jobs_->list({}, true, {}, 10, now_)) return std::move(job);
    return {};
  }
  bool over() const { return proto::has_ended(status().phase); }
  bool succeeded() const { return status().phase == proto::BatchPhase::kFinished; }
  std::string error() const { return status().error; }
  // The kinds of the last tasks so far.
  const std::vector<EndWork::Kind>& ends() const { return ends_; }
  const std::vector<GatherForm>& gathers() const { return gathers_; }
  const std::vector<Answer>& told() const { return told_; }
  // Released files since the last call: "job-1. a b", "job-1. everywhere".
  std::vector<std::string> released() {
    std::vector<std::string> lines;
    for (const proto::ReleaseFiles& files : std::exchange(released_, {})) {
      std::string line = files.begins.front();
      for (const AgentId& agent : files.agents) line += " " + agent.str();
      lines.push_back(files.agents.empty() ? line + " everywhere" : line);
    }
    return lines;
  }
  const std::map<std::string, std::string>& store() const { return store_; }
  size_t unacknowledged() const { return unacknowledged_.size(); }
  Time now() const { return now_; }
  std::optional<Time> deadline() const { return jobs_->next_deadline(); }

 private:
  static constexpr std::string_view kJob = "job-1.";

  void step(const JobsEvent& event) {
    JobsOutbox out;
    jobs_->handle(event, now_, out);
    for (const sdk::Command& command : out.commands) apply(command);
    for (Answer& answer : out.answers) told_.push_back(std::move(answer));
    for (TraceEvent& happened : out.trace) {
      if (const auto* failed = happened.as<TaskFailed>()) {
        EXPECT_LE(failed->failures, failed->of);
      }
      trace_.push_back(std::move(happened));
    }
    for (const Violation& violation : jobs_->violations()) ADD_FAILURE() << violation.what;
  }

  // Ends killed tasks of an ending job, and the last task, at once.
  void end_by_itself() {
    if (is_ending_) return;
    is_ending_ = true;
    const bool is_ending_array = status().array && status().phase == proto::BatchPhase::kCommitting;
    if (status().phase == proto::BatchPhase::kRemoving || is_ending_array) {
      for (const auto& [id, task] : std::map(running_)) {
        if (!task.kill_asked) continue;
        if (finishing_.count(id) != 0) {
          finish(id);
        } else {
          end(id, State::kKilled);
        }
      }
    }
    while (asked("end") > 0 && !holds_last_tasks_) {
      offer(AgentId("anybody"), AskName("end"), 1);
      for (const std::string& id : running_ids()) {
        if (!id.starts_with("end")) continue;
        const Result<Work> work = decode_work(running_.at(id).spec.data);
        if (const auto* end = std::get_if<EndWork>(&*work)) ends_.push_back(end->kind);
        if (const auto* gather = std::get_if<GatherWork>(&*work)) {
          gathers_.push_back({.commits = gather->commits, .keeps = gather->keeps});
        }
        finish(id);
      }
    }
    is_ending_ = false;
  }

  static std::string without_job(const std::string& name) {
    EXPECT_TRUE(name.starts_with(kJob)) << name;
    return name.substr(kJob.size());
  }

  void answer(const proto::StoreRequest& request) {
    answers_.push_back(answer_of_store(store_, request));
  }

  static bool allows(const Ask& ask, const AgentId& agent) {
    for (const Constraint& constraint : ask.constraints) {
      const auto& values = constraint.values;
      if (std::find(values.begin(), values.end(), agent.str()) != values.end()) return false;
    }
    return true;
  }
  int64_t busy(const AgentId& agent) const {
    return std::count_if(running_.begin(), running_.end(),
                         [&](const auto& row) { return row.second.agent == agent; });
  }
  Running take(const std::string& id) {
    const auto found = running_.find(id);
    EXPECT_NE(found, running_.end()) << id << " does not run";
    if (found == running_.end()) return {};
    Running task = std::move(found->second);
    running_.erase(found);
    return task;
  }

  void apply(const sdk::Command& command) {
    if (const auto* declare = std::get_if<proto::DeclareAsks>(&command)) {
      asks_ = declare->asks;
      for (Ask& ask : asks_) ask.name = AskName(without_job(ask.name.str()));
    }
    if (const auto* request = std::get_if<proto::StoreRequest>(&command)) answer(*request);
    if (const auto* files = std::get_if<proto::ReleaseFiles>(&command)) released_.push_back(*files);
    if (const auto* end = std::get_if<sdk::AcknowledgeEnd>(&command)) {
      unacknowledged_.erase(end->task);
    }
    if (const auto* decline = std::get_if<proto::Decline>(&command)) answered_ = decline->offers[0];
    if (const auto* kill = std::get_if<proto::KillTask>(&command)) {
      const auto found = running_.find(without_job(kill->task.str()));
      if (found != running_.end()) found->second.kill_asked = true;
    }
    const auto* accept = std::get_if<proto::Accept>(&command);
    if (accept == nullptr) return;
    answered_ = accept->offers[0];
    size_t bytes = 0;
    for (const proto::Operation& operation : accept->operations) {
      const auto& launch = std::get<proto::Launch>(operation);
      for (const proto::TaskSpec& spec : launch.tasks) {
        bytes += spec.data.size();
        EXPECT_EQ(spec.executor, proto::kBatchExecutor);
        EXPECT_TRUE(ever_.insert(spec.id.str()).second) << spec.id.str() << " was launched twice";
        running_[without_job(spec.id.str())] = Running{.agent = launch.agent, .spec = spec};
        for (Ask& ask : asks_) {
          if (ask.name.str() == without_job(spec.ask.str())) --ask.count;
        }
        std::erase_if(asks_, [](const Ask& ask) { return ask.count == 0; });
      }
    }
    EXPECT_LT(bytes, kFrameBytesMax);
  }

  const JobOrder order_;
  std::unique_ptr<Jobs> jobs_;
  std::map<std::string, std::string> store_;
  std::deque<proto::StoreResult> answers_;
  std::vector<Answer> told_;
  std::vector<TraceEvent> trace_;
  std::vector<proto::ReleaseFiles> released_;
  std::map<TaskId, proto::TaskStatus> unacknowledged_;
  std::vector<EndWork::Kind> ends_;
  std::vector<GatherForm> gathers_;
  std::set<std::string> finishing_;
  Duration cpu_each_;
  bool is_submitted_ = false;
  bool is_ending_ = false;
  bool holds_last_tasks_ = false;
  Time now_ = Time::from_nanos(1'000'000'000);
  std::map<AgentId, int> slots_;
  std::vector<Ask> asks_;
  std::map<std::string, Running> running_;
  std::set<std::string> ever_;
  OfferId answered_;
  uint64_t offers_ = 0;
  uint64_t sessions_ = 0;
};

}  // namespace proffer::batch
