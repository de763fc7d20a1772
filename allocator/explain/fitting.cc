// Would an ask fit? look_around() counts once on which agents it could be; fits() then answers for
// each change of one agent without looking at the others again.

#include "allocator/explain/fitting.h"

#include <algorithm>
#include <limits>

namespace proffer::fair {

// --- as if ---------------------------------------------------------------------------------------

Supposed::~Supposed() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
  if (!undo_.empty()) cluster_.entitlements_known = false;
}

void Supposed::note(std::function<void()> undo) {
  undo_.push_back(std::move(undo));
  cluster_.entitlements_known = false;
}

void Supposed::change_use(Node& leaf, const ResourceVector& allocated,
                          const ResourceVector& offered) {
  const auto apply = [&leaf](const ResourceVector& of_tasks, const ResourceVector& of_offers) {
    for (Node* node = &leaf; node != nullptr; node = node->parent) {
      node->allocated -= of_tasks;
      node->offered -= of_offers;
    }
  };
  apply(allocated, offered);
  note([=] { apply(ResourceVector() - allocated, ResourceVector() - offered); });
}

void Supposed::end(const Agent& agent, const Task& task) {
  change_use(*task.leaf, task.resources.amounts, {});
  if (!agent.draining) return;
  cluster_.supposed_gone += task.resources.amounts;
  note([&cluster = cluster_, amounts = task.resources.amounts] {
    cluster.supposed_gone -= amounts;
  });
}

void Supposed::end(const OutstandingOffer& offer) {
  const auto end_one = [&](const OutstandingOffer& one) {
    change_use(*one.leaf, {}, one.resources.amounts);
    for (const AskFill& fill : one.grant->offer.fills) {
      const auto ask = one.leaf->owner->asks.find(fill.ask);
      if (ask == one.leaf->owner->asks.end()) continue;
      AskEntry& entry = *ask->second;
      entry.offered -= fill.count;
      note([&entry, count = fill.count] { entry.offered += count; });
    }
  };
  if (offer.grant->offer.gang == 0) return end_one(offer);
  for (const OfferId& id : cluster_.outstanding.of_gang(offer.grant->offer.gang)) {
    end_one(*cluster_.outstanding.find(id));
  }
}

void Supposed::set(Role& role, const RoleSettings& settings) {
  note([&role, before = role.settings] { role.settings = before; });
  role.settings = settings;
}

void Supposed::give_up_headroom(const AskEntry& entry) {
  for (Role* role = entry.leaf->role; role->parent != nullptr; role = role->parent) {
    if (role->headroom.empty()) continue;
    note([role, before = role->headroom] { role->headroom = before; });
    std::erase(role->headroom, &entry);
  }
}

Books without_keep(const Books& books) {
  Books then = books;
  then.keep = {};
  then.compute_free();
  return then;
}

// --- would it fit --------------------------------------------------------------------------------

Fitting::Fitting(const Cluster& cluster, const AskEntry& entry, Time now, bool waits)
    : cluster_(cluster),
      entry_(entry),
      ask_(entry.ask),
      now_(now),
      is_anew_(false),
      waits_(waits && entry.only_preferred(now)) {
  look_around();
}

Fitting::Fitting(const Cluster& cluster, const AskEntry& entry, Ask declared, Time now)
    : cluster_(cluster),
      entry_(entry),
      ask_(std::move(declared)),
      now_(now),
      is_anew_(true),
      waits_(!ask_.prefer.empty() && ask_.prefer.wait > Duration()) {
  if (ask_.constraints != entry.ask.constraints) {
    Result<ConstraintMatcher> matcher = ConstraintMatcher::compile(ask_.constraints);
    CHECK(matcher.has_value()) << matcher.error().message();
    matcher_ = *std::move(matcher);
  }
  look_around();
}

void Fitting::look_around() {
  for (const Agent* a : entry_.set_aside) {
    if (!a->keep.is_zero()) own_[a] = without_keep(*a);
  }
  for (const auto& [id, a] : cluster_.agents) {
    const int64_t here = room(there(*a));
    if (here == 0) continue;
    rooms_[a.get()] = here;
    const auto [group, is_new] = groups_.try_emplace(group_of(*a));
    if (is_new) group->second.most = most_in_group(*a);
    if (group->second.most > 0) usable_.push_back(a.get());
    places_ -= group->second.count();
    group->second.room += here;
    places_ += group->second.count();
  }
}

