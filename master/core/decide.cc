// What the master does by itself when time passes, and the decisions that earlier events require.
// Begin with on_tick. Events only mark state as dirty, so their order within an instant does not
// matter.

#include <algorithm>
#include <map>
#include <set>

#include "common/check.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

// Maximum bytes of offers in one message: half a frame, since the count is not exact.
constexpr size_t kOffersBytesMax = kFrameBytesMax / 2;

// After this time, a timeout that a waiting frame may prevent is looked at again.
constexpr Duration kHearsWithin = seconds(1);

// At least the size of the offer in a frame.
size_t bytes_of(const Offer& offer) {
  size_t bytes = 256 + offer.agent.str().size() + offer.role.str().size() +
                 offer.http_address.size() + offer.host.size() + 8 * offer.ports.ranges().size();
  for (const auto& [name, value] : offer.attributes) bytes += 48 + name.size() + value.size();
  for (const Slice& slice : offer.slices) {
    bytes += 256 + slice.reserved_for.str().size() + 8 * slice.resources.gpus.size() +
             8 * slice.resources.ports.ranges().size();
  }
  for (const AskFill& fill : offer.fills) bytes += 48 + fill.ask.str().size();
  return bytes;
}

}  // namespace

void Master::State::on_tick(const Tick& tick, Step& step) {
  const auto hears_later = [&tick](const DeadlineKey& due) {
    if (!a_frame_may_prevent(due.kind)) return false;
    return tick.is_deaf ||
           std::find(tick.waiting.begin(), tick.waiting.end(), due.peer) != tick.waiting.end();
  };
  while (const std::optional<DeadlineKey> due = deadlines_.pop(step.now)) {
    if (hears_later(*due)) {
      deadlines_.arm(*due, step.now + kHearsWithin);
    } else {
      on_due(*due, step);
    }
  }
  if (tick.is_deaf) allocator_.spare_unanswered(step.now + kHearsWithin);
  const std::optional<Time> decision = allocator_.next_decision(step.now);
  if (decision && *decision <= step.now) decide(step);
  look_at_waits(step);
  if (report_due_) report_asks(step);
}

void Master::State::decide(Step& step) {
  Decision decision = allocator_.decide(step.now);
  tell_rescinds(decision.rescinds, step);
  std::map<FrameworkId, std::vector<Offer>> offered;
  for (const Grant& grant : decision.grants) {
    step.trace(OfferMade{grant.framework, grant.offer.id, grant.offer.agent, grant.offer.total()});
    offered[grant.framework].push_back(grant.offer);
  }
  for (auto& [id, offers] : offered) {
    Framework* framework = connected_framework(id);
    CHECK(framework != nullptr) << "offers for " << id.str() << ", which is not connected";
    for (const Offer& offer : offers) count_offer(*framework, offer, step.now);
    send_offers(*framework, std::move(offers), step);
  }
  on_revokes(decision.revokes, step);
}

void Master::State::tell_rescinds(const std::vector<Rescind>& rescinds, Step& step) {
  std::map<FrameworkId, std::vector<OfferId>> rescinded;
  std::set<FrameworkId> silent;
  for (const Rescind& rescind : rescinds) {
    step.trace(OfferRescinded{rescind.framework, rescind.offer, rescind.reason});
    rescinded[rescind.framework].push_back(rescind.offer);
    FrameworkFigures& figures = series_.of(rescind.framework);
    ++figures.rescinded;
    Framework* const framework = frameworks_.find(rescind.framework);
    if (rescind.reason == RescindReason::kUnanswered) {
      ++figures.unanswered;
      if (framework == nullptr) continue;
      ++framework->unanswered.rescinded;
      framework->unanswered.rescinded_at = step.now;
    }
    if (rescind.reason != RescindReason::kExpired) continue;
    ++figures.expired;
    if (framework != nullptr) {
      ++framework->unanswered.count;
      ++framework->unanswered.since_answer;
      silent.insert(rescind.framework);
    }
  }
  for (const FrameworkId& id : silent) note_silence(*frameworks_.find(id), step);
  for (auto& [id, offers] : rescinded) {
    Framework* framework = connected_framework(id);
    // A session that began after the offer was made has never got the offer, and ignores its id.
    if (framework == nullptr) continue;
    refresh_waits(*framework, step.now);
    for (size_t at = 0; at < offers.size(); at += kOffersPerMessageMax) {
      const auto first = offers.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t count = std::min(kOffersPerMessageMax, offers.size() - at);
      send(framework->peer,
           proto::Rescind{.offers = {first, first + static_cast<std::ptrdiff_t>(count)}}, step);
    }
  }
}

void Master::State::send_offers(const Framework& framework, std::vector<Offer>&& offers,
                                Step& step) {
  proto::Offers message;
  size_t bytes = 0;
  for (Offer& offer : offers) {
    if (const Agent* agent = agents_.find(offer.agent)) {
      offer.http_address = agent->http_address;
      offer.host = proto::host_of(agent->http_address, agent->files.address);
      if (offer.host.empty() && agent->by != nullptr) offer.host = agent->by->host;
    }
    const size_t more = bytes_of(offer);
    if (!message.offers.empty() &&
        (message.offers.size() == kOffersPerMessageMax || bytes + more > kOffersBytesMax)) {
      send(framework.peer, std::exchange(message, {}), step);
      bytes = 0;
    }
    bytes += more;
    message.offers.push_back(std::move(offer));
  }
  send(framework.peer, std::move(message), step);
}

}  // namespace proffer::master
