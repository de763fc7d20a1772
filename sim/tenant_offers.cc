// How a simulated framework answers offers. With asks: it launches the tasks for which the offers
// were made, gangs in one accept. With open offers: first fit. A hoarder does nothing.

#include <map>
#include <set>

#include "common/text.h"
#include "sim/machine.h"
#include "sim/tenant.h"

namespace proffer::sim {

void Tenant::on_offers(const proto::Offers& offers) {
  offers_ += static_cast<int64_t>(offers.offers.size());
  if (description_.takes == Takes::kHoard) return;
  if (description_.answers_after == Duration()) return answer(offers);
  answers_.emplace_back(now() + description_.answers_after, offers);
}

void Tenant::on_rescind(const proto::Rescind& rescind) {
  const std::set<OfferId> ended(rescind.offers.begin(), rescind.offers.end());
  for (auto& [time, message] : answers_) {
    std::erase_if(message.offers, [&](const Offer& offer) { return ended.contains(offer.id); });
  }
}

void Tenant::answer_due() {
  while (is_up() && !leaving_ && !answers_.empty() && answers_.front().first <= now()) {
    const proto::Offers due = std::move(answers_.front().second);
    answers_.pop_front();
    answer(due);
  }
}

void Tenant::answer(const proto::Offers& offers) {
  std::map<uint64_t, std::vector<const Offer*>> gangs;
  for (const Offer& offer : offers.offers) {
    if (description_.takes == Takes::kDecline) {
      decline(offer.id, {.refuse_for = kDeclineFilter});
    } else if (description_.takes == Takes::kOpen) {
      take_open(offer);
    } else if (offer.gang != 0) {
      gangs[offer.gang].push_back(&offer);
    } else {
      take_asked({&offer});
    }
  }
  for (const auto& [number, of_gang] : gangs) take_asked(of_gang);
}

void Tenant::decline(const OfferId& offer, Refusal refusal) {
  ++declined_;
  say(proto::Decline{{offer}, std::move(refusal)});
}

proto::TaskSpec Tenant::spec_of(const TaskRef& ref) const {
  return {.id = book_.id_of(ref),
          .shape = book_.tasks(ref).resources,
          .executor = std::string(kSimulatedProgram),
          .executor_id = ExecutorId(std::string(kSimulatedProgram)),
          .data = to_text(ref)};
}

// --- asks ----------------------------------------------------------------------------------------

// One offer, or those of one gang. The surplus is returned.
void Tenant::take_asked(const std::vector<const Offer*>& offers) {
  std::map<AskName, int64_t> counts;
  for (const Offer* offer : offers) {
    for (const AskFill& fill : offer->fills) counts[fill.ask] += fill.count;
  }
  std::map<AskName, std::vector<TaskRef>> launched;
  for (const auto& [name, count] : counts) {
    for (uint32_t group = 0; group < description_.tasks.size(); ++group) {
      const std::string& own = description_.tasks[group].name;
      if (name.str() == own) launched[name] = book_.launch(index_, group, count);
      if (name.str() == text(own, kMembersSuffix)) {
        launched[name] = book_.launch_members(index_, group, count);
      }
    }
  }
  proto::Accept accept;
  for (const Offer* offer : offers) {
    accept.offers.push_back(offer->id);
    proto::Launch launch{.agent = offer->agent};
    for (const AskFill& fill : offer->fills) {
      std::vector<TaskRef>& rest = launched[fill.ask];
      const size_t count = std::min(rest.size(), static_cast<size_t>(fill.count));
      for (size_t i = 0; i < count; ++i) {
        proto::TaskSpec spec = spec_of(rest[i]);
        spec.ask = fill.ask;
        launch.tasks.push_back(std::move(spec));
      }
      rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count));
    }
    if (!launch.tasks.empty()) accept.operations.emplace_back(std::move(launch));
  }
  if (accept.operations.empty()) {
    for (const OfferId& offer : accept.offers) decline(offer, {});
    return;
  }
  say(std::move(accept));
}

// --- open offers ---------------------------------------------------------------------------------

// Says of which kinds each pending task needs more, if that is why none was launched.
Refusal Tenant::refusal_of(const Offer& offer) const {
  const ResourceVector offered = offer.total().amounts;
  std::vector<ResourceKind> missing(kResourceKinds.begin(), kResourceKinds.end());
  bool some_wait = false;
  for (const uint32_t group : order_) {
    if (book_.pending(index_, group).whole == 0) continue;
    if (!matchers_[group].matches(offer.agent, offer.attributes)) continue;
    some_wait = true;
    std::erase_if(missing, [&](ResourceKind kind) {
      return description_.tasks[group].resources[kind] <= offered[kind];
    });
  }
  if (!some_wait || missing.empty()) return {.refuse_for = kDeclineFilter};
  return {.too_little = std::move(missing)};
}

// First fit, in order of priority. The rest may go to others for a while.
void Tenant::take_open(const Offer& offer) {
  Resources free = offer.total();
  proto::Launch launch{.agent = offer.agent};
  for (const uint32_t group : order_) {
    const ScenarioTasks& tasks = description_.tasks[group];
    if (!matchers_[group].matches(offer.agent, offer.attributes)) continue;
    int64_t pending = book_.pending(index_, group).whole;
    while (pending > 0 && launch.tasks.size() < kTasksPerMessageMax &&
           fits(tasks.resources, free)) {
      free -= carve(tasks.resources, free);
      launch.tasks.push_back(spec_of(book_.launch(index_, group, 1).front()));
      --pending;
    }
  }
  if (launch.tasks.empty()) {
    decline(offer.id, refusal_of(offer));
  } else {
    proto::Accept accept{.offers = {offer.id}, .refusal = {.refuse_for = kDeclineFilter}};
    accept.operations.emplace_back(std::move(launch));
    say(std::move(accept));
  }
  bool wants = false;
  for (const uint32_t group : order_) wants = wants || book_.pending(index_, group).whole > 0;
  if (!wants) dirty_ = true;
}

}  // namespace proffer::sim
