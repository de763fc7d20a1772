// Offers end by an answer, by expiry or by a rescind; tasks end, or are reported as running. Begin
// with settle().

#include <algorithm>

#include "allocator/cluster/cluster.h"
#include "allocator/cluster/prefetch.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

// The accepted amounts of an open framework are a sum over this many to twice as many of its last
// answers.
constexpr int64_t kAcceptedAnswers = 8;
// An ask counts as refused after this number of answers without a launch. A scheduler with work may
// return an offer now and then; tasks without end would take its part permanently.
constexpr int64_t kRefusals = 8;
// An accept that is on its way when its offer is rescinded comes soon after that.
constexpr size_t kRescindedKept = 16;

void note_accepted(Leaf& l, const ResourceVector& taken) {
  if (taken.is_zero()) {
    l.accepted = {};
    return;
  }
  Leaf::Accepted& accepted = l.accepted;
  if (accepted.answers == kAcceptedAnswers) {
    accepted = {.before = accepted.lately};
  }
  accepted.lately += taken;
  ++accepted.answers;
}

// Notes the piece in the filter if the framework could see more of some kind than the piece held.
void note_piece(Filter& filter, const ResourceVector& piece, const ResourceVector& usable) {
  const bool is_part =
      std::any_of(filter.too_little.begin(), filter.too_little.end(), [&](const auto& kind) {
        return piece[kind.first] < std::min(kind.second, usable[kind.first]);
      });
  if (!is_part) return;
  for (const auto& [kind, free] : filter.too_little) filter.of_piece[kind] = piece[kind];
}

}  // namespace

Cluster::Settled Cluster::settle(const std::vector<OfferId>& ids, std::vector<RunningTask> tasks,
                                 const Refusal& refusal, Time now) {
  mark_dirty();
  CHECK(!ids.empty());
  const OutstandingOffer* first = outstanding.find(ids.front());
  CHECK(first != nullptr) << "no offer " << ids.front().value();
  Leaf& l = *first->leaf;
  Agent& a = *first->agent;
  prefetch(a);
  prefetch(l);
  prefetch(*first->grant);
  std::vector<Slice> rest;  // the offered slices that no task takes
  Settled settled{.leaf = &l};
  const auto answer = [&](const AskName& name) -> Answer* {
    const auto ask = l.owner->asks.find(name);
    // The ask is no longer declared, or is implied.
    if (ask == l.owner->asks.end() || ask->second->is_implied()) return nullptr;
    for (Answer& known : settled.answers) {  // There are few.
      if (known.ask == ask->second.get()) return &known;
    }
    return &settled.answers.emplace_back(Answer{.ask = ask->second.get()});
  };
  std::map<uint64_t, std::map<AskName, int64_t>> gangs;  // tasks to launch, by gang
  int64_t ports = 0;
  use_later_ = {.leaf = &l};
  bool is_open = false;  // one of the offers was an open offer
  bool backfills = false;
  // the free amounts at the time of the last of these offers, including the offers
  ResourceVector seen;
  ResourceVector offered;
  Duration age;
  for (const OfferId& id : ids) {
    OutstandingOffer offer = end_offer(id);
    CHECK(offer.leaf->framework == l.framework && offer.agent == &a)
        << "offers of several frameworks or agents are settled together";
    for (const AskFill& fill : offer.grant->offer.fills) {
      if (Answer* of_ask = answer(fill.ask)) of_ask->offered += fill.count;
    }
    if (offer.leaf != &l) update_demand(*offer.leaf, true);
    is_open = is_open || offer.grant->offer.fills.empty();
    backfills = backfills || offer.grant->offer.max_run_time > Duration();
    ports += offer.ports;
    seen = offer.free_then;
    offered += offer.resources.amounts;
    age = std::max(age, now - offer.made());
    if (const uint64_t gang = offer.grant->offer.gang; gang != 0) {
      for (const AskFill& fill : offer.grant->offer.fills) gangs[gang][fill.ask] += fill.count;
    }
    Grant grant = std::move(offer.grant).take();
    if (rest.empty()) {
      rest = std::move(grant.offer.slices);
    } else {
      for (const Slice& slice : grant.offer.slices) add_slice(rest, slice);
    }
  }

  ResourceVector taken;
  OpenAnswer said{.too_little = refusal.too_little, .wrong_agent = refusal.wrong_agent};
  for (RunningTask& task : tasks) {
    said.task = sum_of(task.claim.slices).amounts;
    if (Answer* of_ask = answer(task.ask)) {
      ++of_ask->launched;
      AskEntry& entry = *of_ask->ask;
      entry.ask.count = std::max<int64_t>(entry.ask.count - 1, 0);
      if (entry.unmet() == 0) settled.met.push_back(&entry);
      if (entry.leaf != &l) update_demand(*entry.leaf, true);
    }
    CHECK(contains(rest, task.claim.slices))
        << to_text(sum_of(task.claim.slices)) << " exceeds the offered " << to_text(sum_of(rest))
        << ", by reservation state";
    for (const Slice& slice : task.claim.slices) {
      remove_slice(rest, slice);
      taken += slice.resources.amounts;
    }
    if (const auto gang = gangs.find(task.claim.gang); gang != gangs.end()) {
      --gang->second[task.ask];
    }
    const bool is_here = task.claim.role.empty() || task.claim.role == l.role->name;
    Leaf& of_task = is_here ? l : leaf_in(*l.owner, task.claim.role);
    std::optional<Time> lent_until;
    if (backfills) lent_until = later(now, surely_takes(task.claim.max_run_time));
    add_task(a, of_task, std::move(task), lent_until);
  }
  note_use(*l.owner, offered, taken, age, now);
  const UseLater use = std::move(use_later_);
  use_later_ = {};
  change_use(l, use.allocated, use.offered);
  const bool all_taken = rest.empty() && ports == 0;
  refresh(a, !all_taken);
  // While the offer was open, there was no second open offer of this agent. If its end did not grow
  // the agent, the agent may have grown before.
  if (is_open && all_taken) l.retry.insert(&a);
  update_demand(l, true);
  // A gang without all of its tasks is not launched.
  for (const auto& [gang, left] : gangs) {
    const bool is_whole = std::all_of(left.begin(), left.end(),
                                      [](const auto& of_ask) { return of_ask.second <= 0; });
    if (!is_whole) break_gang(gang);
  }

  if (is_open) {
    note_accepted(l, taken);
    said.offered = sum_of(rest).amounts;
    settled.implied = note_open_answer(l, said, a);
  }
  for (const Answer& one : settled.answers) note_answer(*one.ask, one.offered, one.launched);
  // If the tasks took everything, the framework refused nothing.
  if (all_taken) return settled;
  if (!refusal.too_little.empty() || refusal.wrong_agent) {
    // The answer concerns the amounts that the framework saw; it has not seen resources freed since
    // then.
    seen -= taken;
    Filter filter;
    for (const ResourceKind kind : refusal.too_little) {
      filter.too_little[kind] = std::min(a.counted_free_of(kind), seen[kind]);
    }
    if (refusal.wrong_agent) {
      filter.wrong_agent = a.attributes;
    } else if (is_open) {
      note_piece(filter, sum_of(rest).amounts, sum_of(a.usable(l.role->name)).amounts);
    }
    settled.filtered_on = &a;
    add_filter(l, a, std::move(filter));
  } else if (refusal.refuse_for > Duration()) {
    Filter filter;
    filter.until = later(now, refusal.refuse_for);
    settled.filtered_on = &a;
    add_filter(l, a, std::move(filter));
  }
  return settled;
}

