#pragma once

// The events of a scheduler driver. A field is `free_text` if a peer or an author wrote it and it
// is unchecked, or if it may contain spaces.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/result.h"
#include "common/trace.h"

namespace proffer::sdk {

// --- the session -------------------------------------------------------------------------------

struct SessionBegun {
  FrameworkId framework;
  SessionEpoch session;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "subscribed"}; }
  void fields(TraceFields& f) const { f("framework", framework)("session", session); }
};

struct MasterLost {
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "master lost"}; }
  void fields(TraceFields& f) const { f.free_text("reason", reason); }
};

struct OlderMasterRefused {
  LeaderEpoch leader;
  LeaderEpoch known;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "a master of an older epoch was refused"};
  }
  void fields(TraceFields& f) const { f("leader", leader)("known", known); }
};

struct StandsBy {
  std::string message;  // the master's message

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "stands by"}; }
  void fields(TraceFields& f) const { f.free_text("message", message); }
};

struct MasterSentError {
  ErrorCode code = {};
  std::string message;
  bool is_final = false;  // the framework is refused permanently

  TraceKind kind() const {
    if (is_final) return {TraceLevel::kLongLived, "refused by the master"};
    return {TraceLevel::kMisbehaved, "error from the master"};
  }
  void fields(TraceFields& f) const { f("code", to_text(code)).free_text("message", message); }
};

struct TeardownGivenUp {
  FrameworkId framework;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "teardown given up: the master cannot be reached"};
  }
  void fields(TraceFields& f) const { f("framework", framework); }
};

// --- the master's messages ----------------------------------------------------------------------

struct UnknownMessageIgnored {
  uint64_t tag = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "unknown message ignored"}; }
  void fields(TraceFields& f) const { f("tag", tag); }
};

struct UnexpectedMessage {
  std::string_view message;  // name of the message

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "unexpected message from the master"};
  }
  void fields(TraceFields& f) const { f("message", message); }
};

struct UpdateOfAnotherFramework {
  FrameworkId framework;
  TaskId task;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "update of another framework"};
  }
  void fields(TraceFields& f) const { f("framework", framework)("task", task); }
};

struct UnwantedStoreResult {
  uint64_t id = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "unexpected store result"}; }
  void fields(TraceFields& f) const { f("id", id); }
};

struct RequestHeardAgain {
  std::string id;

  static constexpr TraceKind kind() { return {TraceLevel::kMessage, "request heard again"}; }
  void fields(TraceFields& f) const { f("id", id); }
};

// --- the author's commands ----------------------------------------------------------------------

struct AskCannotBeDeclared {
  AskName ask;  // the first ask
  std::string message;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "asks that cannot be declared"};
  }
  void fields(TraceFields& f) const {
    f.free_text("ask", ask.str());
    f.free_text("message", message);
  }
};

struct TooManyKills {
  TaskId task;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "too many kills of unknown tasks"};
  }
  void fields(TraceFields& f) const { f("task", task); }
};

struct TooManyQuestions {
  TaskId task;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMisbehaved, "too many tasks to reconcile"};
  }
  void fields(TraceFields& f) const { f("task", task); }
};

struct MessageDropped {
  AgentId agent;
  ExecutorId executor;

  static constexpr TraceKind kind() {
    return {TraceLevel::kMessage, "message to an executor dropped"};
  }
  void fields(TraceFields& f) const {
    f.free_text("agent", agent.str());
    f.free_text("executor", executor.str());
  }
};

}  // namespace proffer::sdk
