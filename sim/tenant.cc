// The life of a simulated framework. Read tick first: tasks arrive, and the asks are declared once
// for all events of an instant. tenant_offers.cc answers offers.

#include "sim/tenant.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "common/text.h"
#include "sim/trace.h"

namespace proffer::sim {

using proto::TaskReason;
using proto::TaskState;

namespace {

// After the end of a task is acknowledged, no update of it comes, except repetitions by a lossy
// network.
constexpr size_t kEndedKept = 256;

// Why the master or an agent ended it; the tenant never kills tasks that are still wanted.
TaskBook::Outcome outcome_of_kill(TaskReason reason) {
  switch (reason) {
    case TaskReason::kRevoked:
      return TaskBook::Outcome::kPreempted;
    case TaskReason::kDrained:
      return TaskBook::Outcome::kDrained;
    case TaskReason::kGangIncomplete:
      return TaskBook::Outcome::kRefused;
    default:
      return TaskBook::Outcome::kLost;
  }
}

}  // namespace

Tenant::Tenant(World& world, Network& network, Place master, TaskBook& book,
               const ScenarioFramework& framework, uint32_t index, Duration delay)
    : Node(world, framework.name),
      network_(network),
      master_(master),
      book_(book),
      description_(framework),
      index_(index),
      delay_(delay),
      party_(network.add_party()),
      order_(framework.tasks.size()) {
  Prng chance = world.chance(text("tenant ", name()));
  secret_ = random_secret(chance);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    return framework.tasks[a].ask.priority > framework.tasks[b].ask.priority;
  });
  for (const ScenarioTasks& tasks : framework.tasks) {
    Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(tasks.ask.constraints);
    CHECK(matcher.has_value()) << matcher.error().message();
    matchers_.push_back(*std::move(matcher));
  }
}

void Tenant::join() {
  begin_life();
  driver_ = std::make_unique<sdk::Driver>(sdk::DriverOptions{
      .name = description_.name,
      .role = description_.role,
      .mode = description_.takes == Takes::kAsks ? OfferMode::kAsks : OfferMode::kOpen,
      .secret = secret_,
      .framework = framework_,
      .ended_kept = kEndedKept});
  next_arrival_ = book_.next_arrival(index_);
  note(TenantBegins{});
  line_ = network_.call(party_, {master_}, this);
  stepped();
}

void Tenant::leave() {
  if (!is_up()) return;
  leaving_ = true;
  next_arrival_.reset();
  book_.cancel(index_);
  say(proto::Teardown{});
}

std::optional<Time> Tenant::next_deadline() const {
  std::optional<Time> next = driver_->next_deadline();
  const auto at = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  if (next_arrival_) at(*next_arrival_ - delay_);
  if (!answers_.empty()) at(answers_.front().first);
  if (dirty_ && driver_->subscribed()) at(now());
  return next;
}

void Tenant::tick() {
  if (next_arrival_ && *next_arrival_ - delay_ <= now()) {
    book_.arrive(index_, now() + delay_);
    next_arrival_ = book_.next_arrival(index_);
    dirty_ = true;
  }
  if (dirty_ && driver_->subscribed()) say_what_is_wanted();
  answer_due();
  if (!is_up()) return;
  if (const std::optional<Time> due = driver_->next_deadline(); due && *due <= now()) {
    step(sdk::Tick{});
  } else {
    stepped();
  }
}

// The author's reactions come after the driver's earlier actions, in order.
void Tenant::step(sdk::DriverEvent event) {
  if (stepping_) return waiting_.push_back(std::move(event));
  stepping_ = true;
  take_step(event);
  while (!waiting_.empty() && is_up()) {
    const sdk::DriverEvent next = std::move(waiting_.front());
    waiting_.pop_front();
    take_step(next);
  }
  stepping_ = false;
  if (is_up()) stepped();
}

