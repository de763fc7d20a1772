#pragma once

// A live cluster as its master sees it at one moment, for a simulation from there. It has what a
// scenario needs, and omits what only a running cluster needs.

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
  Resources total = {};  // without resources that are only estimated to be free
  // Reserved in any way; part of `total`.
  std::map<RoleName, ResourceVector> reserved = {};
  std::optional<Duration> drains_for = {};  // the time left, if it is being drained
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

// Its count is of tasks that are not launched yet, offered or not.
struct LiveAsk {
  FrameworkId framework = {};
  Ask ask = {};
  bool claims = false;  // agents are set aside for its claim
  bool operator==(const LiveAsk&) const = default;
};

// A task that holds resources.
struct LiveTask {
  FrameworkId framework = {};
  TaskId task = {};
  AgentId agent = {};
  AskName ask = {};  // empty: none
  RoleName role = {};
  ResourceVector shape = {};
  int32_t priority = 0;
  Band band = Band::kBatch;
  uint64_t gang = 0;                 // tasks with the same number are a gang; 0: none
  bool estimated = false;            // it uses resources only estimated to be free
  bool ending = false;               // it is being killed, and not because of a revoke notice
  Duration since = {};               // time since its launch
  std::vector<uint16_t> ports = {};  // its ports; sorted
  bool operator==(const LiveTask&) const = default;
};

struct LiveSnapshot {
  Time taken = {};
  std::map<std::string, std::string> options = {};  // the master's, by the names of its flags
  std::vector<LiveAgent> agents = {};
  std::vector<LiveRole> roles = {};  // roles that have settings
  std::vector<LiveFramework> frameworks = {};
  std::vector<LiveAsk> asks = {};
  std::vector<LiveTask> tasks = {};
  bool operator==(const LiveSnapshot&) const = default;
};

}  // namespace proffer::proto