// Half of some kind is enough: an open offer may have more of the other kinds than its tasks need.
void Cluster::note_use(Framework& f, const ResourceVector& offered, const ResourceVector& taken,
                       Duration age, Time now) {
  const bool is_used = std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](auto kind) {
    return taken[kind] > 0 && taken[kind] >= offered[kind] - taken[kind];
  });
  if (is_used) {
    outstanding.set_patience(f, patience_after_use(f.patience, age));
  } else if (taken.is_zero() && age > kOfferPatienceMin) {
    note_unused(f, now);
  }
}

void Cluster::note_unused(Framework& f, Time now) {
  if (f.patience_fell_at == now) return;
  f.patience_fell_at = now;
  outstanding.set_patience(f, patience_without_use(f.patience));
}

void Cluster::note_late_use(Framework& f, OfferId id, Time now) {
  const auto offer = std::find_if(f.rescinded.begin(), f.rescinded.end(),
                                  [&](const auto& one) { return one.first == id; });
  if (offer == f.rescinded.end()) return;
  outstanding.set_patience(f, patience_after_use(f.patience, now - offer->second));
  f.rescinded.erase(offer);
  if (!std::exchange(f.own->refuses, false)) return;
  mark_dirty();
  entitlements_old = true;
  update_demand(*f.own, true);
}

void Cluster::note_answer(AskEntry& ask, int64_t offered, int64_t launched) {
  if (launched > 0) {
    ask.refusals = 0;
  } else if (offered > 0 && ask.refusals < kRefusals) {
    ++ask.refusals;
  }
  const bool is_refused = ask.refusals == kRefusals;
  if (is_refused == ask.is_refused) return;
  ask.is_refused = is_refused;
  note_lag_due(ask);
  entitlements_old = true;
  update_demand(*ask.leaf, true);
}

