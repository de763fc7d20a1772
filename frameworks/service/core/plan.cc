// From the wanted and the running instances to actions: read plan_app first. Each step uses the
// decisions of the earlier steps.

#include "frameworks/service/core/plan.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "common/text.h"

namespace proffer::service {
namespace {

using Entry = std::pair<const TaskId, Instance>;

// One slot while a plan is made.
struct Place {
  int64_t number = 0;
  const Slot* slot = nullptr;
  const Entry* holder = nullptr;   // alive and not ending
  const Entry* leaving = nullptr;  // like a holder, but revoked or of an older version
  bool is_busy = false;            // an instance in it has not ended and is not unreachable
  bool has_ending = false;         // such an instance was killed
  bool is_away = false;            // for a daemon: its instance is on an unreachable agent
};

class Planner {
 public:
  Planner(const App& app, Time now, bool is_settled)
      : app_(app), now_(now), is_settled_(is_settled) {}

  Plan make() {
    find_places();
    limit_sharing();
    relieve();
    shrink();
    grow();
    launch();
    replace();
    count();
    return std::move(plan_);
  }

 private:
  void kill(const Entry& entry, KillReason reason) {
    plan_.kills.push_back(Kill{entry.first, reason});
  }
  void look_again(Time at) {
    plan_.look_again = plan_.look_again ? std::min(*plan_.look_again, at) : at;
  }
  bool is_present(const Entry& entry) const { return entry.second.id.version == app_.version; }
  bool has_canary() const { return app_.hold && app_.hold->is_canary; }
  bool is_paused() const { return app_.hold && !app_.hold->is_canary; }
  // True if an instance of an older version may stay beside one of the present version.
  bool shares_slots() const { return has_canary() || app_.spec.update.max_surge > 0; }

  // Compares two instances in a slot: ready, not leaving, of the present version, and oldest are
  // better, in this order.
  bool is_better(const Entry& a, const Entry& b) const {
    const auto rank = [this](const Entry& entry) {
      return std::tuple(!entry.second.is_ready(), entry.second.revoked, !is_present(entry),
                        entry.second.launched_at, entry.first);
    };
    return rank(a) < rank(b);
  }

  // The better one of two stays.
  void settle_on(const Entry*& kept, const Entry& other) {
    if (kept == nullptr) {
      kept = &other;
    } else if (is_better(other, *kept)) {
      kill(*std::exchange(kept, &other), KillReason::kSurplus);
    } else {
      kill(other, KillReason::kSurplus);
    }
  }

  // Assigns instances to slots. Of two in a slot one is killed, and so are instances without a
  // slot.
  void find_places() {
    for (const auto& [number, slot] : app_.slots) places_[number] = Place{number, &slot};
    std::map<int64_t, const Entry*> older;
    for (const Entry& entry : app_.instances) {
      const Instance& instance = entry.second;
      if (instance.unconfirmed) has_unconfirmed_ = true;
      const auto place = places_.find(instance.id.slot);
      if (instance.state == InstanceState::kUnreachable) {
        if (place != places_.end()) place->second.is_away = app_.spec.daemon;
        continue;
      }
      if (place == places_.end()) {
        occupied_.insert(instance.id.slot);
        if (!instance.kill_asked) kill(entry, KillReason::kScaledDown);
        continue;
      }
      if (!instance.revoked) place->second.is_busy = true;
      if (instance.is_ending()) {
        if (!instance.revoked) place->second.has_ending = true;
        continue;
      }
      settle_on(instance.revoked                       ? place->second.leaving
                : shares_slots() && !is_present(entry) ? older[instance.id.slot]
                                                       : place->second.holder,
                entry);
    }
    for (const auto& [number, entry] : older) {
      Place& place = places_.at(number);
      if (place.holder == nullptr) {
        place.holder = entry;
      } else {
        settle_on(place.leaving, *entry);
        if (place.leaving == entry) plan_.shared.insert(number);
      }
    }
  }

  // Fewer slots may be shared than before: new instances that are not ready are killed.
  void limit_sharing() {
    const int64_t allowed = has_canary() ? app_.hold->slots : app_.spec.update.max_surge;
    const std::set<int64_t> shared = plan_.shared;
    for (const int64_t number : shared) {
      if (static_cast<int64_t>(plan_.shared.size()) <= allowed) return;
      Place& place = places_.at(number);
      if (place.holder->second.is_ready()) continue;
      kill(*std::exchange(place.holder, std::exchange(place.leaving, nullptr)),
           KillReason::kSurplus);
      place.has_ending = true;
      plan_.shared.erase(number);
    }
  }

