#pragma once

// Who gives back what it has borrowed: the choice alone. A table of what could be ended goes in,
// whom to end comes out; whether the claimant then fits is the caller's to say.
//
// The order: a lower band first, whatever the shares. Then the most-over borrower: where the paths
// of claimant and victim part, the outermost such place first, the child that is most above its
// entitlement, as a part of the cluster; below it again, down to a framework. Of a framework the
// lowest priority, then the youngest. Each victim is deducted before the next is chosen.

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

// A role on the way from where a victim's path parts from the claimant's down to the framework that
// runs it, or that framework.
struct Borrower {
  std::optional<size_t> above = {};  // the one it is a part of; none: its path parts here
  size_t depth = 0;                  // if none: how many roles are above it
  ResourceVector use = {};           // without what has been told to end
  ResourceVector entitlement = {};
  Quota guarantee = {};
};

// A task, or all the tasks of a gang.
struct Candidate {
  size_t borrower = 0;          // the framework that runs it
  ResourceVector amounts = {};  // of all of it
  ResourceVector frees = {};    // of these, where the claimant is to fit
  int64_t tasks = 1;
  Band band = Band::kBatch;
  int32_t priority = 0;
  Time since = {};  // of a gang: of its youngest task
};

// What is left of rounding when entitlements are computed: a millionth of the cluster more than
// that is not yet above.
ResourceVector entitlement_slack(const ResourceVector& total);

// Whether what is held is under the guarantee: it names a kind of that, and the use of all such
// kinds is within it.
bool is_guaranteed(const Quota& guarantee, const ResourceVector& use, const ResourceVector& held);

// The part of the cluster that a borrower uses beyond its entitlement, in the kind in which that
// part is largest.
Share excess(const Borrower& borrower, const ResourceVector& total);

// Whether the candidate may be taken: where its path parts from the claimant's, more is used than
// there is an entitlement to of a kind that it holds, and it is under no guarantee of a role on its
// path.
bool may_be_taken(const Candidate& candidate, const std::vector<Borrower>& borrowers,
                  const ResourceVector& total);

// Whether the claimant fits once these, by their places in the table, have ended.
using FitTest = std::function<bool(const std::vector<size_t>&)>;

// The victims by the order above, in that order and none that is not needed for the claimant to
// fit; or nothing, if it does not fit even if all that may be taken end. Only those that free
// something of a kind that is above zero in `lacking` are looked at. Of equals those first in the
// table. No borrower at the top of a path falls below its entitlement, and none below its
// guarantee, by more than the last that was taken of it. O(n log n + n * (roles on the paths + a
// fit test)).
std::optional<std::vector<size_t>> choose_victims(std::vector<Borrower> borrowers,
                                                  const std::vector<Candidate>& candidates,
                                                  const ResourceVector& lacking,
                                                  const ResourceVector& total, const FitTest& fits);

}  // namespace proffer::fair
