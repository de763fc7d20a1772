// An executor's side of its session with the agent. Tasks are known by id, so a repeated RunTask
// has no effect. Updates are numbered for each task and kept until the agent has them on disk. The
// ends of tasks are remembered for longer, since an agent may lose its records: the hello reports
// them, and an ended task is not started again. Read State::handle first, then on_agent_message.

#include "sdk/core/executor_driver.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/text.h"
#include "proto/channel.h"

namespace proffer::sdk {
namespace {

// The most bytes of all updates that a hello repeats: it must fit into a frame with its names.
constexpr size_t kToldAgainBytesMax = 256 * 1024;

size_t weight_of(const proto::TaskStatus& status) {
  constexpr size_t kFixed = 256;
  return kFixed + status.message.size() + status.data.size();
}

}  // namespace

class ExecutorDriver::State {
 public:
  explicit State(ExecutorDriverOptions options)
      : options_(std::move(options)), run_(options_.run) {}

  void handle(const ExecutorDriverEvent& event, Time now, ExecutorDriverOutbox& out);
  std::optional<Time> next_deadline() const;
  bool is_all_acknowledged() const { return unacknowledged_ == 0; }
  std::vector<Violation> violations() const;

 private:
  struct Step {
    Time now = {};
    ExecutorDriverOutbox& out;
  };
  // The launch of its id to which a task belongs.
  struct Launch {
    bool own = false;  // this executor runs no other task
    uint64_t run = 0;  // 0: the agent did not give it
    Time at = {};

    bool is_same_as(const Launch& other) const {
      if (own) return run != 0 && other.run != 0 ? run == other.run : at == other.at;
      return at == other.at && at > Time();
    }
  };
  // Kept from its RunTask until the update that ends it is acknowledged.
  struct Task {
    Launch launch = {};
    uint64_t sequence = 0;
    bool ended = false;
    bool takes_another = false;  // given with its end
    std::deque<proto::TaskStatus> unacknowledged = {};
    // The newest update for which there was no room in `unacknowledged`.
    std::optional<proto::TaskStatus> held = {};
    std::optional<proto::TaskStatus> acknowledged = {};  // the last acknowledged update

    uint64_t acknowledged_sequence() const { return sequence - unacknowledged.size(); }
  };
  // An ended task whose end an agent acknowledged.
  struct Ended {
    Launch launch = {};
    proto::TaskStatus end = {};
  };
  enum class Session : uint8_t { kNone, kGreeting, kOpen };

  void on(const AgentConnected&, Step& step);
  void on(const AgentDisconnected&, Step& step);
  void on(const AgentFrame& frame, Step& step);
  void on(const TellUpdate& tell, Step& step);
  void on(const TellMessage& tell, Step& step);
  void on(const FinishWhenAcknowledged&, Step& step);
  void on(const ExecutorTick&, Step& step);

  void on_agent_message(const proto::Message& message, Step& step);
  void on_welcome(const proto::ExecutorWelcome& welcome, Step& step);
  proto::ExecutorHello hello() const;
  void on_run_task(const proto::RunTask& run, Step& step);
  void tell_end_again(const proto::RunTask& run, proto::TaskStatus end, Step& step);
  void remember(const TaskId& id, const Task& task);
  void on_acknowledge(const proto::Acknowledge& acknowledge, Step& step);
  void send_update(const Task& task, const proto::TaskStatus& status, Step& step);
  void keep_and_send(Task& task, proto::TaskStatus&& status, Step& step);
  void on_error(const proto::ErrorMessage& error, Step& step);
  void send(proto::BoxedMessage message, Step& step);
  void reset(Step& step);
  void end_session(Time now);
  void end_all(bool agent_away, Step& step);
  void finish_if_done(Step& step);

  ExecutorDriverOptions options_;
  std::map<TaskId, Task> tasks_;
  uint64_t run_;  // the highest run: of its start, or of a task
  // The last kExecutorRunsMax, newest last. An agent whose checkpoint lost an end receives it
  // again.
  std::map<TaskId, Ended> ended_;
  std::deque<TaskId> ended_order_;
  size_t unacknowledged_ = 0;

  Session session_ = Session::kNone;
  proto::Channel channel_;
  LeaderEpoch leader_;
  Duration heartbeat_;
  Duration agent_timeout_;
  Time last_sent_;
  Time last_heard_;
  std::optional<Time> away_since_;  // none: a session is open, or there was no event yet
  bool begun_ = false;

