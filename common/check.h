#pragma once

// CHECK, CHECK_EQ and the like: what must hold in every build. A failed one ends the process with
// the message; durable state brings it back. The only header of ours that includes glog outside a
// shell.

#include <glog/logging.h>
