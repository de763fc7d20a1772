#pragma once

// The system's randomness, for secrets and seeds.

#include "common/ids.h"

namespace proffer::sdk {

Secret new_secret();
uint64_t new_seed();

}  // namespace proffer::sdk
