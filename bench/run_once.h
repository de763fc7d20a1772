#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace proffer::bench {

int64_t micros_since(std::chrono::steady_clock::time_point begin);

// Micro-seconds from when the request leaves the client.
struct Latency {
  int64_t running = 0;
  int64_t finished = 0;
};

// What `proffer run -- true` does, without the streams of output: a framework of one ask on a
// connection of its own.
Latency run_once(const std::string& master);

}  // namespace proffer::bench
