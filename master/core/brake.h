#pragma once

// The brake on lost agents: when many of them are away at once, it is rather a switch or this
// master that has failed than all of the machines. So at most a part of the agents is given up in a
// period; the others are held back: they stay disconnected, and their tasks count as they were.
// ADR 0061.

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "common/ids.h"
#include "common/limits.h"
#include "common/time.h"

namespace proffer::master {

struct BrakeOptions {
  int64_t percent = kAgentLossPercent;  // of the admitted agents, in a period; 100: no brake
  int64_t floor = kAgentLossFloor;      // this many in a period, whatever the percentage says
  Duration period = kAgentLossPeriod;
};

class Brake {
 public:
  explicit Brake(BrakeOptions options) : options_(options) {}

  // How many agents of a cluster of this size may be given up in a period.
  int64_t most(size_t agents) const;
  // Whether one more agent may be given up now. If so, it counts from now on.
  bool pass(size_t agents, Time now);
  // When the next one may be, at the earliest. Only if pass() has just refused one.
  Time next() const;

  // Until then every agent passes. An earlier end than it had is fine: it is on again from then.
  void lift(Time until) { lifted_until_ = until; }
  std::optional<Time> lifted_until(Time now) const;

  // Those that are held back: the longest away first.
  using Held = std::set<std::pair<Time, AgentId>>;
  const Held& held() const { return held_; }
  bool holds(const AgentId& agent, Time lost_at) const { return held_.contains({lost_at, agent}); }
  void hold(const AgentId& agent, Time lost_at) { held_.emplace(lost_at, agent); }
  void release(const AgentId& agent, Time lost_at) { held_.erase({lost_at, agent}); }

 private:
  BrakeOptions options_;
  std::deque<Time> passed_;  // in the last period, the oldest first; while it is not lifted
  Time lifted_until_ = {};
  Held held_;
};

}  // namespace proffer::master
