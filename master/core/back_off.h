#pragma once

// How long a framework gets no offers because its launches are refused. A scheduler that repeats
// the same refused launch takes neither the master's time nor offers from others.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

// kBackOffFirst, doubled with each `nth`, at most `most`; zero for an `nth` below 1.
Duration doubled_wait(int64_t nth, Duration most);

// An accept fails for an ask if the offers were made for the ask, at least one task was refused,
// and no task was launched for the ask. Each ask waits separately. The framework as a whole waits
// after many failed accepts in a row, for any asks, because a scheduler may give its ask a new name
// each time.
class BackOff {
 public:
  struct Row {
    int64_t failures = 0;  // in a row
    std::optional<Time> until = {};
  };

  // `asks`: the offers were made for these, and no task of them was launched. Empty: the offers
  // were open offers.
  void note_failed(const std::set<AskName>& asks, Time now);
  // A task was launched for the ask (empty: for no ask).
  void note_launched(const AskName& ask);
  // Whether the framework as a whole waits, or this ask of it.
  bool pauses_all() const { return all_.until.has_value(); }
  bool pauses(const AskName& ask) const;
  // The number of current waits: those of asks, and that of the framework as a whole. O(failed
  // asks).
  int64_t waits() const;
  // The end of the first wait; none if nothing waits. O(failed asks).
  std::optional<Time> next_end() const;
  // The asks whose waits have ended, and whether the framework's wait has ended. Each end is
  // returned once.
  struct Ended {
    std::vector<AskName> asks = {};
    bool all = false;
  };
  Ended take_ended(Time now);
  // Forgets asks that are not declared, when more than kAsksMax are remembered.
  void keep_only(const std::set<AskName>& declared);

  const Row& all() const { return all_; }
  const std::map<AskName, Row>& asks() const { return asks_; }

 private:
  Row all_ = {};
  std::map<AskName, Row> asks_ = {};
};

}  // namespace proffer::master
