// Which tasks may be launched at all: the rules for each field of a task, independent of offers.

#include <algorithm>
#include <set>

#include "common/text.h"
#include "master/core/accept_plan.h"
#include "proto/fetched_files.h"

namespace proffer::master {
namespace {

bool is_port_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Result<void> check_port_names(const std::vector<std::string>& names) {
  if (names.size() > kPortNamesMax) {
    return Error::invalid_argument(
        text("a task has at most ", kPortNamesMax, " ports, not ", names.size()));
  }
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!is_port_name(name)) {
      return Error::invalid_argument(
          text("the port name ", quoted(name), " must be letters, digits and '_'"));
    }
    if (!seen.insert(name).second) {
      return Error::invalid_argument(text("the port name ", quoted(name), " is given twice"));
    }
  }
  return {};
}

Result<void> check_environment(const proto::Environment& environment) {
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos ||
        name.find('\0') != std::string::npos || value.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("the environment variable ", quoted(name),
               " must have a name without '=', and no NUL byte in its name or value"));
    }
  }
  return {};
}

}  // namespace

Result<void> check_task(const proto::TaskSpec& spec) {
  if (Result<void> checked = check_name("task id", spec.id.str()); !checked) return checked;
  if (!spec.ask.empty()) {
    if (Result<void> checked = check_name("ask", spec.ask.str()); !checked) return checked;
  }
  if (!spec.executor_id.empty()) {
    if (Result<void> checked = check_name("executor id", spec.executor_id.str()); !checked) {
      return checked;
    }
  }
  if (spec.executor.empty() || spec.executor.find('\0') != std::string::npos) {
    return Error::invalid_argument(text("the executor must be ", proto::kCommandExecutor, ", ",
                                        proto::kBatchExecutor, " or a shell command line"));
  }
  if (spec.executor == proto::kCommandExecutor && spec.command.empty()) {
    return Error::invalid_argument("a task of the command executor needs a command");
  }
  if (spec.command.find('\0') != std::string::npos) {
    return Error::invalid_argument("the command must not have a NUL byte");
  }
  if (spec.kill_grace < Duration() || spec.kill_grace > kKillGraceMax) {
    return Error::invalid_argument("the kill grace must be from 0 to ten years");
  }
  if (spec.max_run_time < Duration() || spec.max_run_time > kDurationMax) {
    return Error::invalid_argument("max_run_time must be from 0 to ten years");
  }
  if (Result<void> checked = proto::check_kill_signal(spec.kill_signal); !checked) return checked;
  if (Result<void> checked = proto::check_fetched_files(spec.fetch); !checked) return checked;
  if (Result<void> checked = check_shape(spec.shape); !checked) return checked;
  if (Result<void> checked = check_port_names(spec.port_names); !checked) return checked;
  if (Result<void> checked = proto::check_static_ports(spec.static_ports, spec.port_names);
      !checked) {
    return checked;
  }
  if (Result<void> checked = proto::check_labels(spec.labels); !checked) return checked;
  if (Result<void> checked = proto::check_secret_uses(spec.secrets); !checked) return checked;
  if (!spec.secrets.empty() &&
      (spec.executor != proto::kCommandExecutor || !spec.executor_id.empty())) {
    return Error::invalid_argument(
        text("only tasks of ", proto::kCommandExecutor,
             " with an executor of their own (no executor id) can have secrets"));
  }
  if (spec.health) {
    if (spec.executor != proto::kCommandExecutor) {
      return Error::invalid_argument(text("a health check needs ", proto::kCommandExecutor,
                                          ", not the executor ", quoted(spec.executor)));
    }
    if (Result<void> checked = proto::check_health_check(*spec.health, spec.port_names); !checked) {
      return checked;
    }
  }
  if (spec.readiness) {
    if (spec.executor != proto::kCommandExecutor) {
      return Error::invalid_argument(text("readiness needs ", proto::kCommandExecutor,
                                          ", not the executor ", quoted(spec.executor)));
    }
    if (Result<void> checked = proto::check_readiness(*spec.readiness, spec.port_names); !checked) {
      return checked;
    }
  }
  return check_environment(spec.environment);
}

}  // namespace proffer::master
