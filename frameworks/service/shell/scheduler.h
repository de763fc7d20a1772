#pragma once

// The service scheduler as a process: attached to one app, or serving the apps of all users.

#include <string>

#include "common/result.h"

namespace proffer::service {

struct RunOptions {
  std::string app_file = {};
  std::string master = {};  // sockets or HOST:PORT, separated by commas
  std::string role = "default";
  bool json = false;
};

// Keeps the app of the file running until Ctrl-C, and prints its events. Returns the exit code: 1
// refused, 2 wrong usage or app file, 3 the master cannot be reached, 130 or 143 interrupted, after
// all instances have ended.
int run_attached(const RunOptions& options);

struct SchedulerOptions {
  std::string master = {};
  std::string role = "default";
  std::string name = "service";
  std::string session_file = {};  // file with its identity; restarted with it, it finds its apps
  bool stands_by = false;         // instead of the file: one scheduler of the name serves
  bool serves_users = false;      // apps run as the users that created them
  // How often apps that are scaled by their load are measured, by a process that it starts; 0s:
  // another process measures them.
  std::string autoscale_every = "5s";
};

// Serves requests until SIGINT or SIGTERM. Its apps continue to run. Returns the exit code: 0, or 1
// if refused permanently.
int run_scheduler(const SchedulerOptions& options);

// Prints "error: …" and its hint on standard error, or one object with `json`. Returns the exit
// code: 2 for kInvalidArgument, else 1.
int print_error(const Error& error, bool json);

}  // namespace proffer::service