void Cluster::add_task(Agent& a, Leaf& l, RunningTask task, std::optional<Time> lent_until) {
  ++l.tasks;
  const auto found = l.owner->asks.find(task.ask);
  const bool is_declared = found != l.owner->asks.end() && !found->second->is_implied();
  AskEntry* const ask = is_declared ? found->second.get() : nullptr;
  TaskTerms terms{.booked = a.book(task.claim.slices),
                  .ask = std::move(task.ask),
                  .claim = std::move(task.claim),
                  .expected = ask == nullptr ? Duration() : ask->ask.duration};
  if (lent_until) {
    terms.booked.lent = true;
    lent_until_.insert(*lent_until);
  }
  Task entry{.terms = terms_.share(std::move(terms)), .leaf = &l, .since = task.since};
  entry.ports.set(std::move(task.ports));
  entry.times.set({.lent_until = lent_until});
  if (!entry.ports->empty()) {
    a.free_ports -= *entry.ports;
    a.free_port_count = a.free_ports.size();
  }
  const uint64_t gang = entry.claim().gang;
  last_gang = std::max(last_gang, gang);
  a.allocate(entry.booked());
  if (!entry.booked().resources.is_zero()) {
    a.note_allocated(*l.owner, entry.amounts());
    change_use(l, entry.amounts(), {});
  }
  l.estimated += entry.estimated();
  if (gang != 0) gang_tasks_[{l.framework, gang}].insert({a.id, task.task});
  if (ask != nullptr) count_tasks(*ask, a, 1);
  const bool is_new = a.tasks.emplace(HeldTask{l.framework, task.task}, std::move(entry)).second;
  CHECK(is_new) << "task " << l.framework.str() << "/" << task.task.str() << " is on agent "
                << a.id.str() << " already";
}

void Cluster::forget_notice(Agent& a, const HeldTask& ref, const Task& task) {
  if (task.ends_by()) {
    a.noticed -= task.amounts();
    for (Node* node = task.leaf; node != nullptr; node = node->parent) {
      node->noticed -= task.amounts();
    }
  }
  if (task.claim().gang != 0) {
    const auto gang = gang_tasks_.find({ref.framework, task.claim().gang});
    gang->second.erase({a.id, ref.task});
    if (gang->second.empty()) gang_tasks_.erase(gang);
  }
}

void Cluster::release(const AgentId& id, const FrameworkId& framework, const TaskId& task) {
  mark_dirty();
  Agent& a = agent(id);
  prefetch(a);
  const auto at = a.tasks.find(TaskKey{framework, task});
  CHECK(at != a.tasks.end()) << "no task " << framework.str() << "/" << task.str() << " on agent "
                             << id.str();
  const auto gone = a.tasks.extract(at);
  const HeldTask& ref = gone.key();
  const Task& ended = gone.mapped();
  Leaf& l = *ended.leaf;
  prefetch(l);
  prefetch(*l.role);
  --l.tasks;
  doubt(l);
  const AskEntry* const ask = forget_task(a, ref, ended);
  a.end_allocated(ended.booked());
  if (!ended.ports->empty()) a.count_free_ports();
  if (!ended.booked().resources.is_zero()) {
    a.note_allocated(*l.owner, ResourceVector() - ended.amounts());
    change_use(l, ResourceVector() - ended.amounts(), {});
  }
  vacated.push_back({&a, l.owner, &l, ended.ask(), ended.since, ended.ends_by().has_value()});
  // A claim may now wait for the resources of a task that was expected never to end.
  if (ask != nullptr && ask->ask.duration == kDurationMax) ++claimable_version;
  const Booked& booked = ended.booked();
  if (booked.resources.is_zero() && booked.others.empty() && ended.ports->empty()) return;
  refresh(a, true);
  // The end of lent use is no sign that resources become free there.
  if (ended.is_lent()) --a.growths;
}

void Cluster::note_runs(Time now) {
  for (const Vacated& place : vacated) {
    if (place.was_told) continue;
    if (place.leaf->longest_run == Duration() && !withholding.empty()) {
      // Its tasks may turn out to be short enough for withheld resources.
      place.leaf->retry.insert(withholding.begin(), withholding.end());
      update_demand(*place.leaf, true);
    }
    place.leaf->longest_run = std::max(place.leaf->longest_run, now - place.since);
  }
}

