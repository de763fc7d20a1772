#include "sim/author_laws.h"

#include "common/text.h"

namespace proffer::sim {
namespace {

// A filter keeps a declined agent away; but earlier offers, and offers after a revive for new work,
// may be declined as well. Without filters there would be hundreds.
constexpr int kDeclinesPerSecondMax = 50;
// No scheduler in this simulator stays away for so long, so a longer timeout protects it from
// refusal.
constexpr Duration kLong = hours(1);

}  // namespace

std::vector<Violation> AuthorLaws::on_command(const sdk::Command& command, Time now) {
  std::vector<Violation> found;
  if (std::holds_alternative<proto::Teardown>(command)) ended_by_itself_ = true;
  if (const auto* decline = std::get_if<proto::Decline>(&command)) {
    check_decline(*decline, now, found);
  }
  const auto* accept = std::get_if<proto::Accept>(&command);
  if (accept == nullptr) return found;
  for (const OfferId offer : accept->offers) offers_.erase(offer);
  ++accepts_;
  for (const proto::Operation& operation : accept->operations) {
    for (const proto::TaskSpec& task : proto::launched_by(operation)) {
      accept_of_[task.id] = accepts_;
      launched_here_.insert(task.id);
    }
  }
  return found;
}

std::vector<Violation> AuthorLaws::heard(const sdk::Notification& notification) {
  std::vector<Violation> found;
  if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
    for (const Offer& offer : offers->offers) offers_[offer.id] = offer.agent;
  } else if (std::holds_alternative<sdk::Disconnected>(notification)) {
    offers_.clear();
    launched_here_.clear();
  } else if (std::holds_alternative<proto::Subscribed>(notification)) {
    launched_here_.clear();
  } else if (const auto* notice = std::get_if<proto::RevokeNotice>(&notification)) {
    noticed_.insert(notice->tasks.begin(), notice->tasks.end());
  } else if (const auto* over = std::get_if<proto::RevokeWithdrawn>(&notification)) {
    for (const TaskId& task : over->tasks) noticed_.erase(task);
  } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
    check_accept(*status, found);
    check_notice(*status, found);
  } else if (const auto* refused = std::get_if<sdk::Refused>(&notification)) {
    if (failover_timeout_ >= kLong && !ended_by_itself_) {
      found.push_back({text("it is refused, though it may be disconnected for ",
                            to_text(failover_timeout_), ": ", refused->error.message())});
    }
  }
  return found;
}

void AuthorLaws::check_decline(const proto::Decline& decline, Time now,
                               std::vector<Violation>& found) {
  for (const OfferId offer : decline.offers) {
    const auto at = offers_.find(offer);
    if (at == offers_.end()) continue;
    Declined& declined = declined_[at->second];
    if (now - declined.since >= seconds(1)) declined = {.since = now, .times = 0};
    if (++declined.times == kDeclinesPerSecondMax) {
      found.push_back({text("agent ", at->second.str(), " is offered to it again at once, though ",
                            "it declined it ", declined.times, " times within a second")});
    }
    offers_.erase(at);
  }
}

// Messages sent to its scheduler after the launch have arrived before this, in order.
void AuthorLaws::check_notice(const proto::TaskStatus& status,
                              std::vector<Violation>& found) const {
  if (status.reason != proto::TaskReason::kRevoked && status.reason != proto::TaskReason::kDrained)
    return;
  if (!launched_here_.contains(status.task) || noticed_.contains(status.task)) return;
  found.push_back({text("task ", status.task.str(), " is ", proto::to_text(status.reason),
                        ", but no notice announced that it must end")});
}

void AuthorLaws::check_accept(const proto::TaskStatus& status, std::vector<Violation>& found) {
  const auto accept = accept_of_.find(status.task);
  if (accept == accept_of_.end()) return;
  if (status.reason == proto::TaskReason::kOfferNotValid) void_.insert(accept->second);
  if (status.state == proto::TaskState::kRunning || status.state == proto::TaskState::kFinished) {
    launched_.insert(accept->second);
  }
  if (void_.contains(accept->second) && launched_.contains(accept->second)) {
    found.push_back({text("task ", status.task.str(), " is ", proto::to_text(status.state),
                          ", but only a part of its accept was launched: an offer was not valid")});
  }
}

}  // namespace proffer::sim