  bool ending_ = false;     // EndAll was sent
  bool abandoned_ = false;  // the agent will not receive the rest
  bool finishing_ = false;
  bool finished_ = false;
};

void ExecutorDriver::State::handle(const ExecutorDriverEvent& event, Time now,
                                   ExecutorDriverOutbox& out) {
  if (finished_) return;
  Step step{now, out};
  if (!begun_) {
    begun_ = true;
    away_since_ = now;
  }
  std::visit([&](const auto& one) { on(one, step); }, event);
  finish_if_done(step);
}

std::optional<Time> ExecutorDriver::State::next_deadline() const {
  if (finished_) return std::nullopt;
  if (!begun_) return Time();
  std::optional<Time> first;
  const auto consider = [&](Time due) { first = first ? std::min(*first, due) : due; };
  if (session_ != Session::kNone) {
    consider(last_sent_ + heartbeat_);
    consider(last_heard_ + agent_timeout_);
  }
  if (away_since_ && !abandoned_) consider(*away_since_ + options_.wait_for_agent);
  return first;
}

void ExecutorDriver::State::on(const AgentConnected&, Step& step) {
  end_session(step.now);  // the agent does not answer the greeting
  session_ = Session::kGreeting;
  channel_ = channel_.next_to_silent();
  heartbeat_ = options_.heartbeat;
  agent_timeout_ = options_.agent_timeout;
  last_heard_ = step.now;
  send(hello(), step);
}

// Live tasks first, then ended tasks, newest first.
proto::ExecutorHello ExecutorDriver::State::hello() const {
  proto::ExecutorHello hello{.framework = options_.framework,
                             .executor = options_.executor,
                             .token = options_.token,
                             .run = run_};
  if (tasks_.size() > kExecutorRunsMax) return hello;
  hello.tells_runs = true;
  size_t bytes = 0;
  const auto add = [&](proto::ExecutorRun run, const proto::TaskStatus* status) {
    if (status != nullptr && bytes + weight_of(*status) <= kToldAgainBytesMax) {
      bytes += weight_of(*status);
      run.status = *status;
    }
    hello.runs.push_back(std::move(run));
  };
  for (const auto& [id, task] : tasks_) {
    add({.task = id,
         .run = task.launch.run,
         .ended = task.ended,
         .acknowledged = task.acknowledged_sequence()},
        task.acknowledged ? &*task.acknowledged : nullptr);
  }
  for (auto id = ended_order_.rbegin(); id != ended_order_.rend(); ++id) {
    if (hello.runs.size() >= kExecutorRunsMax) break;
    if (tasks_.contains(*id)) continue;
    const Ended& ended = ended_.at(*id);
    add({.task = *id, .run = ended.launch.run, .ended = true, .acknowledged = ended.end.sequence},
        &ended.end);
  }
  return hello;
}

void ExecutorDriver::State::on(const AgentDisconnected&, Step& step) { end_session(step.now); }

void ExecutorDriver::State::end_session(Time now) {
  session_ = Session::kNone;
  if (!away_since_) away_since_ = now;
}

void ExecutorDriver::State::reset(Step& step) {
  end_session(step.now);
  step.out.actions.emplace_back(ResetAgent{});
}

void ExecutorDriver::State::send(proto::BoxedMessage message, Step& step) {
  last_sent_ = step.now;
  step.out.actions.push_back(SendToAgent{channel_.stamp(leader_, std::move(message))});
}

void ExecutorDriver::State::on(const AgentFrame& frame, Step& step) {
  if (session_ == Session::kNone) return;
  switch (channel_.admit(frame.envelope)) {
    case proto::Channel::Verdict::kDeliver:
      break;
    case proto::Channel::Verdict::kDuplicate:
      return;
    case proto::Channel::Verdict::kBroken:
      return reset(step);
  }
  last_heard_ = step.now;
  leader_ = std::max(leader_, frame.envelope.leader);
  on_agent_message(*frame.envelope.message, step);
}

void ExecutorDriver::State::on_agent_message(const proto::Message& message, Step& step) {
  if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) return on_error(*error, step);
  if (const auto* welcome = std::get_if<proto::ExecutorWelcome>(&message)) {
    return on_welcome(*welcome, step);
  }
  if (session_ != Session::kOpen) return reset(step);
  if (const auto* run = std::get_if<proto::RunTask>(&message)) {
    on_run_task(*run, step);
  } else if (const auto* kill = std::get_if<proto::KillTask>(&message)) {
    const auto at = tasks_.find(kill->task);
    if (at != tasks_.end() && !at->second.ended) {
      step.out.actions.push_back(EndTask{kill->task, kill->grace});
    }
  } else if (const auto* acknowledge = std::get_if<proto::Acknowledge>(&message)) {
    on_acknowledge(*acknowledge, step);
  } else if (const auto* words = std::get_if<proto::FrameworkMessage>(&message)) {
    step.out.actions.push_back(HearMessage{words->data});
  } else if (std::holds_alternative<proto::ExecutorShutdown>(message)) {
    end_all(false, step);
  }
  // A heartbeat has no content; unknown messages of a newer agent are ignored.
}

