#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace proffer::bench {

int64_t micros_since(std::chrono::steady_clock::time_point begin);

// Microseconds from the time when the request leaves the client.
struct Latency {
  int64_t running = 0;
  int64_t finished = 0;
};

// Does the same as `proffer run -- true`, without output streams: a framework with one ask on its
// own connection.
Latency run_once(const std::string& master);

}  // namespace proffer::bench
