// proffer-executor: the fork server, which an agent starts, and the command executors that are
// forked from it. It has no flags and no logging library, since each task's launch goes through it.
// Errors of an executor are written to `stderr` in its sandbox.

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "net/loop.h"
#include "slave/executor/command_executor.h"
#include "slave/executor/fork_server.h"

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value != nullptr && *value != '\0') return value;
  std::fprintf(stderr, "error: proffer-executor: the agent gave no $%s\n", name);
  std::exit(2);
}

}  // namespace

int main() {
  using namespace proffer;
  if (!executor::fork_executors()) return 0;
  executor::CommandExecutorOptions options;
  options.driver.framework = FrameworkId(variable("PROFFER_FRAMEWORK_ID"));
  options.driver.executor = ExecutorId(variable("PROFFER_EXECUTOR_ID"));
  if (const char* run = std::getenv("PROFFER_EXECUTOR_RUN"); run != nullptr) {
    options.driver.run = std::strtoull(run, nullptr, 10);
  }
  options.driver.token = Secret(variable("PROFFER_EXECUTOR_TOKEN"));
  options.agent_socket = variable("PROFFER_AGENT_SOCKET");
  options.around = {.sandbox = variable("PROFFER_SANDBOX"),
                    .agent = variable("PROFFER_AGENT"),
                    .path = variable("PATH"),
                    .user = variable("USER")};
  if (const char* secrets = std::getenv(executor::kSecretsVariable); secrets != nullptr) {
    options.around.secrets = secrets;
  }
  if (const char* gpus = std::getenv(executor::kGpusVariable); gpus != nullptr) {
    options.around.gpus = executor::parse_gpus(gpus);
  }
  Loop loop;
  const executor::CommandExecutor executor(loop, std::move(options));
  loop.run();
  // Everything is reported and acknowledged. The fork server destroys what it made, and the kernel
  // the rest.
  _exit(0);
}
