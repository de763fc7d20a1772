#pragma once

// Inside net only: what libzmq has received, which it tells nobody before a message is whole.

#include <cstdint>

namespace proffer {

// Bytes that came to this descriptor by recv() since the program began, from all connections that
// had it. 0 from the 1,048,576th descriptor on. Any thread, O(1).
uint64_t received_bytes(int fd);

}  // namespace proffer
