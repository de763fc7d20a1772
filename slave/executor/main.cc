// proffer-executor: runs commands for an agent, which alone starts it. No flags, no logging
// library: it is in the path of every task. What goes wrong is written to `stderr` in the sandbox.

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "net/loop.h"
#include "slave/executor/command_executor.h"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  std::fprintf(stderr, "error: proffer-executor: $%s is not set\n  hint: the agent starts it\n",
               name);
  std::exit(2);
}

}  // namespace

int main() {
  using namespace proffer;
  executor::CommandExecutorOptions options;
  options.driver.framework = FrameworkId(variable("PROFFER_FRAMEWORK_ID"));
  options.driver.executor = ExecutorId(variable("PROFFER_EXECUTOR_ID"));
  options.driver.token = Secret(variable("PROFFER_EXECUTOR_TOKEN"));
  options.agent_socket = variable("PROFFER_AGENT_SOCKET");
  options.around = {.sandbox = variable("PROFFER_SANDBOX"),
                    .agent = variable("PROFFER_AGENT"),
                    .path = variable("PATH")};
  {
    Loop loop;
    const executor::CommandExecutor executor(loop, std::move(options));
    loop.run();
  }
  return 0;
}
