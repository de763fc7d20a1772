#pragma once

// H-DRF with divisible tasks and without quotas: what a tree of roles comes to when everything is
// given to the smallest part in the order of the rule, from an empty pool. The laws of the H-DRF
// paper (Bhattacharya et al., SoCC 2013, section 5) hold for it exactly.
//
// From an empty pool demanding siblings always have equal weighted shares, and who stops before
// them has no more: nothing is ever rescaled, and H-DRF is progressive filling at each level. What
// the rescaling is for is what comes and goes later: that is in tree.h, with whole tasks.

#include <optional>
#include <vector>

#include "tests/oracle/tree.h"

namespace proffer::ideal {

// How many tasks each leaf runs, in order of the leaves (pre-order). Guarantees and limits are not
// looked at. Nothing if the exact fractions outgrow 128 bits, or if the rule has no one answer: two
// siblings of one share both have work that does not raise it, as their largest kind is one that
// nobody in them can still get, so that whoever is named first would take all.
std::optional<std::vector<Fraction>> fill_tree(const ResourceVector& pool, const Node& root);

}  // namespace proffer::ideal
