// The rules for a well-behaved scheduler. on_accept, on_launch, on_rescind and on_update find wrong
// messages; complaints() finds missing ones.

#include "cli/conformance_witness.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::cli {
namespace {

using proto::TaskReason;
using proto::TaskState;

// Time that a scheduler has to acknowledge an update, or to declare its asks again.
constexpr Duration kSoon = seconds(3);
constexpr size_t kTasksNamed = 3;

// True for refusals that are always the scheduler's own fault.
bool is_own_fault(TaskReason reason) {
  return reason == TaskReason::kTaskInvalid || reason == TaskReason::kResourcesExceeded ||
         reason == TaskReason::kDuplicateTaskId;
}

}  // namespace

void ConformanceWitness::wrong(std::string what) {
  if (std::find(wrong_.begin(), wrong_.end(), what) == wrong_.end()) {
    wrong_.push_back(std::move(what));
  }
}

void ConformanceWitness::see(ConformanceProxy::To to, const proto::Message& message, Time now) {
  if (std::holds_alternative<proto::Heartbeat>(message)) return;
  last_active_ = now;
  if (to == ConformanceProxy::To::kMaster) {
    to_master(message, now);
  } else {
    to_scheduler(message, now);
  }
}

void ConformanceWitness::process_ended(Time now) {
  alive_ = false;
  is_subscribed_ = false;
  forget_offers();
  excuse_last_updates(now);
}

void ConformanceWitness::excuse_last_updates(Time now) {
  for (auto& [key, heard] : heard_) {
    if (now - heard.at < kSoon + delay_ + delay_) heard.acknowledged = true;
  }
}

void ConformanceWitness::forget_offers() {
  offers_.clear();
  answered_.clear();
  rescinded_.clear();
}

// It is another framework now, and may use the same task ids.
void ConformanceWitness::forget_framework() {
  tasks_.clear();
  open_ = 0;
  most_wanted_ = 0;
}

// --- messages of the scheduler -------------------------------------------------------------------

void ConformanceWitness::to_master(const proto::Message& message, Time now) {
  if (const auto* subscribe = std::get_if<proto::Subscribe>(&message)) {
    on_subscribe(*subscribe);
  } else if (const auto* declare = std::get_if<proto::DeclareAsks>(&message)) {
    declared_ = true;
    wanted_.clear();
    never_fits_.clear();
    for (const Ask& ask : declare->asks) {
      wanted_[ask.name] = {.count = ask.count};
      declared_names_.insert(ask.name);
    }
    note_wanted();
  } else if (const auto* accept = std::get_if<proto::Accept>(&message)) {
    on_accept(*accept, now);
  } else if (const auto* decline = std::get_if<proto::Decline>(&message)) {
    for (const OfferId offer : decline->offers) {
      offers_.erase(offer);
      answered_.insert(offer);
    }
  } else if (const auto* done = std::get_if<proto::Acknowledge>(&message)) {
    on_acknowledge(*done);
  } else if (std::holds_alternative<proto::Teardown>(message)) {
    torn_down_at_ = now;
    excuse_last_updates(now);
  }
}

void ConformanceWitness::on_subscribe(const proto::Subscribe& subscribe) {
  failover_timeout_ = subscribe.failover_timeout;
  mode_ = subscribe.mode;
  remembers_tasks_ = subscribe.remembers_tasks;
  wanted_before_ = wanted() > 0;
  declared_ = false;
  is_subscribed_ = false;
  forget_offers();
}

void ConformanceWitness::on_accept(const proto::Accept& accept, Time now) {
  for (const OfferId offer : accept.offers) {
    const auto void_since = rescinded_.find(offer);
    if (answered_.count(offer) > 0) {
      wrong(text("accepted offer ", offer.value(), ", which it had already answered"));
    } else if (void_since != rescinded_.end()) {
      const Duration late = now - void_since->second;
      if (late > kSoon) {
        wrong(text("accepted offer ", offer.value(), ", which was rescinded ", to_text(late),
                   " before"));
      }
    } else if (offers_.erase(offer) == 0) {
      wrong(text("accepted offer ", offer.value(), ", which it did not receive in this session"));
    }
    answered_.insert(offer);
  }
  for (const proto::Operation& operation : accept.operations) {
    for (const proto::TaskSpec& task : proto::launched_by(operation)) on_launch(task);
  }
  note_wanted();
}

