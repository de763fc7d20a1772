#pragma once

// Every method of the master, once: calls, HTTP, their help and the OpenAPI file come from this
// table (ADR 0125). A method is added here, with what it takes and answers in proto/json.

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
  std::string next = {};  // names the next page; empty: this was the last
};

// Of the core as it is now. Pages have at most kReplyRowsMax rows and kJsonBytesMax bytes. What the
// principal may not see is left out.
struct ReadContext {
  const Master& core;
  const Principal* by = nullptr;
  std::string_view history = {};  // MasterStatus::history
  // What is wrong, which is looked for when it is asked for.
  std::function<const std::vector<proto::ConditionRow>&()> conditions = {};
  Time now = {};
  Forecaster* forecaster = nullptr;  // nullptr: no times of starts are told
  // Fills in MasterRow::events_behind.
  std::function<void(std::vector<proto::MasterRow>&)> add_events_behind = {};
};
using ReadFunction = Result<Page> (*)(const ReadContext&, std::string_view arguments);

// The event that asks the core for a change; it answers under the number `call`.
using ChangeFunction = Result<MasterEvent> (*)(std::string_view arguments, uint64_t call,
                                               const PrincipalPtr& by);

enum class Verb : uint8_t { kGet, kPost };
std::string_view to_text(Verb verb);  // "GET"

// Which part of the master answers.
enum class Serves : uint8_t {
  kRead,        // the core, at once: `read`
  kSnapshot,    // pages that are kept (SnapshotPages)
  kHistory,     // a thread, or another master (HistoryCalls)
  kEvents,      // the event log, now or when there are new ones (EventLog)
  kFileAccess,  // a token for the files of an agent
  kChange,      // the core, when the change is durable: `change`
  kJoinToken,   // likewise, and where the master is found
  kSetSecret,   // likewise, with the value encrypted
  kStandBy,     // likewise, for another master's connection
  kFollow,      // the event log, for another master that stands by
  kRequest,     // a scheduler, to which it is relayed
  kServers,     // the scheduler of services
};

struct Route {
  std::string_view method = {};  // of calls; empty: over HTTP only
  Verb verb = Verb::kGet;
  // Below /v1/; empty: no HTTP. A part in braces stands for any one part.
  std::string_view path = {};
  std::string_view about = {};  // for people
  Callers callers;              // for which kinds of principals it is; all others are refused
  // What the core checks besides; none: each of them may, and sees what a user may see.
  std::optional<Action> action = {};
  Serves serves = Serves::kRead;
  // The argument that names the next page; empty: there is one page.
  std::string_view page = {};
  bool may_wait = false;  // ?wait=…: the answer waits until it is another one
  proto::JsonShape (*arguments)() = nullptr;
  // Of a request over HTTP: what its query string has, as its body is the scheduler's.
  proto::JsonShape (*answer)() = nullptr;  // nullptr: an empty object, {}
  ReadFunction read = nullptr;
  ChangeFunction change = nullptr;

  constexpr bool changes() const { return verb == Verb::kPost; }
  constexpr std::string_view name() const { return method.empty() ? path : method; }
  // For check_method().
  constexpr MethodRule rule() const {
    return {.name = name(), .callers = callers, .action = action};
  }
};

std::span<const Route> routes();
// nullptr: there is no such method of calls.
const Route* find_route(std::string_view method);

// Errors: kNotFound, with the methods that there are, and the nearest.
Error unknown_method(std::string_view method);

}  // namespace proffer::master
