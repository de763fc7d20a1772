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

// The master refused something that has no other answer: a reservation in an accept.
struct Complaint {
  Error error = Error::internal("");
};

// All tasks of this framework that have not ended are known: what its earlier lives launched has
// been told, as far as anybody knows of it. Once in each session; before it a task may be missing,
// because the master was restarted and the task's agent is not back yet.
struct AllTasksKnown {};

// Offers are void after a rescind, a disconnect, or when their lease ended. Updates come at least
// once from the network, but exactly once and in order here; they are acknowledged when the
// callback returns. A task may be told as running several times: from its first update on with what
// its executor says of it. The command executor says the task's ports in `data`, as in
// {"ports":{"http":31000}}, and `healthy` and `ready` whenever its
// health check or its readiness changes it.
using Notification =
    std::variant<proto::Subscribed, proto::Offers, proto::Rescind, proto::TaskStatus,
                 proto::FrameworkMessage, proto::AskReport, proto::Failure, Disconnected, Refused,
                 // The answer to each StoreRequest, under the id that the author gave it.
                 proto::StoreResult,
                 // Somebody's request to the framework itself, heard once for each request id,
                 // however often its caller tries. Answered by FrameworkResponse with its `relay`.
                 proto::FrameworkRequest,
                 // Tasks that are to end, and are killed when the grace is over. Told again after
                 // a reconnect.
                 proto::RevokeNotice, Complaint, AllTasksKnown,
                 // What a notice of this session said of these tasks is over. A notice of a session
                 // before that is not told again until AllTasksKnown is over, too.
                 proto::RevokeWithdrawn>;

// The end of this task is dealt with: nobody needs to be told of it again
// (DriverOptions::acknowledges_ends).
struct AcknowledgeEnd {
  TaskId task = {};
};

using Command =
    std::variant<proto::DeclareAsks,  // the generation is the driver's to fill
                 proto::Accept, proto::Decline, proto::Suppress, proto::Revive, proto::KillTask,
                 proto::Reconcile, proto::FrameworkMessage, proto::Teardown,
                 // Done when there is a session. The id is the author's, below 2^63; answers come
                 // in the order of the requests, but for those that cannot be sent at all.
                 proto::StoreRequest, proto::FrameworkResponse,
                 // Told again in each session of this life.
                 proto::ReleaseFiles,
                 // Of a task whose end was told. Another one is ignored.
                 AcknowledgeEnd>;

}  // namespace proffer::sdk