void ConformanceWitness::on_launch(const proto::TaskSpec& task) {
  ++launches_;
  const auto [at, is_new] = tasks_.try_emplace(task.id);
  if (!is_new) {
    const std::optional<TaskState> before = at->second.state;
    if (!before || !proto::is_terminal(*before)) {
      --open_;
      wrong(text("launched task ", task.id.str(),
                 " twice: it had received no final update of the first one"));
    } else if (*before == TaskState::kFinished || *before == TaskState::kFailed ||
               *before == TaskState::kKilled) {
      wrong(text("launched task ", task.id.str(), " again, which is ", to_text(*before)));
    }
  }
  ++open_;
  at->second = {
      .ask = task.ask,
      .executor = task.executor_id.empty() ? ExecutorId(task.id.str()) : task.executor_id};
  if (mode_ == OfferMode::kOpen) return;
  if (declared_names_.count(task.ask) == 0) {
    wrong(task.ask.empty() ? text("launched task ", task.id.str(), " without naming its ask")
                           : text("launched task ", task.id.str(), " of the ask ",
                                  quoted(task.ask.str()), ", which it never declared"));
    return;
  }
  Wanted& ask = wanted_[task.ask];
  if (--ask.count + ask.refused < 0) {
    wrong(text("launched more tasks of the ask ", quoted(task.ask.str()), " than the ask wanted"));
  }
}

void ConformanceWitness::on_acknowledge(const proto::Acknowledge& done) {
  for (auto& [key, heard] : heard_) {
    const auto& [task, source, sequence] = key;
    if (task == done.task && source == done.source && sequence <= done.sequence) {
      heard.acknowledged = true;
    }
  }
}

// --- messages of the master ----------------------------------------------------------------------

void ConformanceWitness::to_scheduler(const proto::Message& message, Time now) {
  if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
    if (framework_ != subscribed->framework) forget_framework();
    framework_ = subscribed->framework;
    ++sessions_;
    subscribed_at_ = now;
    is_subscribed_ = true;
  } else if (const auto* made = std::get_if<proto::Offers>(&message)) {
    offers_told_ += made->offers.size();
    for (const Offer& offer : made->offers) offers_[offer.id] = {offer, now};
  } else if (const auto* gone = std::get_if<proto::Rescind>(&message)) {
    on_rescind(*gone, now);
  } else if (const auto* update = std::get_if<proto::Update>(&message)) {
    on_update(update->status, now);
  } else if (std::holds_alternative<proto::RevokeNotice>(message)) {
    ++notices_;
  } else if (const auto* report = std::get_if<proto::AskReport>(&message)) {
    never_fits_.clear();
    for (const proto::AskReport::Row& row : report->rows) {
      if (row.could_ever_fit || !never_fits_.empty()) continue;
      never_fits_ = text("its ask ", quoted(row.ask.str()), " fits on no agent: ", row.why);
    }
  } else if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) {
    if (torn_down_at_) return;  // it answers the teardown
    wrong(text("the master refused a message: ", error->message));
  }
}

void ConformanceWitness::on_rescind(const proto::Rescind& gone, Time now) {
  for (const OfferId id : gone.offers) {
    const auto at = offers_.find(id);
    if (at == offers_.end()) continue;
    const Held& held = at->second;
    if (now - held.since >= lease_ - milliseconds(500)) {
      wrong(text("held an offer of ", held.offer.agent.str(), " for its whole lease, ",
                 to_text(lease_), ", and neither accepted nor declined it"));
    }
    offers_.erase(at);
    rescinded_[id] = now;
  }
}

