// prime_executor: see prime_executor.h.
#include "sdk/executor.h"

#include "examples/custom_executor_framework/prime_executor.h"

int main() {
  proffer::sdk::Executor self;
  examples::run_prime_tasks(self);
  return self.run();
}
