#pragma once

// The callbacks and calls of sdk/scheduler.h as values. They are also the events and actions of a
// framework's own pure core.

#include <variant>

#include "proto/messages.h"

namespace proffer::sdk {

// The session with the master has ended; tasks continue, offers are void. The SDK makes a new
// session.
struct Disconnected {
  std::string reason = {};
};
// The master refused the framework permanently (a wrong role, a foreign id …). Nothing more
// follows.
struct Refused {
  Error error = Error::internal("");
};

// The master refused a part of an accept that gets no other answer, such as a reservation.
struct Complaint {
  Error error = Error::internal("");
};

// All tasks of this framework that have not ended are known: the SDK has reported every launch of
// its earlier lives that the cluster knows. Sent once in each session. Before it a task may be
// missing, because the master was restarted and the task's agent has not reregistered yet.
struct AllTasksKnown {};

// An offer is void after a rescind, a disconnect, or the end of its lease. The network delivers
// updates at least once; they are reported here exactly once and in order, and are acknowledged
// when the callback returns. A task may be reported as running several times, from its first update
// on with the executor's data. The command executor sends the task's ports in `data`, as in
// {"ports":{"http":31000}}, and sends `healthy` and `ready` when the health check or the readiness
// changes.
using Notification =
    std::variant<proto::Subscribed, proto::Offers, proto::Rescind, proto::TaskStatus,
                 proto::FrameworkMessage, proto::AskReport, proto::Failure, Disconnected, Refused,
                 // The answer to each StoreRequest, with the same id.
                 proto::StoreResult,
                 // A user's request to the framework, received once for each request id, even if
                 // the caller retries. The answer is a FrameworkResponse with its `relay`.
                 proto::FrameworkRequest,
                 // Tasks that must end. They are killed after the grace period. Repeated after a
                 // reconnect.
                 proto::RevokeNotice, Complaint, AllTasksKnown,
                 // The notice of this session for these tasks no longer applies. A notice of an
                 // earlier session no longer applies if it was not repeated before AllTasksKnown.
                 proto::RevokeWithdrawn>;

// The end of this task is processed and is not reported again (DriverOptions::acknowledges_ends).
struct AcknowledgeEnd {
  TaskId task = {};
};

using Command =
    std::variant<proto::DeclareAsks,  // the driver sets the generation
                 proto::Accept, proto::Decline, proto::Suppress, proto::Revive, proto::KillTask,
                 proto::Reconcile, proto::FrameworkMessage, proto::Teardown,
                 // Sent when there is a session. The author chooses an id below 2^63. Answers come
                 // in the order of the requests, except for requests that cannot be sent at all.
                 proto::StoreRequest, proto::FrameworkResponse,
                 // Repeated in each session of this life.
                 proto::ReleaseFiles,
                 // For a task whose end was reported; ignored for other tasks.
                 AcknowledgeEnd>;

}  // namespace proffer::sdk
