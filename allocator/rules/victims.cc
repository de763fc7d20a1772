// Begin with choose_victims(). There is a queue of candidates for each framework and band, as the
// order within these never changes; the queue with the next victim changes with each victim. Uses
// only fall, so a candidate that may not be a victim now may not be one later.

#include "allocator/rules/victims.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace proffer::fair {
namespace {

// A framework's candidates of one band, the next at `at`.
struct Queue {
  std::vector<size_t> path = {};  // of borrowers, the outermost first
  Band band = Band::kFree;
  std::vector<size_t> members = {};
  size_t at = 0;
};

std::vector<size_t> path_of(size_t borrower, const std::vector<Borrower>& borrowers) {
  std::vector<size_t> path = {borrower};
  while (const auto above = borrowers[path.back()].above) path.push_back(*above);
  std::reverse(path.begin(), path.end());
  return path;
}

bool goes_before(const Queue& a, const Queue& b, const std::vector<Borrower>& borrowers,
                 const ResourceVector& total) {
  if (a.band != b.band) return a.band < b.band;
  const size_t depth_a = borrowers[a.path.front()].depth;
  const size_t depth_b = borrowers[b.path.front()].depth;
  if (depth_a != depth_b) return depth_a < depth_b;
  for (size_t i = 0; i < std::min(a.path.size(), b.path.size()); ++i) {
    if (a.path[i] == b.path[i]) continue;
    const Share of_a = excess(borrowers[a.path[i]], total);
    const Share of_b = excess(borrowers[b.path[i]], total);
    return of_a == of_b ? a.path[i] < b.path[i] : of_a > of_b;
  }
  return false;  // the same
}

std::vector<Queue> queues_of(const std::vector<Borrower>& borrowers,
                             const std::vector<Candidate>& candidates,
                             const ResourceVector& lacking) {
  std::map<std::pair<size_t, Band>, Queue> queues;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    const bool helps =
        std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                    [&](ResourceKind kind) { return lacking[kind] > 0 && c.frees[kind] > 0; });
    if (!helps) continue;
    Queue& queue = queues[{c.borrower, c.band}];
    if (queue.members.empty()) {
      queue.path = path_of(c.borrower, borrowers);
      queue.band = c.band;
    }
    queue.members.push_back(i);
  }
  std::vector<Queue> all;
  for (auto& [key, queue] : queues) {
    std::stable_sort(queue.members.begin(), queue.members.end(), [&](size_t a, size_t b) {
      return std::tuple(candidates[a].priority, candidates[b].since) <
             std::tuple(candidates[b].priority, candidates[a].since);
    });
    all.push_back(std::move(queue));
  }
  return all;
}

// Without those that are not needed after all; the more valuable are spared first.
std::vector<size_t> needed_of(std::vector<size_t> chosen, const FitTest& fits) {
  // Before the last was taken it did not fit.
  for (size_t i = chosen.size() - 1; i-- > 0;) {
    std::vector<size_t> fewer = chosen;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits(fewer)) chosen = std::move(fewer);
  }
  return chosen;
}

}  // namespace

Share excess(const Borrower& borrower, const ResourceVector& total) {
  return dominant_share((borrower.use - borrower.entitlement).max(ResourceVector()), total);
}

ResourceVector entitlement_slack(const ResourceVector& total) {
  ResourceVector slack;
  for (const ResourceKind kind : kResourceKinds) slack[kind] = total[kind] / 1'000'000;
  return slack;
}

bool is_guaranteed(const Quota& guarantee, const ResourceVector& use, const ResourceVector& held) {
  bool names_any = false;
  for (const ResourceKind kind : kResourceKinds) {
    if (held[kind] == 0 || !guarantee[kind]) continue;
    names_any = true;
    if (use[kind] > *guarantee[kind]) return false;
  }
  return names_any;
}

bool may_be_taken(const Candidate& candidate, const std::vector<Borrower>& borrowers,
                  const ResourceVector& total) {
  const ResourceVector slack = entitlement_slack(total);
  bool is_borrowed = false;
  std::optional<size_t> at = candidate.borrower;
  while (at) {
    const Borrower& borrower = borrowers[*at];
    if (is_guaranteed(borrower.guarantee, borrower.use, candidate.amounts)) return false;
    for (const ResourceKind kind : kResourceKinds) {
      const int64_t most = borrower.entitlement[kind] + slack[kind];
      if (borrower.above || candidate.amounts[kind] == 0) continue;
      if (borrower.use[kind] > most) is_borrowed = true;
    }
    at = borrower.above;
  }
  return is_borrowed;
}

std::optional<std::vector<size_t>> choose_victims(std::vector<Borrower> borrowers,
                                                  const std::vector<Candidate>& candidates,
                                                  const ResourceVector& lacking,
                                                  const ResourceVector& total,
                                                  const FitTest& fits) {
  std::vector<Queue> queues = queues_of(borrowers, candidates, lacking);
  std::vector<size_t> chosen;
  while (true) {
    Queue* next = nullptr;
    for (Queue& queue : queues) {
      while (queue.at < queue.members.size() &&
             !may_be_taken(candidates[queue.members[queue.at]], borrowers, total)) {
        ++queue.at;
      }
      if (queue.at == queue.members.size()) continue;
      if (next == nullptr || goes_before(queue, *next, borrowers, total)) next = &queue;
    }
    if (next == nullptr) return std::nullopt;
    const size_t victim = next->members[next->at++];
    for (const size_t borrower : next->path) borrowers[borrower].use -= candidates[victim].amounts;
    chosen.push_back(victim);
    if (fits(chosen)) return needed_of(std::move(chosen), fits);
  }
}

}  // namespace proffer::fair
