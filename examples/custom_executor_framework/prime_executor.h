#pragma once

// The executor of custom_executor_framework: runs its tasks, several at a time, in one process. A
// task's data is "FROM TO"; its update has the number of primes from FROM until below TO. It is
// separate from main() so that tests/sdk_testing/primes_test.cc can run it in a SimCluster.

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "sdk/executor.h"

namespace examples {

inline bool is_prime(int64_t number) {
  if (number < 2) return false;
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

inline void run_prime_tasks(proffer::sdk::Executor& self) {
  namespace proto = proffer::proto;
  auto done = std::make_shared<int>(0);

  self.on_task([&self, done](const proto::RunTask& task) {
    const proffer::TaskId id = task.spec.id;
    int64_t from = 0;
    int64_t to = 0;
    if (!(std::istringstream(task.spec.data) >> from >> to)) {
      return self.failed(id, "its data must be 'FROM TO', not '" + task.spec.data + "'");
    }
    self.running(id);
    // Long work runs on another thread; this one keeps the connection to the agent.
    auto primes = std::make_shared<int64_t>(0);
    self.run_aside(
        [=] {
          for (int64_t number = from; number < to; ++number) *primes += is_prime(number);
        },
        [&self, done, id, primes] {
          ++*done;
          self.finished(id, std::to_string(*primes));
        });
  });

  self.on_message([&self, done](const std::string&) {
    self.message("ran " + std::to_string(*done) + " tasks in one process");
  });
}

}  // namespace examples
