#pragma once

// H-DRF with divisible tasks and without quotas: the result of giving everything to the smallest
// share, in the order of the rule, from an empty pool. The laws of the H-DRF paper (Bhattacharya et
// al., SoCC 2013, section 5) hold for it exactly.
//
// From an empty pool, siblings with demand always have equal weighted shares, and a sibling that
// stops earlier has no more: so nothing is ever rescaled, and H-DRF is progressive filling at each
// level. Rescaling matters for later changes; these are in tree.h, with whole tasks.

#include <optional>
#include <vector>

#include "tests/oracle/tree.h"

namespace proffer::ideal {

// The number of tasks of each leaf, in the order of the leaves (pre-order). Guarantees and limits
// are ignored. Empty if the exact fractions exceed 128 bits, or if the rule has no unique answer:
// two siblings with equal shares both have tasks that do not raise their share, because their
// largest kind is exhausted for all their leaves. Then the sibling that is served first would take
// all.
std::optional<std::vector<Fraction>> fill_tree(const ResourceVector& pool, const Node& root);

}  // namespace proffer::ideal
