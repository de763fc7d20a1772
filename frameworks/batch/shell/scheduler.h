#pragma once

// The batch scheduler as a process, which serves the jobs of all its users.

#include <string>

#include "common/result.h"

namespace proffer::batch {

struct SchedulerOptions {
  std::string master = {};  // sockets or HOST:PORT, with commas
  std::string role = "default";
  std::string name = "batch";
  std::string session_file = {};  // its identity; started again with it, it finds its jobs
  bool stands_by = false;         // in its place: of several schedulers of the name one serves
  bool serves_users = false;      // jobs run as the users that submit them
};

// Serves requests until SIGINT or SIGTERM, and leaves its jobs' tasks running. Returns the exit
// code: 0, 1 refused for good, 2 wrong usage.
int run_scheduler(const SchedulerOptions& options);

}  // namespace proffer::batch
