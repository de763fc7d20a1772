#pragma once

// A live cluster as its master sees it at one moment, to simulate it from there: what a scenario is
// made of, and nothing that only a running cluster needs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/offers.h"
#include "common/resources.h"
#include "common/roles.h"
#include "common/time.h"
#include "proto/status.h"

namespace proffer::proto {

struct LiveAgent {
  AgentId agent = {};
  AgentState state = AgentState::kConnected;
  Attributes attributes = {};
  Resources total = {};  // without what is only estimated to be free
  // By any means, and part of `total`.
  std::map<RoleName, ResourceVector> reserved = {};
  std::optional<Duration> drains_for = {};  // it is being emptied, and has so long left
  bool operator==(const LiveAgent&) const = default;
};

struct LiveRole {
  RoleName role = {};
  RoleSettings settings = {};
  bool operator==(const LiveRole&) const = default;
};

struct LiveFramework {
  FrameworkId framework = {};
  std::string name = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  bool connected = true;
  bool suppressed = false;
  bool operator==(const LiveFramework&) const = default;
};

// Its count is of what is not launched yet, whether or not it is offered.
struct LiveAsk {
  FrameworkId framework = {};
  Ask ask = {};
  bool claims = false;  // agents are set aside for it
  bool operator==(const LiveAsk&) const = default;
};

// One that holds resources.
struct LiveTask {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};
  AskName ask = {};  // empty: none
  RoleName role = {};
  ResourceVector shape = {};
  int32_t priority = 0;
  Band band = Band::kBatch;
  uint64_t gang = 0;                 // with those of its framework that have the same number
  bool estimated = false;            // it runs on what its agent only estimates to be free
  bool ending = false;               // it has been told to end, and not because of a notice
  Duration since = {};               // launched so long ago
  std::vector<uint16_t> ports = {};  // that it was given; sorted
  bool operator==(const LiveTask&) const = default;
};

struct LiveSnapshot {
  Time taken = {};
  std::map<std::string, std::string> options = {};  // the master's, by the names of its flags
  std::vector<LiveAgent> agents = {};
  std::vector<LiveRole> roles = {};  // that have settings
  std::vector<LiveFramework> frameworks = {};
  std::vector<LiveAsk> asks = {};
  std::vector<LiveTask> tasks = {};
  bool operator==(const LiveSnapshot&) const = default;
};

}  // namespace proffer::proto
