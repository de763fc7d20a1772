#pragma once

// The event log of a master that does not answer, from its data directory.

#include <cstddef>
#include <string>

#include "common/result.h"

namespace proffer {

// The newest events of the log in `directory`, oldest first, each a line of JSON with a newline: as
// many as fit in `bytes_max` bytes. Changes nothing. Errors: kNotFound: there is no log;
// kUnavailable.
Result<std::string> events_on_disk(const std::string& directory, size_t bytes_max);

}  // namespace proffer