  // Leaving instances are killed when their replacement is ready.
  void relieve() {
    for (auto& [number, place] : places_) {
      if (place.leaving == nullptr) continue;
      const bool is_revoked = place.leaving->second.revoked;
      if (is_revoked && (place.holder == nullptr || !place.holder->second.is_ready())) {
        if (!leaves_now(place.leaving->second)) continue;
        kill(*place.leaving, KillReason::kRevoked);
      } else if (is_revoked) {
        kill(*place.leaving, KillReason::kReplaced);
      } else if (place.holder == nullptr) {
        continue;
      } else {
        if (has_canary() || !is_available(place)) continue;
        kill(*place.leaving, KillReason::kOutdated);
      }
      place.leaving = nullptr;
    }
  }

  // Its deadline is near, and proxies must learn of it first.
  bool leaves_now(const Instance& revoked) {
    if (app_.spec.drain_delay == Duration() || !revoked.is_ready()) return false;
    if (revoked.revoke_leaves_at <= now_) return true;
    look_again(revoked.revoke_leaves_at);
    return false;
  }

  // True if the leaving instance still does the work of the slot.
  static bool is_served(const Place& place) {
    return place.leaving != nullptr && place.leaving->second.is_ready();
  }
  // The same, until the replacement is ready and for as long as an update may take: an instance
  // with a deadline of the master counts in the budget at once.
  static bool is_served_for_long(const Place& place) {
    return is_served(place) && !place.leaving->second.revoked;
  }

  // Too many slots: first those without a ready instance, then the newest.
  void shrink() {
    const auto wanted = static_cast<size_t>(app_.wanted());
    if (places_.size() <= wanted) return;
    // It will be known soon which instances are ready.
    if (wanted > 0 && (has_unconfirmed_ || !is_settled_)) return;
    std::vector<const Place*> order;
    for (const auto& [number, place] : places_) order.push_back(&place);
    std::sort(order.begin(), order.end(), [](const Place* a, const Place* b) {
      const auto rank = [](const Place* place) {
        const Entry* holder = place->holder;
        return std::tuple(is_served_for_long(*place)  ? 2
                          : is_served(*place)         ? 1
                          : holder == nullptr         ? 0
                          : holder->second.is_ready() ? 2
                                                      : 1,
                          holder == nullptr ? 0 : -holder->second.launched_at.nanos(),
                          -place->number);
      };
      return rank(a) < rank(b);
    });
    order.resize(places_.size() - wanted);
    for (const Place* place : order) {
      if (place->holder != nullptr) kill(*place->holder, KillReason::kScaledDown);
      if (place->leaving != nullptr) kill(*place->leaving, KillReason::kScaledDown);
      plan_.dropped_slots.push_back(place->number);
    }
    for (const int64_t number : plan_.dropped_slots) {
      const Place& place = places_.at(number);
      if (place.is_busy || place.leaving != nullptr) occupied_.insert(number);
      places_.erase(number);
    }
  }

  // Too few: the lowest numbers in which no earlier instance is left.
  void grow() {
    static const Slot kFresh;
    for (int64_t number = 0; places_.size() < static_cast<size_t>(app_.wanted()); ++number) {
      if (places_.count(number) > 0 || occupied_.count(number) > 0) continue;
      places_[number] = Place{number, &kFresh};
      plan_.added_slots.push_back(number);
    }
  }

  // While an update is held, an instance that ends is replaced by the version that was ready
  // before.
  uint64_t version_of_next() {
    if (!app_.hold || !app_.is_wanted(app_.ready_version)) return app_.version;
    if (app_.hold->is_canary || at_present_ >= app_.hold->slots) return app_.ready_version;
    ++at_present_;
    return app_.version;
  }

  void launch_in(const Place& place, uint64_t version) {
    const Attempts& before = version == app_.version ? place.slot->present : place.slot->before;
    if (before.not_before <= now_) {
      plan_.launches[place.number] = version;
    } else {
      look_again(before.not_before);
    }
  }

  void launch() {
    if (app_.waits) return;
    at_present_ = std::count_if(places_.begin(), places_.end(), [this](const auto& row) {
      return row.second.holder != nullptr && is_present(*row.second.holder);
    });
    for (const auto& [number, place] : places_) {
      // A daemon's instance that leaves its agent, or is unreachable there, has no other place.
      if (place.is_away || (app_.spec.daemon && place.leaving != nullptr)) continue;
      if (!place.is_busy) launch_in(place, version_of_next());
    }
  }

  // True if an update may count on it. An instance of an older version has been counted on before.
  bool is_available(const Place& place) {
    if (place.holder == nullptr || !place.holder->second.is_ready()) return false;
    if (!is_present(*place.holder)) return true;
    const Instance& instance = place.holder->second;
    const bool is_looked_at = instance.has_health_check || instance.told_ready.has_value();
    const Duration wait = place.slot->present.failures > 0 ? kForgivenAfter
                          : is_looked_at                   ? Duration()
                                                           : kSteadyAfter;
    const Time steady_at = *instance.ready_since + std::max(wait, app_.spec.update.healthy_for);
    if (steady_at <= now_) return true;
    look_again(steady_at);
    return false;
  }