// Removes an ended task from the data of its leaf and ask, except from the share.
AskEntry* Cluster::forget_task(Agent& a, const HeldTask& ref, const Task& task) {
  forget_notice(a, ref, task);
  if (task.lent_until()) lent_until_.erase(lent_until_.find(*task.lent_until()));
  task.leaf->estimated -= task.estimated();
  const auto ask = task.leaf->owner->asks.find(task.ask());
  if (ask == task.leaf->owner->asks.end() || ask->second->is_implied()) return nullptr;
  count_tasks(*ask->second, a, -1);
  return ask->second.get();
}

void Cluster::adopt(const AgentId& id, const FrameworkId& of, RunningTask task) {
  mark_dirty();
  Agent& a = agent(id);
  Framework& f = framework(of);
  const RoleName role = task.claim.role.empty() ? f.role : task.claim.role;
  add_task(a, leaf_in(f, role), std::move(task));
  refresh(a, false);
  // The agent may have parts now; of an agent with parts only the whole is set aside.
  if (a.claimant != nullptr && !a.keep.is_zero() && !a.parts.empty()) {
    a.purpose == Purpose::kOwed ? end_keep(a) : change_keep(a, {});
  }
  // The running task may use resources that are in an offer.
  rescind_what_does_not_fit(a);
}

OutstandingOffer Cluster::end_offer(const OfferId& id) {
  OutstandingOffer offer = outstanding.take(id);
  Leaf& l = *offer.leaf;
  Agent& a = *offer.agent;
  a.end_offered(offer);
  a.ports_offered -= offer.ports;
  change_use(l, {}, ResourceVector() - offer.resources.amounts);
  l.estimated -= offer.estimated();
  doubt(l);
  for (const AskFill& fill : offer.grant->offer.fills) {
    const auto ask = l.owner->asks.find(fill.ask);
    if (ask == l.owner->asks.end()) continue;
    ask->second->offered -= fill.count;
    count_tasks(*ask->second, a, -fill.count);
    // The ask may have moved to another role since.
    if (ask->second->leaf != &l) update_demand(*ask->second->leaf, true);
  }
  l.open_on.erase(&a);
  return offer;
}

void Cluster::rescind(OfferId id, RescindReason reason) {
  const uint64_t gang = outstanding.find(id)->grant->offer.gang;
  rescind_one(id, reason);
  if (gang != 0) break_gang(gang);
}

void Cluster::break_gang(uint64_t gang) {
  const std::set<OfferId> rest = outstanding.of_gang(gang);
  for (const OfferId& id : rest) rescind_one(id, RescindReason::kGangBroken);
}

void Cluster::rescind_one(OfferId id, RescindReason reason) {
  const OutstandingOffer offer = end_offer(id);
  if (reason == RescindReason::kUnanswered) {
    auto& rescinded = offer.leaf->owner->rescinded;
    rescinded.emplace_back(id, offer.made());
    if (rescinded.size() > kRescindedKept) rescinded.pop_front();
  }
  rescinds.push_back({id, offer.leaf->framework, reason});
  refresh(*offer.agent, true);
  if (offer.lent) --offer.agent->growths;
  update_demand(*offer.leaf, true);
}

void Cluster::rescind_all(const std::vector<OfferId>& ids, RescindReason reason) {
  for (const OfferId& id : ids) {
    // Otherwise it belonged to a gang that was just broken.
    if (outstanding.find(id) != nullptr) rescind(id, reason);
  }
}

// Rescinds the newest offers first, until no reservation state is offered beyond its total.
void Cluster::rescind_what_does_not_fit(Agent& a) {
  while (!a.offers.empty() && a.is_offered_beyond_total()) {
    rescind(a.offers.last->grant->offer.id, RescindReason::kAgentChanged);
  }
}

// --- what a decision gives -----------------------------------------------------------------------

void Cluster::note_granted(Leaf& l, Agent& a, const std::vector<Slice>& slices, AskEntry* ask,
                           int64_t count, bool backfills) {
  Booked booked = a.book(slices);
  if (backfills) booked.lent = true;
  a.offer(booked);
  l.estimated += booked.estimated();
  if (ask == nullptr) {
    l.open_on.insert(&a);
  } else {
    ask->offered += count;
    count_tasks(*ask, a, count);
    a.ports_offered += ask->ask.ports * count;
  }
  change_use(l, {}, booked.resources.amounts);
  refresh(a, false);
}

std::vector<std::pair<Agent*, TaskRef>> Cluster::gang_of(const FrameworkId& of,
                                                         uint64_t number) const {
  std::vector<std::pair<Agent*, TaskRef>> gang;
  for (const auto& [on, task] : gang_tasks_.at({of, number})) {
    gang.push_back({agents.at(on).get(), {of, task}});
  }
  return gang;
}

}  // namespace proffer::fair
