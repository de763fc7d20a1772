// A gang from its first offer to the answer for all of its offers. Read arrive() and accept()
// first.

#include "sdk/core/gang_answers.h"

#include <algorithm>

namespace proffer::sdk {
namespace {

// The gang size of the ask of this offer; zero: the ask is no longer declared.
int64_t tasks_of(const Offer& offer, const std::vector<Ask>& asks) {
  for (const Ask& ask : asks) {
    for (const AskFill& fill : offer.fills) {
      if (fill.ask == ask.name) return ask.gang;
    }
  }
  return 0;
}

}  // namespace

std::vector<Offer> GangAnswers::arrive(const std::vector<Offer>& offers,
                                       const std::vector<Ask>& asks, Time now) {
  std::vector<Offer> told;
  for (const Offer& offer : offers) {
    if (offer.gang == 0) {
      told.push_back(offer);
      continue;
    }
    Gang& gang = gangs_[offer.gang];
    gang_of_[offer.id] = offer.gang;
    gang.waiting.push_back(offer);
    gang.expires = std::min(gang.expires, now + offer.lease);
    for (const AskFill& fill : offer.fills) gang.tasks += fill.count;
    if (gang.tasks < tasks_of(offer, asks)) continue;
    for (Offer& member : gang.waiting) {
      gang.open.insert(member.id);
      told.push_back(std::move(member));
    }
    gang.waiting.clear();
  }
  return told;
}

bool GangAnswers::is_member(const std::vector<OfferId>& offers) const {
  return std::any_of(offers.begin(), offers.end(),
                     [&](OfferId offer) { return gang_of_.count(offer) > 0; });
}

std::optional<proto::Accept> GangAnswers::accept(const proto::Accept& accept) {
  std::set<uint64_t> gangs;
  for (const OfferId offer : accept.offers) {
    if (const auto gang = gang_of_.find(offer); gang != gang_of_.end()) gangs.insert(gang->second);
  }
  // The master ensures that of several gangs at once each is whole.
  if (gangs.size() != 1) {
    for (const uint64_t gang : gangs) take(gangs_.find(gang));
    return accept;
  }
  const auto at = gangs_.find(*gangs.begin());
  Gang& gang = at->second;
  proto::Accept& all = gang.accepted;
  for (const OfferId offer : accept.offers) {
    gang.open.erase(offer);
    all.offers.push_back(offer);
  }
  all.operations.insert(all.operations.end(), accept.operations.begin(), accept.operations.end());
  all.refusal = accept.refusal;
  if (!gang.open.empty() || !gang.waiting.empty()) return std::nullopt;
  return take(at).accepted;
}

std::vector<GangAnswers::Ended> GangAnswers::end(const std::vector<OfferId>& offers) {
  std::vector<Ended> ended;
  for (const OfferId offer : offers) {
    const auto gang = gang_of_.find(offer);
    if (gang == gang_of_.end()) continue;
    ended.push_back(take(gangs_.find(gang->second)));
    std::erase_if(ended.back().rest, [&](OfferId rest) {
      return std::find(offers.begin(), offers.end(), rest) != offers.end();
    });
  }
  return ended;
}

std::vector<GangAnswers::Ended> GangAnswers::expire(Time now) {
  std::vector<Ended> ended;
  for (auto gang = gangs_.begin(); gang != gangs_.end();) {
    const auto next = std::next(gang);
    if (gang->second.expires <= now) ended.push_back(take(gang));
    gang = next;
  }
  return ended;
}

std::vector<GangAnswers::Ended> GangAnswers::clear() { return expire(Time::far_future()); }

GangAnswers::Ended GangAnswers::take(std::map<uint64_t, Gang>::iterator at) {
  Gang gang = std::move(at->second);
  gangs_.erase(at);
  Ended ended{.accepted = std::move(gang.accepted), .rest = {gang.open.begin(), gang.open.end()}};
  for (const Offer& offer : gang.waiting) ended.rest.push_back(offer.id);
  for (const OfferId offer : ended.rest) gang_of_.erase(offer);
  for (const OfferId offer : ended.accepted.offers) gang_of_.erase(offer);
  return ended;
}

}  // namespace proffer::sdk
