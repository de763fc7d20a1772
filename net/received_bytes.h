#pragma once

// Inside net only: the bytes that libzmq has received, including incomplete messages.

#include <cstdint>

namespace proffer {

// Bytes that recv() returned for this descriptor since the program began, over all connections that
// used it. 0 for descriptors above 1,048,575. Any thread, O(1).
uint64_t received_bytes(int fd);

}  // namespace proffer
