#pragma once

// The system's randomness, for secrets and seeds.

#include "common/ids.h"

namespace proffer {

Secret random_secret();
uint64_t random_seed();

}  // namespace proffer
