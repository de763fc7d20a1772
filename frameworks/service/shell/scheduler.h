#pragma once

// The service scheduler as a process: attached to one app, or serving all apps of people.

#include <string>

#include "common/result.h"

namespace proffer::service {

struct RunOptions {
  std::string app_file = {};
  std::string master = {};  // sockets or HOST:PORT, with commas
  std::string role = "default";
  bool json = false;
};

// Keeps the app of the file running until Ctrl-C, and prints what happens. Returns the exit code: 1
// refused, 2 wrong usage or app file, 3 the master cannot be reached, 130 or 143 interrupted, once
// all instances have ended.
int run_attached(const RunOptions& options);

struct SchedulerOptions {
  std::string master = {};
  std::string role = "default";
  std::string name = "service";
  std::string session_file = {};  // its identity; started again with it, it finds its apps
  bool stands_by = false;         // in its place: of several schedulers of the name one serves
  bool serves_users = false;      // apps run as the users that created them
  // Apps that are scaled by their load are measured so often, by a process that it starts; 0s:
  // another one measures them.
  std::string autoscale_every = "5s";
};

// Serves requests until SIGINT or SIGTERM, and leaves its apps running. Returns the exit code: 0,
// or 1 refused for good.
int run_scheduler(const SchedulerOptions& options);

// "error: …" and its hint on standard error; with `json` as one object. Returns the exit code for
// it: 2 for kInvalidArgument, else 1.
int print_error(const Error& error, bool json);

}  // namespace proffer::service
