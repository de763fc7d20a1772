#pragma once

// Chooses the tasks that end for a claimant. The input is a table of the tasks that could end, the
// output are their indices; the caller says whether the claimant then fits.
//
// The order of victims: a lower band comes first, whatever the shares. Then comes the borrower that
// is most above its entitlement, as a fraction of the cluster: first the child of the role in which
// the paths of claimant and victim part (the role nearest to the root first), then the child of
// that child, down to a framework. Of one framework the task of the lowest priority comes first,
// then the youngest. The use of each victim is deducted before the next one is chosen.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/offers.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/share.h"
#include "common/time.h"

namespace proffer::fair {

// The framework of a victim, or a role above it, up to the child of the role in which the paths of
// victim and claimant part.
struct Borrower {
  std::optional<size_t> above = {};  // index of its parent; empty: the paths part above it
  size_t depth = 0;                  // without a parent here: its number of ancestors
  ResourceVector use = {};           // without tasks that have a notice
  ResourceVector entitlement = {};
  Quota guarantee = {};
};

// A possible victim: a task, or all tasks of a gang.
struct Candidate {
  size_t borrower = 0;          // index of its framework
  ResourceVector amounts = {};  // the sum over its tasks
  ResourceVector frees = {};    // the part of it on the agent of the claimant
  int64_t tasks = 1;
  Band band = Band::kBatch;
  int32_t priority = 0;
  Time since = {};  // of a gang: of its youngest task
};

// The tolerance for rounding in entitlements, a millionth of the cluster: a use that exceeds the
// entitlement by no more than this is not above it.
ResourceVector entitlement_slack(const ResourceVector& total);

// Whether the guarantee protects the amounts `held`, a part of `use`: it names at least one of
// their kinds, and the use of each of these kinds is within it.
bool is_guaranteed(const Quota& guarantee, const ResourceVector& use, const ResourceVector& held);

// The use of a borrower beyond its entitlement, as a fraction of the cluster, in the kind with the
// largest such fraction.
Share excess(const Borrower& borrower, const ResourceVector& total);

// Whether the candidate may be a victim: its outermost borrower uses more than its entitlement of
// a kind that the candidate holds, and no guarantee of a role on its path protects it.
bool may_be_taken(const Candidate& candidate, const std::vector<Borrower>& borrowers,
                  const ResourceVector& total);

// Whether the claimant fits after the candidates with these indices have ended.
using FitTest = std::function<bool(const std::vector<size_t>&)>;

// The indices of the victims, in the order above, without those that the claimant does not need to
// fit; empty if it does not fit even after the end of all possible victims. Only candidates that
// free a kind that is above zero in `lacking` count. Of equal candidates the first in the table is
// chosen. An outermost borrower falls below its entitlement, and a role below its guarantee, by at
// most its last victim. O(n log n + n * (roles on the paths + a fit test)).
std::optional<std::vector<size_t>> choose_victims(std::vector<Borrower> borrowers,
                                                  const std::vector<Candidate>& candidates,
                                                  const ResourceVector& lacking,
                                                  const ResourceVector& total, const FitTest& fits);

}  // namespace proffer::fair
