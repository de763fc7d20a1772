#pragma once

// Whether what the author wants can be sent at all. A frame that breaks a bound of the schema ends
// the session of its sender; a task or an ask that would is refused here instead, alone. Pure.

#include "proto/messages.h"

namespace proffer::sdk {

// What tasks or asks of one message may take together, by the estimates below: a frame, less what
// surrounds them.
inline constexpr size_t kSendableBytesMax = kFrameBytesMax - size_t{64} * 1024;

// Errors: kInvalidArgument names the field, the value and what is allowed. Whether the task can run
// is the master's to say.
Result<void> check_task(const proto::TaskSpec& task);
Result<void> check_ask(const Ask& ask);

// At least the bytes that it takes in a frame.
size_t bytes_of(const proto::TaskSpec& task);
size_t bytes_of(const Ask& ask);

// What a peer accepts: no negative time, each kind once.
Refusal sendable(Refusal refusal);
// What is too large is answered by an error that says so; texts are cut.
proto::FrameworkResponse sendable(proto::FrameworkResponse response);

}  // namespace proffer::sdk
