#pragma once

// The batch scheduler as a process, which serves the jobs of all its users.

#include <string>

#include "common/result.h"

namespace proffer::batch {

struct SchedulerOptions {
  std::string master = {};  // sockets or HOST:PORT, separated by commas
  std::string role = "default";
  std::string name = "batch";
  std::string session_file = {};  // file with its identity; restarted with it, it finds its jobs
  bool stands_by = false;         // instead of the file: one scheduler of the name serves
  bool serves_users = false;      // jobs run as the users that submit them
};

// Serves requests until SIGINT or SIGTERM. The tasks of its jobs continue to run. Returns the exit
// code: 0, 1 if refused permanently, 2 for wrong usage.
int run_scheduler(const SchedulerOptions& options);

}  // namespace proffer::batch
