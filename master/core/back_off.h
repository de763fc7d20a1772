#pragma once

// How long a framework gets no offers because its launches are refused, so that a scheduler that
// tries the same again and again takes neither the master's time nor the others' offers.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/time.h"

namespace proffer::master {

// kBackOffFirst, doubled each time, `most` at last; zero for an `nth` below 1.
Duration doubled_wait(int64_t nth, Duration most);

// A failed accept is one that launched nothing of what its offers were made for, and of whose tasks
// some were refused. Each ask waits by itself; the framework as a whole waits after many failed
// accepts in a row, whatever their asks: those may have had a new name each time.
class BackOff {
 public:
  struct Row {
    int64_t failures = 0;  // in a row
    std::optional<Time> until = {};
  };

  // `asks`: the offers were made for these, and no task of them was launched. None: open offers.
  void note_failed(const std::set<AskName>& asks, Time now);
  // A task was launched for the ask (empty: for none).
  void note_launched(const AskName& ask);
  // Whether the framework, or this ask of it, waits.
  bool pauses_all() const { return all_.until.has_value(); }
  bool pauses(const AskName& ask) const;
  // How many there are now: of asks, and of the framework as a whole. O(asks that failed).
  int64_t waits() const;
  // When the first of the waits ends; none if nothing waits. O(asks that failed).
  std::optional<Time> next_end() const;
  // The asks whose waits have ended, and whether that of the framework has; each is told once.
  struct Ended {
    std::vector<AskName> asks = {};
    bool all = false;
  };
  Ended take_ended(Time now);
  // Forgets asks that are not declared, once more than kAsksMax are remembered.
  void keep_only(const std::set<AskName>& declared);

  const Row& all() const { return all_; }
  const std::map<AskName, Row>& asks() const { return asks_; }

 private:
  Row all_ = {};
  std::map<AskName, Row> asks_ = {};
};

}  // namespace proffer::master
