#pragma once

// CHECK, CHECK_EQ and the like, for invariants that hold in every build. A failed check ends the
// process with the message; the durable state brings it back. Outside shells, this is our only
// header that includes glog.

#include <glog/logging.h>
