// A scheduler that may be killed at any time: restarted with its session file it is the same
// framework, finds its tasks, and reads its state from the store. Ctrl-C ends it and its tasks;
// SIGHUP leaves them for the next life.
#include <csignal>
#include <iostream>

#include "examples/failover_framework/keep_three.h"
#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  proffer::sdk::SchedulerOptions options = proffer::sdk::options_from(argc, argv, "failover");
  if (options.session_file.empty()) options.session_file = "failover.session";
  proffer::sdk::Scheduler self(options);
  examples::keep_three(self, std::cout);
  self.on_signal(SIGHUP, [&] { self.detach(); });
  return self.run();
}
