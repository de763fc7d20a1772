#pragma once

// What to say to a peer of an earlier version. The rule is in proto/schema/wire.capnp.

#include "proto/messages.h"

namespace proffer::proto {

// The nearest reason that a peer of this version knows.
TaskReason reason_for(TaskReason reason, uint32_t version);

// The message with what a peer of this version does not know left out or said in words that it has:
// reasons of tasks, codes of errors; operations other than launches, which the master of version 1
// cannot do.
void say_in_version(Message& message, uint32_t version);

}  // namespace proffer::proto
