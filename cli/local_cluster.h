#pragma once

// A master and agents as child processes, for commands that need their own cluster and make faults
// in it.

#include <functional>
#include <string>
#include <vector>

#include "cli/children.h"
#include "net/address.h"
#include "net/loop.h"

namespace proffer::cli {

// Runs the event loop until `ready`, for at most this time. True if it became ready. Checks every
// few milliseconds.
bool turn_until(Loop& loop, Duration at_most, const std::function<bool()>& ready);

class LocalCluster {
 public:
  struct Options {
    std::string dir = {};  // must exist and be empty
    int agents = 2;
    std::string resources = "cpus:4;mem:4096";
    std::vector<std::string> master_flags = {};
  };
  LocalCluster(Loop& loop, Children& children, Options options);
  // kill -9 for all running processes, including executors.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Returns when all agents are registered. Errors: kNotFound, kInternal, kTimeout.
  Result<void> start();
  const Address& master() const { return master_; }

  // kill -9; false if it did not end.
  bool kill(const std::string& name);
  // Restarts the master on the same port, with its registry.
  Result<void> start_master_again();
  // Stops the agents' processes (SIGSTOP), so that they send nothing, until they are resumed.
  void pause_agents() const;
  void resume_agents() const;
  bool owns(const std::string& name) const;

 private:
  Result<void> start_master();
  Result<void> start_agent(const std::string& name, int64_t first_port);
  std::string dir_of(const std::string& name) const { return options_.dir + "/" + name; }

  Loop& loop_;
  Children& children_;
  Options options_;
  std::vector<std::string> agents_;
  Address master_ = {};
};

}  // namespace proffer::cli
