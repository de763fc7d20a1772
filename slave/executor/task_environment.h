#pragma once

// The environment of a task: exactly what docs/PROTOCOL.md promises.

#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"
#include "slave/executor/gpus.h"

namespace proffer::executor {

// PATH of executors, and of tasks that do not set it.
inline constexpr std::string_view kTaskPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The directory of a task's secrets.
inline constexpr const char* kSecretsVariable = "PROFFER_SECRETS";

// The values that the agent gave this process for all tasks.
struct Surroundings {
  std::string sandbox = {};
  std::string agent = {};  // the agent's name
  std::string path = std::string(kTaskPath);
  std::string user = {};  // the user that it runs as
  Gpus gpus = {};         // of the agent
  // A directory in memory (tmpfs) for secrets, for the task's user only; empty: there is none.
  std::string secrets = {};
};

// "NAME=value" for each variable of the task, sorted by name. The task may replace PATH, HOME,
// LANG, TMPDIR and the user's name, but not Proffer's variables (PROFFER_… and PORT_…, device
// variables on agents with GPUs, secrets). `secrets`: their values.
std::vector<std::string> task_environment(const FrameworkId& framework, const proto::TaskSpec& spec,
                                          const proto::Assignment& assignment,
                                          const Surroundings& around,
                                          const std::vector<proto::SecretValue>& secrets = {});

}  // namespace proffer::executor
