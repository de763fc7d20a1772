#pragma once

// The limits on open descriptors of this process.

#include <cstddef>

namespace proffer {

struct DescriptorLimits {
  size_t at_start = 0;  // the initial soft limit of this process, for the programs that it starts
  size_t now = 0;       // the soft limit after raise_descriptor_limit()
};

// Raises the soft limit to the hard one. Daemons need a descriptor per peer, and the usual soft
// limit of 1,024 is for programs that call select(). Logs a failure.
DescriptorLimits raise_descriptor_limit();

}  // namespace proffer
