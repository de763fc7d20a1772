#pragma once

// The event log of a master that does not answer, from its data directory.

#include <cstddef>
#include <string>

#include "common/result.h"

namespace proffer {

// The newest events in the log at `directory`, the oldest first, each in a line of JSON that ends
// with a newline: as many as `bytes_max` bytes have room for. Changes nothing. Errors: kNotFound,
// there is no log; kUnavailable.
Result<std::string> events_on_disk(const std::string& directory, size_t bytes_max);

}  // namespace proffer
