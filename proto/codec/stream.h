#pragma once

// Cap'n Proto's stream encoding (a segment table and segments), and the one function in which kj's
// exceptions are caught. For the codec only.

#include <cstddef>
#include <functional>
#include <span>

#include <capnp/message.h>

#include "common/result.h"

namespace proffer::proto {

// Calls `read` with the message in `bytes`, which may be hostile and need not be aligned. Errors:
// kInvalidArgument if the message is not whole and well-formed, is longer than `bytes_max`, or kj
// threw while it was read.
Result<void> read_stream(std::span<const std::byte> bytes, size_t bytes_max,
                         const std::function<Result<void>(capnp::MessageReader&)>& read);

}  // namespace proffer::proto