std::string Fitting::group_of(const Agent& a) const {
  return ask_.max_per.size() == 1 ? value_of(a, ask_.max_per.front().attribute) : "";
}

int64_t Fitting::most_in_group(const Agent& a) const {
  if (ask_.max_per.size() != 1) return std::numeric_limits<int64_t>::max();
  return entry_.counts.room(ask_, a, ask_.gang);
}

Fitting::There Fitting::there(const Agent& a) const {
  const auto own = own_.find(&a);
  const Books& books = own == own_.end() ? a : own->second;
  // Of an ask that is declared anew too: Rivals says who may take what is set aside for it.
  const bool is_own = a.claimant == &entry_;
  return {.agent = &a,
          .books = &books,
          .ports_left = a.ports_left(),
          .serves = a.serves(),
          .is_declined = is_declined(a, books),
          .is_claimed = a.is_set_aside() && !is_own};
}

bool Fitting::is_declined(const Agent& a, const Books& books) const {
  const std::optional<Filter> filter = entry_.leaf->owner->filter_on(a);
  if (!filter) return false;
  // Asks that are declared anew lift what was said with a reason.
  const bool is_lifted = is_anew_ && !filter->until;
  return !is_lifted && still_holds(*filter, a, books, now_);
}

bool Fitting::suits(const Agent& a) const {
  if (matcher_ ? !matcher_->matches(a.id, a.attributes) : !entry_.matches(a)) return false;
  return !waits_ || nearness(ask_.prefer, a) != Nearness::kAnywhere;
}

int64_t Fitting::room(const There& there) const { return room(there, ask_.shape); }

int64_t Fitting::room(const There& there, const ResourceVector& shape) const {
  const Agent& a = *there.agent;
  if (!there.serves || there.is_declined || there.is_claimed || !suits(a)) return 0;
  int64_t most = ask_.gang;
  if (ask_.ports > 0) most = std::min(most, there.ports_left / ask_.ports);
  if (most > 0 && ask_.max_per.size() > 1) {  // One is for look_around() and fits() to see to.
    most = entry_.counts.room(ask_, a, most);
  }
  if (most <= 0) return 0;
  return count_that_fits(shape, *there.books, entry_.leaf->role->name, most);
}

bool Fitting::fits(const There& there) const {
  if (!can_tell()) return false;
  const auto known = rooms_.find(there.agent);
  const int64_t before = known == rooms_.end() ? 0 : known->second;
  const auto at = groups_.find(group_of(*there.agent));
  Group group = at == groups_.end() ? Group() : at->second;
  int64_t total = places_ - group.count();
  group.room += room(there) - before;
  if (at == groups_.end()) group.most = most_in_group(*there.agent);
  total += group.count();
  return total >= ask_.gang && denied(more_free(there)).is_none();
}

// What counts of it as free for the ask where headroom is held.
ResourceVector Fitting::part_of_free(const There& there) const {
  const bool is_own = entry_.claims(*there.agent);
  if (!is_own && (!there.serves || there.is_claimed)) return {};
  if (is_own && !is_anew_) return there.books->free.amounts;
  return sum_of(there.books->usable(entry_.leaf->role->name)).amounts;
}

ResourceVector Fitting::more_free(const There& then) const {
  if (cluster_.options.reclaim != ReclaimMode::kOff) return {};
  return part_of_free(then) - part_of_free(there(*then.agent));
}

Denial Fitting::denied_of(const ResourceVector& shape, const ResourceVector& freed) const {
  ResourceVector more = freed;
  Supposed as_if(cluster_);
  if (is_anew_) as_if.give_up_headroom(entry_);
  if (is_anew_ && cluster_.options.reclaim == ReclaimMode::kOff) {
    // Its claim ends, and what is there for its role alone counts too.
    for (const Agent* a : entry_.set_aside) {
      if (a->by_notice()) continue;
      more += sum_of(a->usable(entry_.leaf->role->name)).amounts - a->free.amounts;
    }
  }
  return denial(cluster_, {.leaf = *entry_.leaf,
                           .amounts = shape * ask_.gang,
                           .borrow = ask_.borrow,
                           .claimant = &entry_,
                           .freed = more});
}

}  // namespace proffer::fair
