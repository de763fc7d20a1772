#pragma once

// What an agent says of itself, checked before anything believes it.

#include "common/principal.h"
#include "common/result.h"
#include "master/core/sessions.h"

namespace proffer::master {

// Checks all that the core relies on, and takes ports out of the slices into `first.ports`. Errors:
// kInvalidArgument says which field is wrong.
Result<void> check_registration(Registration& registration);

// The addresses that an agent on another machine, one with a key, states of itself: it is reached
// by TLS alone, so its address for this machine is forgotten, and not at this machine or the one of
// a client. Errors: kInvalidArgument.
Result<void> check_addresses(const Principal& by, proto::RegisterAgent& agent);

// The sum of what its tasks hold that have not ended. The registration must have passed the check.
Resources held_by_tasks(const Registration& registration);

// Whether amounts, devices and ports say the same and are within bounds.
Result<void> check_resources(const Resources& resources);

}  // namespace proffer::master
