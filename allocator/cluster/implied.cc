// The implied ask of a framework that takes open offers. Begin with note_open_answer().

#include <algorithm>
#include <utility>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// The implied shape changes after this many consecutive answers that launch tasks of other shapes.
constexpr int64_t kOtherAnswers = 8;
// A framework that has launched nothing yet is offered twice the amounts that it refused.
constexpr int64_t kGrowth = 2;
// If the piece had none of the kind, the next one has this part of an agent, or one GPU.
constexpr int64_t kFirstPart = 8;
constexpr int64_t kWholeGpu = 1000;

int64_t first_amount(ResourceKind kind, int64_t of_agent) {
  const int64_t amount = kind == ResourceKind::kGpus ? kWholeGpu : of_agent / kFirstPart;
  return std::clamp<int64_t>(amount, std::min<int64_t>(of_agent, 1), of_agent);
}

// The shape of a first task that needs more than `piece` of the kinds `too_little`. Of the other
// kinds it gets the same part of the agent, since nothing is known of them. If the agent has none
// of a kind, an agent counts that has the mean amount, `mean`.
ResourceVector larger_shape(const ResourceVector& shape, const ResourceVector& piece,
                            const std::vector<ResourceKind>& too_little, const AgentState& on,
                            const ResourceVector& mean) {
  ResourceVector more = shape;
  int64_t part = 0;  // part of the agent, as numerator and denominator
  int64_t whole = 1;
  for (const ResourceKind kind : too_little) {
    const int64_t there = on.counted_total_of(kind);
    const int64_t most = there > 0 ? there : mean[kind];
    const int64_t next =
        piece[kind] > 0 ? std::min(piece[kind] * kGrowth, most) : first_amount(kind, most);
    more[kind] = std::max(more[kind], next);
    if (most > 0 && Int128(more[kind]) * whole > Int128(part) * most) {
      part = more[kind];
      whole = most;
    }
  }
  for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
    if (more[kind] > 0) continue;
    const Int128 share = Int128(on.counted_total_of(kind)) * part / whole;
    more[kind] = std::min(static_cast<int64_t>(share), piece[kind]);
  }
  return more;
}

}  // namespace

// The mean of all agents, but at least one GPU if there is one.
ResourceVector Cluster::mean_agent() const {
  ResourceVector mean = usable_total();
  const auto count = std::max<int64_t>(static_cast<int64_t>(agents.size()), 1);
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t least = kind == ResourceKind::kGpus ? std::min(mean[kind], kWholeGpu) : 0;
    mean[kind] = std::max(mean[kind] / count, least);
  }
  return mean;
}

std::optional<Cluster::Implied> Cluster::note_open_answer(Leaf& l, const OpenAnswer& answer,
                                                          const AgentState& on) {
  const AskEntry* const ask = l.owner->implied;
  if (!answer.task.is_zero()) {
    l.refuses = false;
    l.too_large_at = 0;
    const bool was_guess = std::exchange(l.is_guess, false);
    const bool is_same = ask != nullptr && ask->ask.shape == answer.task;
    l.other_answers = is_same ? 0 : l.other_answers + 1;
    const bool keeps = ask != nullptr && ask->ask.count > 0 && l.other_answers < kOtherAnswers;
    if (is_same ? ask->ask.count > 0 : keeps && !was_guess) return std::nullopt;
    l.other_answers = 0;
    return Implied{answer.task, true};
  }
  if (answer.wrong_agent) return std::nullopt;
  if (l.too_large_at == agents_version) {
    l.refuses = true;
    return std::nullopt;
  }
  if (answer.too_little.empty()) {
    // The offer may have been too small for a task.
    if (ask != nullptr && !ask->ask.shape.fits_in(answer.offered)) return std::nullopt;
    l.refuses = true;
    if (ask == nullptr || ask->ask.count == 0) return std::nullopt;
    return Implied{ask->ask.shape, false};
  }
  const ResourceVector shape = ask != nullptr ? ask->ask.shape : ResourceVector();
  const auto exceeds = [&](const ResourceVector& piece) {
    return std::any_of(answer.too_little.begin(), answer.too_little.end(),
                       [&](ResourceKind kind) { return shape[kind] > piece[kind]; });
  };
  if (exceeds(answer.offered)) {
    l.refuses = false;
    if (ask->ask.count > 0) return std::nullopt;
    return Implied{shape, true};
  }
  const ResourceVector more =
      larger_shape(shape, answer.offered, answer.too_little, on, mean_agent());
  // The framework refused an agent that has no more of these kinds.
  l.refuses = more == shape;
  if (l.refuses) l.too_large_at = agents_version;
  l.is_guess = true;
  return Implied{more, !l.refuses};
}

void Cluster::imply(Leaf& l, const Implied& implied) {
  mark_dirty();
  Framework& f = *l.owner;
  if (f.implied == nullptr) {
    if (!implied.is_wanted) return;
    std::unique_ptr<AskEntry>& entry = f.asks[AskName()];
    entry = make_ask(f, Ask{});
    f.implied = entry.get();
    l.order.push_back(f.implied);
    l.sort_asks();
  }
  AskEntry& ask = *f.implied;
  ask.ask.shape = implied.shape;
  ask.ask.count = implied.is_wanted ? kAskCountMax : 0;
  ask.tried_at = 0;
  ask.families.version = 0;
  ask.pool_at = ask.flexible_at = ask.servable_at = ask.meetable_at = ask.typical_at =
      ask.hopeless_at = 0;
  ++asks_version;
  entitlements_old = true;
  least_shape_dirty_ = true;
  recount_implied(l);
  note_lag_due(ask);
  update_demand(l, true);
}

// Tasks of other shapes count by the leaf's dominant kind.
void Cluster::recount_implied(const Leaf& l) {
  AskEntry* const ask = l.owner->implied;
  if (ask == nullptr || &l != l.owner->own) return;
  const ResourceVector use = l.use();
  int64_t placed = 0;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t each = ask->ask.shape[kind];
    if (each > 0) placed = std::max(placed, (use[kind] + each / 2) / each);
  }
  if (placed == ask->placed) return;
  ask->placed = placed;
  note_recounted(*ask);
}

}  // namespace proffer::fair
