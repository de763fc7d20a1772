// The rules for a well-behaved scheduler are in complaints(); the rest keeps the books.

#include "cli/conformance_witness.h"

#include <algorithm>

#include "common/text.h"

namespace proffer::cli {
namespace {

using proto::TaskState;

// What a scheduler may take to acknowledge, or to declare its asks again.
constexpr Duration kSoon = seconds(3);
// What was told just before it ended may have crossed with that.
constexpr Duration kCrossing = milliseconds(200);
constexpr size_t kNamedMax = 3;

}  // namespace

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
  offers_.clear();
  // Those that came just before it ended are nobody's fault.
  for (auto& [key, heard] : heard_) {
    if (now - heard.at < kCrossing) heard.acknowledged = true;
  }
}

bool ConformanceWitness::wants_more() const {
  return std::any_of(wanted_.begin(), wanted_.end(),
                     [](const auto& ask) { return ask.second > 0; });
}

void ConformanceWitness::to_master(const proto::Message& message, Time now) {
  if (const auto* subscribe = std::get_if<proto::Subscribe>(&message)) {
    failover_timeout_ = subscribe->failover_timeout;
    wanted_before_ = wants_more();
    declared_ = false;
    is_subscribed_ = false;
    offers_.clear();  // of the connection before
  } else if (const auto* declare = std::get_if<proto::DeclareAsks>(&message)) {
    declared_ = true;
    wanted_.clear();
    for (const Ask& ask : declare->asks) wanted_[ask.name] = ask.count;
  } else if (const auto* accept = std::get_if<proto::Accept>(&message)) {
    answered(accept->offers);
    for (const proto::Operation& operation : accept->operations) {
      for (const proto::TaskSpec& task : proto::launched_by(operation)) {
        tasks_.try_emplace(task.id);
        asks_[task.id] = task.ask;
        if (const auto ask = wanted_.find(task.ask); ask != wanted_.end()) --ask->second;
      }
    }
  } else if (const auto* decline = std::get_if<proto::Decline>(&message)) {
    answered(decline->offers);
  } else if (const auto* done = std::get_if<proto::Acknowledge>(&message)) {
    for (auto& [key, heard] : heard_) {
      const auto& [task, source, sequence] = key;
      if (task == done->task && source == done->source && sequence <= done->sequence) {
        heard.acknowledged = true;
      }
    }
  } else if (std::holds_alternative<proto::Teardown>(message)) {
    torn_down_at_ = now;
    for (auto& [key, heard] : heard_) {
      if (now - heard.at < kCrossing) heard.acknowledged = true;
    }
  }
}

void ConformanceWitness::to_scheduler(const proto::Message& message, Time now) {
  if (const auto* subscribed = std::get_if<proto::Subscribed>(&message)) {
    framework_ = subscribed->framework;
    frameworks_.insert(framework_);
    ++sessions_;
    subscribed_at_ = now;
    is_subscribed_ = true;
  } else if (const auto* made = std::get_if<proto::Offers>(&message)) {
    for (const Offer& offer : made->offers) offers_[offer.id] = {offer, now};
  } else if (const auto* gone = std::get_if<proto::Rescind>(&message)) {
    for (const OfferId id : gone->offers) {
      const auto at = offers_.find(id);
      if (at == offers_.end()) continue;
      if (!at->second.offer.fills.empty() && wants_more() &&
          now - at->second.since >= lease_ - milliseconds(500)) {
        wrong_.push_back(text("held an offer for its whole lease, ", to_text(lease_),
                              ", although its ask ", at->second.offer.fills[0].ask.str(),
                              " is not met"));
      }
      offers_.erase(at);
    }
  } else if (const auto* update = std::get_if<proto::Update>(&message)) {
    const proto::TaskStatus& status = update->status;
    std::optional<TaskState>& state = tasks_[status.task];
    if (!state || !proto::is_terminal(*state)) {
      state = status.state;
      // What was refused without ever running is wanted again.
      if (const auto ask = wanted_.find(asks_[status.task]);
          status.state == TaskState::kRefused && ask != wanted_.end()) {
        ++ask->second;
      }
    }
    if (status.sequence == 0) return;  // an answer to reconcile
    Heard& heard = heard_[{status.task, status.source, status.sequence}];
    heard.at = now;
    if (++heard.times == 2) ++heard_twice_;
    heard.acknowledged = false;
  } else if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) {
    if (torn_down_at_) return;  // the answer to that
    wrong_.push_back(text("the master refused a message: ", error->message));
  }
}

std::vector<TaskId> ConformanceWitness::open_tasks() const {
  std::vector<TaskId> open;
  for (const auto& [task, state] : tasks_) {
    if (!state || !proto::is_terminal(*state)) open.push_back(task);
  }
  return open;
}

size_t ConformanceWitness::told(TaskState wanted) const {
  return static_cast<size_t>(std::count_if(
      tasks_.begin(), tasks_.end(), [&](const auto& task) { return task.second == wanted; }));
}

size_t ConformanceWitness::unacknowledged() const {
  return static_cast<size_t>(std::count_if(
      heard_.begin(), heard_.end(), [](const auto& one) { return !one.second.acknowledged; }));
}

std::vector<std::string> ConformanceWitness::complaints(Time now) const {
  std::vector<std::string> found = wrong_;
  if (sessions_ == 0) found.push_back("never subscribed");
  if (alive_ && !torn_down_at_ && sessions_ > 0 && !is_subscribed_) {
    found.push_back("did not subscribe again after its connection ended");
  }
  size_t missing = 0;
  std::string names;
  for (const auto& [key, heard] : heard_) {
    if (heard.acknowledged || (alive_ && !torn_down_at_ && now - heard.at < kSoon)) continue;
    if (++missing <= kNamedMax) {
      names += text(missing == 1 ? "" : ", ", std::get<TaskId>(key).str(), " sequence ",
                    std::get<uint64_t>(key));
    }
  }
  if (missing > 0) {
    found.push_back(text("never acknowledged ", missing, " of ", heard_.size(), " updates (", names,
                         missing > kNamedMax ? ", …)" : ")"));
  }
  if (alive_ && is_subscribed_ && !torn_down_at_ && sessions_ > 1 && wanted_before_ && !declared_ &&
      now - subscribed_at_ > kSoon) {
    found.push_back("did not declare its asks again after it subscribed again");
  }
  return found;
}

}  // namespace proffer::cli
