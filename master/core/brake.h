#pragma once

// The brake on lost agents. If many agents are away at once, the likely cause is a switch or this
// master, not all of the machines. So at most a part of the agents is given up in one period. The
// others are held back: they stay disconnected, and their tasks keep their states. ADR 0061.

#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "common/ids.h"
#include "common/limits.h"
#include "common/time.h"

namespace proffer::master {

struct BrakeOptions {
  int64_t percent = kAgentLossPercent;  // of the admitted agents, per period; 100: no brake
  // The number of agents that may always be given up in a period, even if `percent` gives less.
  int64_t floor = kAgentLossFloor;
  Duration period = kAgentLossPeriod;
};

class Brake {
 public:
  explicit Brake(BrakeOptions options) : options_(options) {}

  // The number of agents that may be given up in a period, in a cluster of this size.
  int64_t most(size_t agents) const;
  // Whether one more agent may be given up now. If so, it is counted.
  bool pass(size_t agents, Time now);
  // The earliest time at which the next agent may be given up. Only after pass() has returned
  // false.
  Time next() const;

  // Lets every agent pass until then. An earlier end than before is allowed: it ends the pass
  // sooner.
  void lift(Time until) { lifted_until_ = until; }
  std::optional<Time> lifted_until(Time now) const;

  // The agents that are held back, in order of the time since when they are away.
  using Held = std::set<std::pair<Time, AgentId>>;
  const Held& held() const { return held_; }
  bool holds(const AgentId& agent, Time lost_at) const { return held_.contains({lost_at, agent}); }
  void hold(const AgentId& agent, Time lost_at) { held_.emplace(lost_at, agent); }
  void release(const AgentId& agent, Time lost_at) { held_.erase({lost_at, agent}); }

 private:
  BrakeOptions options_;
  std::deque<Time> passed_;  // in the last period, the oldest first; only while the brake is on
  Time lifted_until_ = {};
  Held held_;
};

}  // namespace proffer::master
