#pragma once

// The behaviour of a simulated task, written as its command: "sleep 1500; exit 3" is readable for
// people and for the simulated executor.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/time.h"

namespace proffer::sim {

struct SimTask {
  Duration runs = {};
  int32_t exit_code = 0;
  int32_t signal = 0;     // if not zero, it ends by this signal
  bool stubborn = false;  // ends only when its grace is over

  bool operator==(const SimTask&) const = default;
};

std::string to_command(const SimTask& task);
// Any other command runs for a second and exits with 0.
SimTask parse_sim_task(std::string_view command);

}  // namespace proffer::sim
