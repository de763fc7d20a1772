#include "slave/executor/task_environment.h"

#include <algorithm>
#include <map>
#include <utility>

#include "proto/resource_variables.h"

namespace proffer::executor {

std::vector<std::string> task_environment(const FrameworkId& framework, const proto::TaskSpec& spec,
                                          const proto::Assignment& assignment,
                                          const Surroundings& around,
                                          const std::vector<proto::SecretValue>& secrets) {
  std::map<std::string, std::string> variables = {
      {"PATH", around.path}, {"HOME", around.sandbox}, {"TMPDIR", around.sandbox},
      {"LANG", "C.UTF-8"},   {"USER", around.user},    {"LOGNAME", around.user}};
  std::map<std::string, std::string> own = proto::resource_variables(assignment.resources.amounts);
  if (spec.environment.contains("OMP_NUM_THREADS")) own.erase("OMP_NUM_THREADS");
  for (const auto& [name, value] : spec.environment) variables[name] = value;
  for (const proto::SecretUse& use : spec.secrets) {
    if (use.variable.empty()) continue;
    const auto value = std::find_if(secrets.begin(), secrets.end(),
                                    [&](const auto& one) { return one.name == use.name; });
    if (value != secrets.end()) variables[use.variable] = value->value;
  }
  if (!around.secrets.empty()) variables[kSecretsVariable] = around.secrets;
  for (auto& [name, value] : own) variables[name] = std::move(value);
  variables["PROFFER_TASK_ID"] = spec.id.str();
  variables["PROFFER_FRAMEWORK_ID"] = framework.str();
  variables["PROFFER_AGENT"] = around.agent;
  variables["PROFFER_SANDBOX"] = around.sandbox;
  for (const auto& [name, port] : assignment.ports) {
    variables["PORT_" + name] = std::to_string(port);
  }
  show_devices(around.gpus, assignment.resources.gpus, variables);
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace proffer::executor