  // Replaces unhealthy and outdated instances, but never so many at once that more than
  // max_unavailable slots are not ready.
  void replace() {
    std::vector<const Place*> unhealthy;
    std::vector<const Place*> outdated;  // and ready
    std::vector<const Place*> waiting;   // not available, in order of slots
    int64_t in_transition = 0;           // neither ready nor known to be unhealthy
    for (const auto& [number, place] : places_) {
      const Entry* holder = place.holder;
      const bool is_outdated = holder != nullptr && !app_.is_wanted(holder->second.id.version);
      if (holder != nullptr && holder->second.is_unhealthy()) {
        unhealthy.push_back(&place);
        waiting.push_back(&place);
        continue;
      }
      if (place.is_away && holder == nullptr) continue;  // it may be ready there
      if (holder == nullptr || !holder->second.is_ready()) {
        if (!is_served(place)) ++in_transition;
        waiting.push_back(&place);
        // It is not ready yet and not wanted any more, so nothing is lost by killing it.
        if (is_outdated && !holder->second.unconfirmed) kill(*holder, KillReason::kOutdated);
        continue;
      }
      if (is_outdated) outdated.push_back(&place);
    }
    const int64_t slots = static_cast<int64_t>(places_.size());
    const int64_t budget = std::min(app_.spec.update.max_unavailable, slots);

    std::sort(unhealthy.begin(), unhealthy.end(), [](const Place* a, const Place* b) {
      return std::tuple(!is_served(*a), a->holder->second.launched_at, a->number) <
             std::tuple(!is_served(*b), b->holder->second.launched_at, b->number);
    });
    // At least one, since it is not ready anyway.
    for (const Place* place : unhealthy) {
      if (!is_served(*place)) {
        if (in_transition >= std::max<int64_t>(budget, 1)) break;
        ++in_transition;
      }
      kill(*place->holder, KillReason::kUnhealthy);
    }

    if (has_canary()) try_canaries();
    if (!outdated.empty()) roll(outdated, waiting, budget);
    if (plan_.why.empty() && !waiting.empty()) plan_.why = words_for(*waiting.front());
  }

  // Beside instances of the ready version, from the lowest slot.
  void try_canaries() {
    int64_t open = app_.hold->slots - at_present_;
    for (const auto& [number, place] : places_) {
      if (open <= 0 || !is_settled_) return;
      if (place.holder == nullptr || place.holder->second.id.version != app_.ready_version ||
          !place.holder->second.is_ready() || place.leaving != nullptr) {
        continue;
      }
      launch_beside(place);
      --open;
    }
  }

  void launch_beside(const Place& place) {
    plan_.shared.insert(place.number);
    if (!place.has_ending) launch_in(place, app_.version);
  }

  void roll(const std::vector<const Place*>& outdated, std::vector<const Place*>& waiting,
            int64_t budget) {
    int64_t unavailable = 0;
    int64_t revoked = 0;  // ready, but revoked
    for (const Place* place : waiting) {
      if (is_served_for_long(*place)) continue;
      ++unavailable;
      revoked += is_served(*place);
    }
    for (const auto& [number, place] : places_) {
      if (place.holder == nullptr || !place.holder->second.is_ready()) continue;  // in `waiting`
      if (is_available(place)) continue;
      if (!is_served(place)) ++unavailable;
      waiting.push_back(&place);
    }
    if (!is_settled_ || is_paused()) return;
    // Slots with a second instance, or where one will be launched when its failures allow.
    auto shared = static_cast<int64_t>(plan_.shared.size());
    const auto shares = [&](const Place* place) {
      const bool is_next = place->slot->present.failures > 0;
      if (!shares_slots() || has_canary() || place->leaving != nullptr) return false;
      if (!is_next && shared >= app_.spec.update.max_surge) return false;
      ++shared;
      launch_beside(*place);
      return true;
    };
    std::vector<const Place*> order = outdated;
    std::stable_partition(order.begin(), order.end(),
                          [](const Place* place) { return place->slot->present.failures > 0; });
    for (const Place* place : order) {
      if (shares(place)) continue;
      if (unavailable >= budget) {
        plan_.waits_for_revoked =
            revoked > 0 && unavailable - revoked < std::max<int64_t>(budget, 1);
        if (waiting.empty()) return;
        plan_.why = text("the update waits: ", words_for(*waiting.front()));
        return;
      }
      kill(*place->holder, KillReason::kOutdated);
      ++unavailable;
    }
  }

