#pragma once

// Amounts of resources in sentences, with the units of people.

#include <cstdint>
#include <string>

#include "common/resources.h"

namespace proffer {

// "2.5" CPUs or GPUs; "512 MiB" or "64 GiB" of memory or disk, exactly.
std::string amount_text(ResourceKind kind, int64_t milli);
// "2.5 cpus", "64 GiB of mem".
std::string named_amount(ResourceKind kind, int64_t milli);

}  // namespace proffer
