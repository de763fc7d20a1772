#pragma once

// A real agent under short commands, and what they cost.

#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

#include "bench/cpu_time.h"
#include "tests/integration/processes.h"

namespace proffer::bench {

struct LoadCost {
  int64_t micros = 0;  // elapsed
  // CPU in microseconds, user and system. Executors with their commands.
  int64_t master = 0;
  int64_t agent = 0;
  int64_t executors = 0;
  int64_t scheduler = 0;
  int64_t cpu() const { return master + agent + executors + scheduler; }
};

// A master and an agent of 2 CPUs, which end with the object.
class LoadedAgent {
 public:
  // `flags` of the agent besides those of `proffer dev`.
  explicit LoadedAgent(const test::Words& flags = {});
  ~LoadedAgent();

  // Runs `tasks` shell commands `true`, `at_once` at a time, by a scheduler in a process of its
  // own, which is this user's or nobody's. All of them must finish.
  LoadCost run_true(int tasks, int at_once, bool as_nobody = false) const;

  pid_t master() const { return cluster_.pid_of("master"); }
  pid_t agent() const { return agent_->pid(); }
  std::string dir() const { return cluster_.dir() + "/loaded"; }
  std::string http() const { return dir() + "/executors-http.sock"; }
  // Ends the agent as an operator does, and starts it again.
  void restart(const test::Words& flags);

 private:
  void start(const test::Words& flags);

  test::Cluster cluster_;
  std::unique_ptr<test::Process> agent_;
};

}  // namespace proffer::bench
