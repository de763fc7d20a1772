#pragma once

// What a scheduler hears and what it can say, as values: the callbacks and calls of
// sdk/scheduler.h, and the events and actions of a framework's own pure core.

#include <variant>

#include "proto/messages.h"

namespace proffer::sdk {

// The session with the master ended; tasks run on, offers are void. A new session is being made.
struct Disconnected {
  std::string reason = {};
};
// The master refused for good (a wrong role, a foreign id …): nothing further happens.
struct Refused {
  Error error = Error::internal("");
};

// Offers are void after a rescind, a disconnect, or when their lease ended. Updates come at least
// once from the network, but exactly once and in order here; they are acknowledged when the
// callback returns.
using Notification =
    std::variant<proto::Subscribed, proto::Offers, proto::Rescind, proto::TaskStatus,
                 proto::FrameworkMessage, proto::AskReport, proto::Failure, Disconnected, Refused>;

using Command =
    std::variant<proto::DeclareAsks,  // the generation is the driver's to fill
                 proto::Accept, proto::Decline, proto::Suppress, proto::Revive, proto::KillTask,
                 proto::Reconcile, proto::FrameworkMessage, proto::Teardown>;

}  // namespace proffer::sdk
