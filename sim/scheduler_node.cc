// The shell of the simulated scheduler. Read step first: the driver's actions are carried out in
// order, then the workload's commands are given to the driver.

#include "sim/scheduler_node.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "sim/liars.h"
#include "sim/trace.h"

namespace proffer::sim {

SchedulerNode::SchedulerNode(World& world, Network& network, Journal& journal,
                             std::vector<Place> masters, std::unique_ptr<Workload> workload)
    : Node(world, workload->options().name),
      network_(network),
      journal_(journal),
      masters_(std::move(masters)),
      party_(network.add_party()),
      workload_(std::move(workload)),
      chance_(world.chance(text("scheduler ", name()))),
      laws_(workload_->options().failover_timeout) {
  secret_ = random_secret(chance_);
}

void SchedulerNode::start() {
  if (is_up() || over_ || (begun_ && !workload_->survives_crash())) return;
  begin_life();
  sdk::DriverOptions options = workload_->options();
  if (std::exchange(begun_, true) && options.stands_by) {
    // Another scheduler replaces it, with the same name and user, but without a session file.
    secret_ = random_secret(chance_);
    framework_ = FrameworkId();
  }
  options.secret = secret_;
  options.framework = framework_;
  driver_ = std::make_unique<sdk::Driver>(std::move(options));
  heard_.clear();
  workload_->begin(now());
  note(SchedulerBegins{framework_});
  line_ = network_.call(party_, masters_, this);
  stepped();
}

void SchedulerNode::crash() {
  if (!is_up()) return;
  note(SchedulerCrashes{});
  network_.hang_up(line_);
  end_life();
  network_.thaw(party_);
  if (!workload_->survives_crash() && !framework_.empty()) journal_.torn_down(framework_);
  driver_.reset();
}

bool SchedulerNode::may_crash() const {
  return workload_->survives_crash() || workload_->options().failover_timeout < minutes(10);
}

bool SchedulerNode::is_settled() const {
  if (over_) return true;
  if (!is_up()) return begun_ && !workload_->survives_crash();
  return workload_->is_done() && driver_->subscribed() && driver_->live_tasks().empty();
}

std::optional<Time> SchedulerNode::next_deadline() const {
  const std::optional<Time> driver = driver_->next_deadline();
  const std::optional<Time> workload = workload_->next_deadline();
  if (!driver || !workload) return driver ? driver : workload;
  return std::min(*driver, *workload);
}

void SchedulerNode::tick() {
  if (const std::optional<Time> due = workload_->next_deadline(); due && *due <= now()) {
    Workload::Commands commands;
    workload_->tick(now(), commands);
    give(std::move(commands));
  }
  if (!is_up()) return;
  if (const std::optional<Time> due = driver_->next_deadline(); due && *due <= now()) {
    step(sdk::Tick{});
  } else {
    stepped();
  }
}

std::vector<Violation> SchedulerNode::violations() const {
  std::vector<Violation> found = driver_->violations();
  for (Violation& violation : workload_->violations()) found.push_back(std::move(violation));
  return found;
}

void SchedulerNode::step(const sdk::DriverEvent& event) {
  sdk::DriverOutbox out;
  driver_->handle(event, now(), out);
  note(out.trace);
  const bool crashes = crashes_now();
  const size_t done = crashes ? chance_.below(out.actions.size() + 1) : out.actions.size();
  Workload::Commands commands;
  for (size_t i = 0; i < done; ++i) {
    const sdk::DriverAction& action = out.actions[i];
    if (const auto* notify = std::get_if<sdk::Notify>(&action)) {
      hear(notify->notification);
      if (std::holds_alternative<sdk::Refused>(notify->notification)) refused_ = true;
      workload_->hear(notify->notification, now(), commands);
    } else {
      carry_out(action);
      if (!is_up()) return;
    }
  }
  if (crashes) {
    // The author's last commands may or may not have been carried out.
    commands.resize(chance_.below(commands.size() + 1));
    give(std::move(commands));
    return crash();
  }
  stepped();
  give(std::move(commands));
}

void SchedulerNode::give(Workload::Commands commands) {
  for (sdk::Command& command : commands) {
    // it may have crashed in the step of the previous command
    if (!is_up()) return;
    for (const Violation& violation : laws_.on_command(command, now())) {
      world().violated(name(), violation);
    }
    if (const auto* accept = std::get_if<proto::Accept>(&command)) {
      for (const proto::Operation& operation : accept->operations) {
        for (const proto::TaskSpec& task : proto::launched_by(operation)) {
          journal_.accepted({framework_, task.id});
          heard_.erase(task.id);  // from a refused launch of the same id
          labels_[task.id] = task.labels;
        }
      }
    }
    if (const auto* question = std::get_if<proto::Reconcile>(&command)) {
      asked_.insert(question->tasks.begin(), question->tasks.end());
    }
    if (std::holds_alternative<proto::Teardown>(command)) journal_.torn_down(framework_);
    step(sdk::CommandGiven{std::move(command)});
  }
}

void SchedulerNode::carry_out(const sdk::DriverAction& action) {
  if (const auto* send = std::get_if<sdk::SendToMaster>(&action)) {
    network_.send(line_, send->envelope);
  } else if (std::holds_alternative<sdk::ResetMaster>(action)) {
    network_.reset(line_);
  } else if (const auto* identity = std::get_if<sdk::SaveIdentity>(&action)) {
    framework_ = identity->framework;
  } else if (const auto* done = std::get_if<sdk::Done>(&action)) {
    // the last message still leaves
    note(SchedulerIsDone{});
    if (done->is_given_up && workload_->survives_crash()) {
      // Its framework would stay, with its unacknowledged updates, so it is started again.
      return later(seconds(1), [this] {
        crash();
        start();
      });
    }
    over_ = true;
    if (!framework_.empty()) journal_.torn_down(framework_);
    later(seconds(1), [this] { crash(); });
  }
}

void SchedulerNode::hear(const sdk::Notification& notification) {
  for (const Violation& violation : laws_.heard(notification)) {
    world().violated(name(), violation);
  }
  check_liars(notification);
  if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    // The scheduler or its master may have crashed between the record of a launch and the launch.
    const bool is_answer =
        status->state == proto::TaskState::kLost && asked_.contains(status->task);
    if (!is_answer && !journal_.was_accepted({framework_, status->task})) {
      world().violated(name(),
                       {text("hears of task ", status->task.str(),
                             ", which it did not launch: ", proto::to_text(status->state))});
    }
    check_promises(*status);
    for (const Violation& violation : journal_.heard(framework_, *status)) {
      world().violated(name(), violation);
    }
  }
}

