#pragma once

// What somebody above the cluster keeps of each ask: looked up by the ask's slot.

#include <deque>

#include "allocator/cluster/leaves.h"

namespace proffer::fair {

template <class Row>
class AskTable {
 public:
  // As it was left, or a new one.
  Row& operator[](const AskEntry& ask) {
    if (ask.slot >= rows_.size()) rows_.resize(ask.slot + 1);
    return rows_[ask.slot];
  }
  const Row& operator[](const AskEntry& ask) const {
    static const Row kNew;
    return ask.slot < rows_.size() ? rows_[ask.slot] : kNew;
  }
  // The ask is no more; another may have its slot.
  void forget(const AskEntry& ask) {
    if (ask.slot < rows_.size()) rows_[ask.slot] = Row();
  }

 private:
  std::deque<Row> rows_;  // so that rows stay where they are
};

}  // namespace proffer::fair
