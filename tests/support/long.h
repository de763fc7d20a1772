#pragma once

#include <cstdlib>

namespace proffer::test {

// Whether tests may take a long time: ./test --long, at night.
inline bool is_long() { return std::getenv("PROFFER_LONG") != nullptr; }

}  // namespace proffer::test