  // Counts the progress of an update.
  void count() {
    bool is_whole = !app_.hold && app_.wanted() > 0;
    for (const auto& [number, place] : places_) {
      const bool is_updated =
          place.holder != nullptr && is_present(*place.holder) && is_available(place);
      plan_.updated += is_updated;
      if (place.is_away) continue;
      is_whole = is_whole && is_updated && place.leaving == nullptr;
    }
    plan_.is_whole = is_whole;
    if (!has_canary() || !plan_.why.empty()) return;
    const int64_t wanted = std::min(app_.hold->slots, static_cast<int64_t>(places_.size()));
    if (plan_.updated < wanted) {
      plan_.why = text("the canary is not ready yet: ", plan_.updated, " of ", wanted, " ready");
    }
  }

  // Why a slot is not ready.
  std::string words_for(const Place& place) {
    std::string words;
    if (place.holder == nullptr) {
      words = text("instance ", place.number,
                   place.leaving != nullptr
                       ? " must leave its agent, and its replacement is not launched yet"
                   : place.is_busy ? " is ending"
                                   : " is not launched yet");
    } else {
      const Instance& instance = place.holder->second;
      words = text("instance ", place.number, " is ",
                   instance.is_unhealthy() ? "unhealthy"
                   : instance.is_ready()   ? "ready, but not for long enough yet"
                   : instance.state != InstanceState::kRunning ? to_text(instance.state)
                   : instance.has_health_check                 ? "running but not healthy yet"
                                                               : "running but not ready yet");
      if (instance.is_unhealthy() && !instance.why_unhealthy.empty()) {
        words += text(": ", instance.why_unhealthy);
      } else if (!instance.is_ready() && !instance.why_not_ready.empty()) {
        words += text(": it ", instance.why_not_ready);
      }
    }
    const Attempts& before =
        place.slot->present.why.empty() ? place.slot->before : place.slot->present;
    if (before.why.empty()) return words;
    words += text("; before that: ", before.why);
    plan_.last_words = before.last_words;
    if (before.failures > 1) words += text(", ", before.failures, " times in a row");
    return words;
  }

  const App& app_;
  const Time now_;
  const bool is_settled_;
  Plan plan_;
  std::map<int64_t, Place> places_;
  std::set<int64_t> occupied_;  // numbers without a slot, where an instance has not ended yet
  int64_t at_present_ = 0;      // slots that have, or will get, the present version
  bool has_unconfirmed_ = false;
};

}  // namespace

Instance& App::add(const TaskId& task, Instance instance) {
  blocks[instance.id.slot / kSlotsPerBlock].insert(task);
  return instances.insert_or_assign(task, std::move(instance)).first->second;
}

void App::remove(const TaskId& task) {
  const auto found = instances.find(task);
  if (found == instances.end()) return;
  const auto block = blocks.find(found->second.id.slot / kSlotsPerBlock);
  block->second.erase(task);
  if (block->second.empty()) blocks.erase(block);
  instances.erase(found);
}

const std::set<TaskId>& App::tasks_of_block(int64_t number) const {
  static const std::set<TaskId> kNone;
  const auto found = blocks.find(number);
  return found == blocks.end() ? kNone : found->second;
}

std::string_view to_text(InstanceState state) {
  switch (state) {
    case InstanceState::kPlanned:
      return "planned";
    case InstanceState::kStaging:
      return "staging";
    case InstanceState::kRunning:
      return "running";
    case InstanceState::kKilling:
      return "killing";
    case InstanceState::kUnreachable:
      return "unreachable";
  }
  return "unreachable";
}

std::string_view to_text(KillReason reason) {
  switch (reason) {
    case KillReason::kScaledDown:
      return "scaled down";
    case KillReason::kSurplus:
      return "surplus";
    case KillReason::kUnhealthy:
      return "unhealthy";
    case KillReason::kOutdated:
      return "outdated";
    case KillReason::kReplaced:
      return "replaced";
    case KillReason::kRevoked:
      return "revoked";
  }
  return "revoked";
}

Plan plan_app(const App& app, Time now, bool is_settled) {
  return Planner(app, now, is_settled).make();
}

Duration backoff(int32_t failures) {
  CHECK_GE(failures, 1);
  Duration wait = kBackoffMin;
  for (int32_t i = 1; i < failures && wait < kBackoffMax; ++i) wait = wait * 2;
  return std::min(wait, kBackoffMax);
}

int64_t ready_slots(const App& app) {
  std::set<int64_t> ready;
  for (const auto& [task, instance] : app.instances) {
    if (instance.is_ready() && app.slots.count(instance.id.slot) > 0)
      ready.insert(instance.id.slot);
  }
  return static_cast<int64_t>(ready.size());
}

}  // namespace proffer::service