// It receives nothing from a liar, and nothing that only a liar sends.
void SchedulerNode::check_liars(const sdk::Notification& notification) {
  AgentId told;
  if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) told = status->agent;
  if (const auto* message = std::get_if<proto::FrameworkMessage>(&notification)) {
    told = message->agent;
  }
  if (const auto* failure = std::get_if<proto::Failure>(&notification)) told = failure->agent;
  if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
    for (const Offer& offer : offers->offers) {
      if (offer.agent == kLiar) told = offer.agent;
    }
  }
  if (told == kLiar) world().violated(name(), {"hears of the lying agent"});
}

void SchedulerNode::check_promises(const proto::TaskStatus& status) {
  Heard& heard = heard_[status.task];
  const std::string what = text("update ", proto::to_text(status.state), " of ", status.task.str(),
                                " sequence ", status.sequence);
  if (heard.ended) world().violated(name(), {text(what, " is heard after its end")});
  if (status.sequence > 0) {
    uint64_t& last = heard.sequence[static_cast<size_t>(status.source)];
    if (status.sequence <= last) world().violated(name(), {text(what, " is heard after ", last)});
    last = status.sequence;
  }
  heard.ended = heard.ended || proto::is_terminal(status.state);
  // The labels of an unknown task are unknown.
  const auto launched = labels_.find(status.task);
  const bool may_be_without = status.reason == proto::TaskReason::kTaskUnknown;
  if (status.labels != (launched == labels_.end() ? proto::Labels() : launched->second) &&
      !(status.labels.empty() && may_be_without)) {
    world().violated(name(), {text(what, " has other labels than it was launched with")});
  }
}

}  // namespace proffer::sim
