#pragma once

// Checks whether a command of the author can be sent. A frame that breaks a bound of the schema
// ends the session of its sender, so a task or an ask that would do so is refused here. Pure.

#include "proto/messages.h"

namespace proffer::sdk {

// The most bytes that the tasks or asks of one message may take, by the estimates below: a frame,
// less its other contents.
inline constexpr size_t kSendableBytesMax = kFrameBytesMax - size_t{64} * 1024;

// Errors: kInvalidArgument names the field, the value and what is allowed. The master decides
// whether the task can run.
Result<void> check_task(const proto::TaskSpec& task);
Result<void> check_ask(const Ask& ask);

// A lower bound of the bytes that the task takes in a frame.
size_t bytes_of(const proto::TaskSpec& task);
size_t bytes_of(const Ask& ask);

// The refusal in the form that a peer accepts: no negative time, each kind once.
Refusal sendable(Refusal refusal);
// Replaces a response that is too large with an error, and cuts long texts.
proto::FrameworkResponse sendable(proto::FrameworkResponse response);

}  // namespace proffer::sdk