// An agent that has lost records may ask for a task that has ended. A run of this process before
// its present run has ended in any case.
void ExecutorDriver::State::on_run_task(const proto::RunTask& run, Step& step) {
  const Launch launch{run.spec.executor_id.empty(), run.run, run.assignment.launched_at};
  const bool is_of_before = launch.own && run.run != 0 && run.run < run_;
  if (run.becomes && !is_of_before) options_.executor = run.becomes->executor;
  if (tasks_.contains(run.spec.id)) return;
  const auto ended = ended_.find(run.spec.id);
  if (ended != ended_.end() && ended->second.launch.is_same_as(launch)) {
    return tell_end_again(run, ended->second.end, step);
  }
  if (is_of_before) {
    return tell_end_again(run,
                          {.task = run.spec.id,
                           .state = proto::TaskState::kFailed,
                           .reason = proto::TaskReason::kExecutorEnded,
                           .sequence = 1,
                           .message = "the task has ended, but its executor has forgotten how"},
                          step);
  }
  run_ = std::max(run_, run.run);
  tasks_[run.spec.id] = {.launch = launch};
  step.out.actions.push_back(StartTask{run});
}

void ExecutorDriver::State::tell_end_again(const proto::RunTask& run, proto::TaskStatus end,
                                           Step& step) {
  Task& task = tasks_[run.spec.id];
  task.launch = {run.spec.executor_id.empty(), run.run, run.assignment.launched_at};
  task.sequence = end.sequence - 1;
  task.ended = true;
  keep_and_send(task, std::move(end), step);
}

