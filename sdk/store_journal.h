#pragma once

// The scheduler's writes to the framework's store, in order and in groups: operations that are
// added during a request go with the next one. An action that must wait until a write is durable
// waits for its ticket. The SDK repeats a request after a reconnection; doing an operation twice is
// the same as doing it once. Pure.

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
  // The outcome of one unit: it is written, or the error that prevents it for good.
  struct Settled {
    Ticket ticket = 0;
    std::optional<Error> error = {};
    std::vector<proto::StoreResult::Outcome> outcomes = {};
  };

  // Without a store each unit is settled at once, without outcomes.
  explicit StoreJournal(bool has_store) : has_store_(has_store) {}

  // Either all of these operations are done or none. At most kStoreOperationsMax.
  Ticket add(std::vector<proto::StoreOperation> operations);
  std::vector<Settled> take_settled() { return std::exchange(settled_, {}); }

  // The request to send now, if any.
  std::optional<proto::StoreRequest> next(Time now);
  // The result of an earlier request is ignored.
  void on_result(const proto::StoreResult& result, Time now);
  std::optional<Time> next_deadline() const;

  bool idle() const { return units_.empty() && under_way_.empty() && settled_.empty(); }

 private:
  struct Unit {
    Ticket ticket = 0;
    std::vector<proto::StoreOperation> operations = {};
    size_t bytes = 0;
    bool alone = false;  // its group failed: it is sent alone to find the operations at fault
  };

  void give_back();

  bool has_store_;
  Ticket tickets_ = 0;
  uint64_t requests_ = 0;
  std::deque<Unit> units_;       // not yet sent, in order
  std::vector<Unit> under_way_;  // sent in the request with number `requests_`
  std::optional<Time> not_before_;
  std::vector<Settled> settled_;
};

}  // namespace proffer::sdk
