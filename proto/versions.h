#pragma once

// Adapts messages to a peer of an earlier version. The rule is in proto/schema/wire.capnp.

#include "proto/messages.h"

namespace proffer::proto {

// The nearest reason that a peer of this version knows.
TaskReason reason_for(TaskReason reason, uint32_t version);

// Removes or replaces the parts of a message that a peer of this version does not know: reasons of
// tasks, codes of errors, and operations other than launches, which the master of version 1 does
// not support.
void say_in_version(Message& message, uint32_t version);

}  // namespace proffer::proto
