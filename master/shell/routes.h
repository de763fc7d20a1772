#pragma once

// The table of all methods of the master: calls, HTTP, their help and the OpenAPI file are made
// from it (ADR 0125). A new method is added here, with its arguments and its answer in proto/json.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "master/core/master.h"
#include "master/core/policy.h"
#include "proto/conditions.h"
#include "proto/json/json_shape.h"

namespace proffer::master {

class Forecaster;

struct Page {
  std::string json = {};
  std::string next = {};  // the next page; empty: this is the last one
};

// The present state of the core. Pages have at most kReplyRowsMax rows and kJsonBytesMax bytes.
// Content that the principal may not see is left out.
struct ReadContext {
  const Master& core;
  const Principal* by = nullptr;
  std::string_view history = {};  // MasterStatus::history
  // Returns the conditions, which are examined on demand.
  std::function<const std::vector<proto::ConditionRow>&()> conditions = {};
  Time now = {};
  Forecaster* forecaster = nullptr;  // nullptr: no forecasts of starts
  // Fills in MasterRow::events_behind.
  std::function<void(std::vector<proto::MasterRow>&)> add_events_behind = {};
};
using ReadFunction = Result<Page> (*)(const ReadContext&, std::string_view arguments);

// Makes the event that asks the core for a change; the core answers it under the number `call`.
using ChangeFunction = Result<MasterEvent> (*)(std::string_view arguments, uint64_t call,
                                               const PrincipalPtr& by);

enum class Verb : uint8_t { kGet, kPost };
std::string_view to_text(Verb verb);  // "GET"

// The part of the master that answers.
enum class Serves : uint8_t {
  kRead,        // the core, at once, by `read`
  kSnapshot,    // kept pages (SnapshotPages)
  kHistory,     // a thread, or another master (HistoryCalls)
  kEvents,      // the event log, at once or when it has new events (EventLog)
  kFileAccess,  // a token for files of an agent
  kChange,      // the core, by `change`, when the change is durable
  kJoinToken,   // as kChange, with the addresses of the master
  kSetSecret,   // as kChange, with the value encrypted
  kStandBy,     // as kChange, for the connection of a standby
  kFollow,      // the event log, for a standby
  kRequest,     // a scheduler that gets the request
  kServers,     // the scheduler of services
};

struct Route {
  std::string_view method = {};  // name of the call; empty: HTTP only
  Verb verb = Verb::kGet;
  // Below /v1/; empty: no HTTP. A part in braces matches any one part.
  std::string_view path = {};
  std::string_view about = {};  // description for people
  Callers callers;              // the kinds of principals that may call it; others are refused
  // An action that the core checks in addition; none: each of these principals may call it, and
  // sees what a user may see.
  std::optional<Action> action = {};
  Serves serves = Serves::kRead;
  // The argument that selects the next page; empty: there is one page.
  std::string_view page = {};
  bool may_wait = false;  // ?wait=…: the answer waits for a change
  proto::JsonShape (*arguments)() = nullptr;
  // For a request to a scheduler over HTTP: the arguments of the query string, since the body is
  // the scheduler's.
  proto::JsonShape (*answer)() = nullptr;  // nullptr: an empty object, {}
  ReadFunction read = nullptr;
  ChangeFunction change = nullptr;

  constexpr bool changes() const { return verb == Verb::kPost; }
  constexpr std::string_view name() const { return method.empty() ? path : method; }
  // The argument for check_method().
  constexpr MethodRule rule() const {
    return {.name = name(), .callers = callers, .action = action};
  }
};

std::span<const Route> routes();
// nullptr: no call has this name.
const Route* find_route(std::string_view method);

// Errors: kNotFound, with the existing methods, and the most similar one.
Error unknown_method(std::string_view method);

}  // namespace proffer::master
