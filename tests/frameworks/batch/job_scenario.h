#pragma once

// A job's core with a small cluster around it that is told what happens: offers come to the measure
// of the asks, tasks do what the story says. violations() is checked after each step.

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/batch/core/job_core.h"

namespace proffer::batch {

class JobScenario {
 public:
  using State = proto::TaskState;
  using Reason = proto::TaskReason;

  struct Running {
    AgentId agent = {};
    proto::TaskSpec spec = {};
    bool kill_asked = false;
  };

  JobScenario(int maps, int reducers) {
    JobOptions options;
    options.spec.map = "mapper";
    options.spec.reduce = reducers > 0 ? "reducer" : "";
    options.spec.reducers = reducers;
    options.spec.inputs = {"/in"};
    options.spec.output = "/out";
    for (int i = 0; i < maps; ++i) {
      options.splits.push_back(Split{.chunks = {Chunk{text("/in/", i), 0, 1'000}}});
    }
    job_ = std::make_unique<Job>(std::move(options));
  }

  // --- the cluster -----------------------------------------------------------------------------
  void agent(const std::string& name, int slots) { slots_[AgentId(name)] = slots; }
  void agent_ends(const std::string& name) { slots_.erase(AgentId(name)); }
  void subscribe() {
    notify(proto::Subscribed{.framework = FrameworkId("batch-1-1"),
                             .session = SessionEpoch(++sessions_)});
  }
  void disconnect() {
    asks_.clear();
    notify(sdk::Disconnected{"gone"});
  }

  // Offers what is free to what is asked for, until nothing more fits. Returns how many were
  // launched.
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
          break;  // The asks have changed.
        }
      }
      if (!offered) break;
    }
    return launched;
  }
  // One offer, wanted or not; how many tasks were launched on it.
  int offer(const AgentId& agent, const AskName& ask, int64_t count) {
    Offer offered{.id = OfferId(++offers_), .agent = agent};
    offered.fills.push_back(AskFill{ask, count});
    const size_t before = running_.size();
    notify(proto::Offers{{offered}});
    EXPECT_TRUE(over() || answered_ == offered.id) << "an offer was not answered";
    return static_cast<int>(running_.size() - before);
  }

  // --- what tasks do ---------------------------------------------------------------------------
  // Ids by value: they may be keys of what changes.
  void finish(std::string id) {
    const Running task = take(id);
    TaskResult result{.records_in = 10, .bytes_in = 1'000, .records_out = 20, .bytes_out = 500};
    result.http_address = text(task.agent.str(), ":5081");
    status(id, task.agent, State::kFinished, Reason::kNone, "", encode_result(result));
  }
  void fail(std::string id, const std::string& message, TaskFailure failure = {}) {
    const Running task = take(id);
    status(id, task.agent, State::kFailed, Reason::kNone, message, encode_failure(failure));
  }
  void end(std::string id, State state, Reason reason = Reason::kNone,
           const std::string& message = "") {
    const Running task = take(id);
    status(id, task.agent, state, reason, message);
  }
  // Its agent is past its timeout; the task may still run there.
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
    update.task = TaskId(id);
    update.agent = agent;
    update.state = state;
    update.reason = reason;
    update.message = message;
    update.data = data;
    notify(update);
  }
  void finish_all() {
    while (!running_.empty()) finish(running_.begin()->first);
  }

  // --- time and messages -----------------------------------------------------------------------
  void advance(Duration duration) {
    const Time until = now_ + duration;
    while (job_->next_deadline() && *job_->next_deadline() <= until) {
      now_ = std::max(now_, *job_->next_deadline());
      handle(Tick{});
    }
    now_ = until;
  }
  void notify(sdk::Notification what) { handle(std::move(what)); }
  void handle(const JobEvent& event) {
    JobOutbox out;
    job_->handle(event, now_, out);
    for (const sdk::Command& command : out.commands) apply(command);
    if (out.finished) {
      EXPECT_FALSE(finished_) << "a job ended twice";
      finished_ = std::move(out.finished);
    }
    for (const Violation& violation : job_->violations()) ADD_FAILURE() << violation.what;
  }

  // --- what one sees ---------------------------------------------------------------------------
  const std::map<std::string, Running>& running() const { return running_; }
  std::vector<std::string> running_ids() const {
    std::vector<std::string> ids;
    for (const auto& [id, task] : running_) ids.push_back(id);
    return ids;
  }
  std::string agent_of(const std::string& id) const { return running_.at(id).agent.str(); }
  bool runs(const std::string& id) const { return running_.count(id) != 0; }
  bool killed(const std::string& id) const { return running_.at(id).kill_asked; }
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
  bool over() const { return job_->over(); }
  bool succeeded() const { return finished_ && finished_->has_value(); }
  std::string error() const { return finished_ && !*finished_ ? finished_->error().message() : ""; }
  JobStatus status() const { return job_->status(now_); }
  Time now() const { return now_; }
  std::optional<Time> deadline() const { return job_->next_deadline(); }

 private:
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
    if (const auto* declare = std::get_if<proto::DeclareAsks>(&command)) asks_ = declare->asks;
    if (const auto* decline = std::get_if<proto::Decline>(&command)) answered_ = decline->offers[0];
    if (const auto* kill = std::get_if<proto::KillTask>(&command)) {
      const auto found = running_.find(kill->task.str());
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
        running_[spec.id.str()] = Running{.agent = launch.agent, .spec = spec};
        for (Ask& ask : asks_) {
          if (ask.name == spec.ask) --ask.count;
        }
        std::erase_if(asks_, [](const Ask& ask) { return ask.count == 0; });
      }
    }
    EXPECT_LT(bytes, kFrameBytesMax);
  }

  std::unique_ptr<Job> job_;
  Time now_ = Time::from_nanos(1'000'000'000);
  std::map<AgentId, int> slots_;
  std::vector<Ask> asks_;
  std::map<std::string, Running> running_;
  std::set<std::string> ever_;
  std::optional<Result<void>> finished_;
  OfferId answered_;
  uint64_t offers_ = 0;
  uint64_t sessions_ = 0;
};

}  // namespace proffer::batch