void ExecutorDriver::State::remember(const TaskId& id, const Task& task) {
  if (!ended_.insert_or_assign(id, Ended{task.launch, *task.acknowledged}).second) {
    std::erase(ended_order_, id);
  }
  ended_order_.push_back(id);
  if (ended_order_.size() <= kExecutorRunsMax) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

void ExecutorDriver::State::on_welcome(const proto::ExecutorWelcome& welcome, Step& step) {
  if (session_ != Session::kGreeting) return reset(step);
  session_ = Session::kOpen;
  away_since_.reset();
  abandoned_ = false;  // the agent is back in time to receive the ends
  if (welcome.heartbeat > Duration()) heartbeat_ = welcome.heartbeat;
  if (welcome.timeout > Duration()) agent_timeout_ = welcome.timeout;
  for (const auto& [id, task] : tasks_) {
    for (const proto::TaskStatus& status : task.unacknowledged) send_update(task, status, step);
  }
}

void ExecutorDriver::State::on_acknowledge(const proto::Acknowledge& acknowledge, Step& step) {
  const auto at = tasks_.find(acknowledge.task);
  if (at == tasks_.end()) return;
  Task& task = at->second;
  while (!task.unacknowledged.empty() &&
         task.unacknowledged.front().sequence <= acknowledge.sequence) {
    task.acknowledged = std::move(task.unacknowledged.front());
    task.unacknowledged.pop_front();
    --unacknowledged_;
  }
  if (task.ended && task.unacknowledged.empty()) {
    remember(at->first, task);
    tasks_.erase(at);
  } else if (task.held && task.unacknowledged.size() + 1 < kUpdatesPerTaskMax) {
    keep_and_send(task, *std::exchange(task.held, std::nullopt), step);
  }
}

// An agent that does not know this executor never will, since no other agent started it.
void ExecutorDriver::State::on_error(const proto::ErrorMessage& error, Step& step) {
  if (!error.retry) {
    end_session(step.now);
    return end_all(true, step);
  }
  if (error.ends_session) reset(step);
}

void ExecutorDriver::State::on(const TellUpdate& tell, Step& step) {
  const auto at = tasks_.find(tell.status.task);
  if (at == tasks_.end() || at->second.ended) return;
  Task& task = at->second;
  const bool ends = proto::is_terminal(tell.status.state);
  proto::TaskStatus status = tell.status;
  status.at = step.now;
  // If many updates are not acknowledged, the newest counts, and an end before all others.
  if (!ends && task.unacknowledged.size() + 1 >= kUpdatesPerTaskMax) {
    task.held = std::move(status);
    return;
  }
  task.held.reset();
  task.ended = ends;
  task.takes_another = ends && tell.takes_another;
  keep_and_send(task, std::move(status), step);
}

void ExecutorDriver::State::keep_and_send(Task& task, proto::TaskStatus&& status, Step& step) {
  status.sequence = ++task.sequence;
  if (session_ == Session::kOpen) send_update(task, status, step);
  task.unacknowledged.push_back(std::move(status));
  ++unacknowledged_;
}

void ExecutorDriver::State::send_update(const Task& task, const proto::TaskStatus& status,
                                        Step& step) {
  send(proto::ExecutorUpdate{.status = status,
                             .takes_another =
                                 task.takes_another && proto::is_terminal(status.state)},
       step);
}

void ExecutorDriver::State::on(const TellMessage& tell, Step& step) {
  if (session_ != Session::kOpen) return;  // best effort
  send(proto::FrameworkMessage{.framework = options_.framework,
                               .executor = options_.executor,
                               .to_scheduler = true,
                               .data = tell.data},
       step);
}

void ExecutorDriver::State::on(const FinishWhenAcknowledged&, Step&) { finishing_ = true; }

void ExecutorDriver::State::on(const ExecutorTick&, Step& step) {
  if (session_ != Session::kNone) {
    if (step.now >= last_heard_ + agent_timeout_) {
      reset(step);
    } else if (step.now >= last_sent_ + heartbeat_) {
      send(proto::Heartbeat{}, step);
    }
  }
  if (away_since_ && step.now >= *away_since_ + options_.wait_for_agent) end_all(true, step);
}

void ExecutorDriver::State::end_all(bool agent_away, Step& step) {
  abandoned_ |= agent_away;
  if (std::exchange(ending_, true)) return;
  step.out.actions.push_back(EndAll{agent_away});
}

void ExecutorDriver::State::finish_if_done(Step& step) {
  if (!finishing_ || (unacknowledged_ > 0 && !abandoned_)) return;
  finished_ = true;
  step.out.actions.emplace_back(Finished{unacknowledged_ == 0});
}

std::vector<Violation> ExecutorDriver::State::violations() const {
  std::vector<Violation> found;
  const auto report = [&](const TaskId& task, std::string_view what) {
    found.push_back({text("task ", task.str(), ": ", what)});
  };
  size_t waiting = 0;
  for (const auto& [id, task] : tasks_) {
    uint64_t expected = task.sequence - task.unacknowledged.size() + 1;
    for (const proto::TaskStatus& status : task.unacknowledged) {
      if (status.sequence != expected++) report(id, "updates are out of order");
    }
    if (task.ended && task.unacknowledged.empty()) report(id, "has ended, but is not forgotten");
    if (task.ended && !task.unacknowledged.empty() &&
        !proto::is_terminal(task.unacknowledged.back().state)) {
      report(id, "an update follows the final one");
    }
    if (task.unacknowledged.size() > kUpdatesPerTaskMax) report(id, "too many updates wait");
    if (task.acknowledged && task.acknowledged->sequence != task.acknowledged_sequence()) {
      report(id, "the last acknowledged update is another one");
    }
    if (task.held && (task.ended || task.unacknowledged.empty())) {
      report(id, "an update waits for nothing");
    }
    waiting += task.unacknowledged.size();
  }
  if (ended_.size() != ended_order_.size() || ended_.size() > kExecutorRunsMax) {
    found.push_back({"tasks that have ended are miscounted"});
  }
  if (waiting != unacknowledged_) found.push_back({"unacknowledged updates are miscounted"});
  if (begun_ && session_ != Session::kOpen && !away_since_ && !finished_) {
    found.push_back({"the agent is disconnected, but no timer runs"});
  }
  return found;
}

ExecutorDriver::ExecutorDriver(ExecutorDriverOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
ExecutorDriver::~ExecutorDriver() = default;
void ExecutorDriver::handle(const ExecutorDriverEvent& event, Time now, ExecutorDriverOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> ExecutorDriver::next_deadline() const { return state_->next_deadline(); }
bool ExecutorDriver::is_all_acknowledged() const { return state_->is_all_acknowledged(); }
std::vector<Violation> ExecutorDriver::violations() const { return state_->violations(); }

}  // namespace proffer::sdk
