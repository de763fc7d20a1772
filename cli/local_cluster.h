#pragma once

// A master and agents as child processes, for commands that need a cluster of their own and do
// things to it.

#include <functional>
#include <string>
#include <vector>

#include "cli/children.h"
#include "net/address.h"
#include "net/loop.h"

namespace proffer::cli {

// Turns the loop until `ready`, for at most so long; whether it became ready. Asks every few
// milliseconds.
bool turn_until(Loop& loop, Duration at_most, const std::function<bool()>& ready);

class LocalCluster {
 public:
  struct Options {
    std::string dir = {};  // exists, empty
    int agents = 2;
    std::string resources = "cpus:4;mem:4096";
    std::vector<std::string> master_flags = {};
  };
  LocalCluster(Loop& loop, Children& children, Options options);
  // kill -9 for what still runs, and for all executors.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // All agents are registered. Errors: kNotFound, kInternal, kTimeout.
  Result<void> start();
  const Address& master() const { return master_; }

  // kill -9; false if it did not end.
  bool kill(const std::string& name);
  // Again on the same port, with its registry.
  Result<void> start_master_again();
  // Stops the agents' processes, so that they say nothing, until they are let go on.
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
