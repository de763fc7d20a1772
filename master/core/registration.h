#pragma once

// Checks of an agent's registration, before it is used.

#include "common/principal.h"
#include "common/result.h"
#include "master/core/sessions.h"

namespace proffer::master {

// Checks everything that the core relies on, and moves ports from the slices into `first.ports`.
// Errors: kInvalidArgument names the wrong field.
Result<void> check_registration(Registration& registration);

// Checks the addresses that an agent on another machine, which has a key, gives as its own. Others
// reach it by TLS only, so its local address is dropped. It must serve files at the host from which
// it connects, or at a host that other machines can reach. Errors: kInvalidArgument.
Result<void> check_addresses(const Principal& by, proto::RegisterAgent& agent);

// The sum of the resources of its tasks that have not ended. The registration must have passed the
// check.
Resources held_by_tasks(const Registration& registration);

// Whether amounts, devices and ports agree and are within bounds.
Result<void> check_resources(const Resources& resources);

}  // namespace proffer::master
