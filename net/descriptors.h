#pragma once

// How many descriptors this process may have open.

#include <cstddef>

namespace proffer {

struct DescriptorLimits {
  size_t at_start = 0;  // the soft limit that this process was given, for the programs it starts
  size_t now = 0;       // the soft limit after raise_descriptor_limit()
};

// Raises the soft limit to the hard one: daemons keep a descriptor for each peer, and the usual
// soft limit of 1,024 is for programs that call select(). Says so if it cannot.
DescriptorLimits raise_descriptor_limit();

}  // namespace proffer
