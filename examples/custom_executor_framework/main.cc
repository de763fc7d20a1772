// Counts primes in tasks of its own executor, prime_executor: see count_primes.h.
#include <filesystem>
#include <iostream>
#include <string>

#include "examples/custom_executor_framework/count_primes.h"
#include "sdk/scheduler.h"

int main(int argc, char** argv) {
  // The agent runs it as a shell command line in a sandbox, so the path must be absolute.
  const std::filesystem::path self_path = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      "exec '" + (self_path.parent_path() / "prime_executor").string() + "'";

  proffer::sdk::Scheduler self(proffer::sdk::options_from(argc, argv, "primes"));
  const examples::CountPrimes counts(self, command, std::cout);
  return self.run();
}
