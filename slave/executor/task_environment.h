#pragma once

// The environment of a task: exactly what docs/PROTOCOL.md promises.

#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"
#include "slave/executor/gpus.h"

namespace proffer::executor {

// $PATH of executors, and of tasks that bring none.
inline constexpr std::string_view kTaskPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// The directory of a task's secrets.
inline constexpr const char* kSecretsVariable = "PROFFER_SECRETS";

// What the agent gave this process and every task of it.
struct Surroundings {
  std::string sandbox = {};
  std::string agent = {};  // its name
  std::string path = std::string(kTaskPath);
  std::string user = {};  // that it runs as
  Gpus gpus = {};         // of the agent
  // In memory (tmpfs), for files of secrets, only for the task's user; empty: it has none.
  std::string secrets = {};
};

// "NAME=value" for each variable of the task, sorted by name. What the task brings may replace
// PATH, HOME, LANG, TMPDIR and the user's name, but not what Proffer says (PROFFER_… and PORT_… of
// its own, and its devices where there are GPUs; its secrets). `secrets`: their values.
std::vector<std::string> task_environment(const FrameworkId& framework, const proto::TaskSpec& spec,
                                          const proto::Assignment& assignment,
                                          const Surroundings& around,
                                          const std::vector<proto::SecretValue>& secrets = {});

}  // namespace proffer::executor
