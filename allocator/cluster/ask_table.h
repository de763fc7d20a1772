#pragma once

// A table of data about asks, for layers above the cluster, indexed by the ask's slot.

#include <deque>

#include "allocator/cluster/leaves.h"

namespace proffer::fair {

template <class Row>
class AskTable {
 public:
  // The row of the ask; a new one at first use.
  Row& operator[](const AskEntry& ask) {
    if (ask.slot >= rows_.size()) rows_.resize(ask.slot + 1);
    return rows_[ask.slot];
  }
  const Row& operator[](const AskEntry& ask) const {
    static const Row kNew;
    return ask.slot < rows_.size() ? rows_[ask.slot] : kNew;
  }
  // The ask has ended; another ask may get its slot.
  void forget(const AskEntry& ask) {
    if (ask.slot < rows_.size()) rows_[ask.slot] = Row();
  }

 private:
  std::deque<Row> rows_;  // rows keep their addresses
};

}  // namespace proffer::fair