void Tenant::take_step(const sdk::DriverEvent& event) {
  out_.actions.clear();
  driver_->handle(event, now(), out_);
  note(out_.trace);
  for (sdk::DriverAction& action : out_.actions) {
    if (const auto* notify = std::get_if<sdk::Notify>(&action)) {
      hear(notify->notification);
    } else if (auto* send = std::get_if<sdk::SendToMaster>(&action)) {
      network_.send(line_, std::move(send->envelope));
    } else if (std::holds_alternative<sdk::ResetMaster>(action)) {
      network_.reset(line_);
    } else if (const auto* identity = std::get_if<sdk::SaveIdentity>(&action)) {
      framework_ = identity->framework;
    } else if (std::holds_alternative<sdk::Done>(action)) {
      network_.hang_up(line_);
      end_life();
    }
    if (!is_up()) return;
  }
}

void Tenant::hear(const sdk::Notification& notification) {
  if (leaving_) return;
  if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
    on_offers(*offers);
  } else if (const auto* rescind = std::get_if<proto::Rescind>(&notification)) {
    on_rescind(*rescind);
  } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    on_status(*status);
  } else if (const auto* notice = std::get_if<proto::RevokeNotice>(&notification)) {
    for (const TaskId& task : notice->tasks) {
      if (const std::optional<TaskRef> ref = book_.find(index_, task)) {
        book_.told_to_end(*ref, notice->reason, notice->beneficiary);
      }
    }
  } else if (std::holds_alternative<proto::Subscribed>(notification)) {
    dirty_ = true;
  } else if (const auto* refused = std::get_if<sdk::Refused>(&notification)) {
    world().violated(name(), {text("the master refuses it: ", refused->error.message())});
  }
}

// --- its demands ---------------------------------------------------------------------------------

void Tenant::say_what_is_wanted() {
  dirty_ = false;
  switch (description_.takes) {
    case Takes::kAsks:
      return say(proto::DeclareAsks{.asks = asks()});
    case Takes::kOpen: {
      bool wants = false;
      for (const uint32_t group : order_) wants = wants || book_.pending(index_, group).whole > 0;
      if (wants) {
        suppressed_ = false;
        return say(proto::Revive{});  // filters did not take the new work into account
      }
      if (!std::exchange(suppressed_, true)) say(proto::Suppress{});
      return;
    }
    case Takes::kHoard:
    case Takes::kDecline:
      return;
  }
}

std::vector<Ask> Tenant::asks() const {
  std::vector<Ask> asks;
  for (uint32_t group = 0; group < description_.tasks.size(); ++group) {
    const TaskBook::Pending pending = book_.pending(index_, group);
    if (pending.whole > 0) asks.push_back(ask_of(group, false));
    if (pending.whole > 0) asks.back().count = pending.whole;
    if (pending.members > 0) asks.push_back(ask_of(group, true));
    if (pending.members > 0) asks.back().count = pending.members;
  }
  if (asks.size() > kAsksMax) asks.resize(kAsksMax);  // the others are declared later
  return asks;
}

// Members of a gang that continues without them are asked for one by one.
Ask Tenant::ask_of(uint32_t group, bool members) const {
  const ScenarioTasks& tasks = description_.tasks[group];
  Ask ask = tasks.declared();
  if (members) {
    ask.name = AskName(text(tasks.name, kMembersSuffix));
    ask.gang = 1;
  }
  return ask;
}

// --- results -------------------------------------------------------------------------------------

void Tenant::on_status(const proto::TaskStatus& status) {
  const std::optional<TaskRef> ref = book_.find(index_, status.task);
  CHECK(ref.has_value()) << status.task.str();
  if (!proto::is_terminal(status.state) && status.state != TaskState::kUnreachable) {
    // it came back after another attempt was begun in its place
    if (status.state == TaskState::kRunning && !book_.is_current(*ref)) {
      say(proto::KillTask{.task = status.task});
    }
    return;
  }
  TaskBook::Outcome outcome = TaskBook::Outcome::kLost;
  if (status.state == TaskState::kFinished) outcome = TaskBook::Outcome::kFinished;
  if (status.state == TaskState::kFailed) outcome = TaskBook::Outcome::kFailed;
  if (status.state == TaskState::kRefused) outcome = TaskBook::Outcome::kRefused;
  if (status.state == TaskState::kKilled) outcome = outcome_of_kill(status.reason);
  if (book_.hear(*ref, outcome, now()) && outcome != TaskBook::Outcome::kFinished) dirty_ = true;
}

}  // namespace proffer::sim