void ConformanceWitness::on_update(const proto::TaskStatus& status, Time now) {
  const auto [at, is_new] = tasks_.try_emplace(status.task);
  Task& task = at->second;
  if (is_new) ++open_;  // from an earlier session
  if (!task.state || !proto::is_terminal(*task.state)) {
    task.state = status.state;
    if (proto::is_terminal(status.state)) --open_;
    const auto ask = wanted_.find(task.ask);
    if (status.state == TaskState::kRefused) {
      // The framework wants a task that was refused before it ran.
      if (ask != wanted_.end()) ++ask->second.refused;
      if (is_own_fault(status.reason)) {
        wrong(text("task ", status.task.str(), " was refused: ", status.message));
      }
    } else if (proto::is_terminal(status.state) && status.state != TaskState::kFinished) {
      ++bad_ends_;
    }
    if (status.state == TaskState::kFailed) {
      last_failure_ = text(status.task.str(), " failed: ", status.message);
    }
    note_wanted();
  }
  if (status.sequence == 0) return;  // the answer to a reconcile request
  Heard& heard = heard_[{status.task, status.source, status.sequence}];
  heard.at = now;
  if (++heard.times == 2) ++heard_twice_;
  heard.acknowledged = false;
}

// --- results -------------------------------------------------------------------------------------

int64_t ConformanceWitness::wanted() const {
  int64_t sum = 0;
  for (const auto& [name, ask] : wanted_) sum += std::max<int64_t>(ask.count + ask.refused, 0);
  return sum;
}

void ConformanceWitness::note_wanted() {
  most_wanted_ = std::max(most_wanted_, wanted() + static_cast<int64_t>(open_));
}

std::optional<int64_t> ConformanceWitness::most_wanted() const {
  return mode_ == OfferMode::kAsks ? std::optional(most_wanted_) : std::nullopt;
}

std::vector<TaskId> ConformanceWitness::open_tasks() const {
  std::vector<TaskId> open;
  for (const auto& [id, task] : tasks_) {
    if (!task.state || !proto::is_terminal(*task.state)) open.push_back(id);
  }
  return open;
}

size_t ConformanceWitness::told(TaskState wanted) const {
  return static_cast<size_t>(std::count_if(
      tasks_.begin(), tasks_.end(), [&](const auto& task) { return task.second.state == wanted; }));
}

ExecutorId ConformanceWitness::executor_of(const TaskId& task) const {
  const auto at = tasks_.find(task);
  return at == tasks_.end() ? ExecutorId() : at->second.executor;
}

// Updates that came once, or with `again` those that came again; empty if all were acknowledged.
std::string ConformanceWitness::unacknowledged(Time now, bool again) const {
  size_t missing = 0;
  std::string names;
  for (const auto& [key, heard] : heard_) {
    if (heard.acknowledged || (heard.times > 1) != again) continue;
    if (alive_ && !torn_down_at_ && now - heard.at < kSoon) continue;
    if (++missing <= kTasksNamed) {
      names += text(missing == 1 ? "" : ", ", std::get<TaskId>(key).str(), " sequence ",
                    std::get<uint64_t>(key));
    }
  }
  if (missing == 0) return "";
  return text(missing, missing == 1 ? " update" : " updates",
              again ? " that arrived again (" : " (", names, missing > kTasksNamed ? ", …)" : ")");
}

std::vector<std::string> ConformanceWitness::complaints(Time now) const {
  std::vector<std::string> found = wrong_;
  if (sessions_ == 0) found.push_back("never subscribed");
  if (alive_ && !torn_down_at_ && sessions_ > 0 && !is_subscribed_) {
    found.push_back("did not subscribe again after its connection was lost");
  }
  for (const bool again : {false, true}) {
    const std::string missing = unacknowledged(now, again);
    if (!missing.empty()) found.push_back(text("never acknowledged ", missing));
  }
  if (alive_ && is_subscribed_ && !torn_down_at_ && sessions_ > 1 && wanted_before_ && !declared_ &&
      now - subscribed_at_ > kSoon) {
    found.push_back("did not declare its asks again after it subscribed again");
  }
  return found;
}

}  // namespace proffer::cli
