#pragma once

// The scheduler's writes to the frameworks' store, in their order and in groups: what was added
// while one request was under way goes with the next. What must not happen before it is durable
// waits for its ticket. The SDK sees each request through reconnections; each operation done twice
// is the same as once. Pure.

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class StoreJournal {
 public:
  using Ticket = uint64_t;
  // One unit is written, or it never will be, and why.
  struct Settled {
    Ticket ticket = 0;
    std::optional<Error> error = {};
    std::vector<proto::StoreResult::Outcome> outcomes = {};
  };

  // Without a store everything is settled at once, with no outcomes.
  explicit StoreJournal(bool has_store) : has_store_(has_store) {}

  // All of these operations or none. At most kStoreOperationsMax.
  Ticket add(std::vector<proto::StoreOperation> operations);
  std::vector<Settled> take_settled() { return std::exchange(settled_, {}); }

  // The request to send now, if there is one.
  std::optional<proto::StoreRequest> next(Time now);
  // A result of another request than the one under way is old news.
  void on_result(const proto::StoreResult& result, Time now);
  std::optional<Time> next_deadline() const;

  bool idle() const { return units_.empty() && under_way_.empty() && settled_.empty(); }

 private:
  struct Unit {
    Ticket ticket = 0;
    std::vector<proto::StoreOperation> operations = {};
    size_t bytes = 0;
    bool alone = false;  // a group with it failed: whose fault it was is found one by one
  };

  void give_back();

  bool has_store_;
  Ticket tickets_ = 0;
  uint64_t requests_ = 0;
  std::deque<Unit> units_;       // not yet sent, in their order
  std::vector<Unit> under_way_;  // of the request `requests_`
  std::optional<Time> not_before_;
  std::vector<Settled> settled_;
};

}  // namespace proffer::sdk
