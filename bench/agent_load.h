#pragma once

// Loads a real agent with short commands, and measures their cost.

#include <cstdint>
#include <memory>
#include <string>

#include <sys/types.h>

#include "bench/cpu_time.h"
#include "tests/integration/processes.h"

namespace proffer::bench {

struct LoadCost {
  int64_t micros = 0;  // elapsed
  // CPU in microseconds, user and system. Executors include their commands.
  int64_t master = 0;
  int64_t agent = 0;
  int64_t executors = 0;
  int64_t scheduler = 0;
  int64_t cpu() const { return master + agent + executors + scheduler; }
};

// A master and an agent of 2 CPUs; they end with the object.
class LoadedAgent {
 public:
  // `flags` of the agent, in addition to those of `proffer dev`.
  explicit LoadedAgent(const test::Words& flags = {});
  ~LoadedAgent();

  // Runs `tasks` shell commands `true`, `at_once` at a time, by a scheduler in a separate process.
  // With `as_nobody` it runs as another user. All commands must finish.
  LoadCost run_true(int tasks, int at_once, bool as_nobody = false) const;

  pid_t master() const { return cluster_.pid_of("master"); }
  pid_t agent() const { return agent_->pid(); }
  std::string dir() const { return cluster_.dir() + "/loaded"; }
  std::string http() const { return dir() + "/executors-http.sock"; }
  // Ends the agent as an operator does, and restarts it.
  void restart(const test::Words& flags);

 private:
  void start(const test::Words& flags);

  test::Cluster cluster_;
  std::unique_ptr<test::Process> agent_;
};

}  // namespace proffer::bench
