// The bounds of proto/schema/wire.capnp on values from authors: tasks, asks, refusals. There is one
// check for each kind, in the order of the schema's fields.

#include "sdk/core/sendable.h"

#include <algorithm>

#include "common/roles.h"
#include "common/text.h"

namespace proffer::sdk {
namespace {

// The longest duration in the protocol.
constexpr Duration kSpanMax = hours(24 * 3650);

// A text or data field: pointer, bytes, terminator, padding.
size_t bytes_of_text(const std::string& value) { return 8 + (value.size() + 8) / 8 * 8; }

bool has_nul(const std::string& value) { return value.find('\0') != std::string::npos; }

Result<void> check_size(std::string_view what, size_t size, size_t max) {
  if (size <= max) return {};
  return Error::invalid_argument(text(what, " must be at most ", max, ", not ", size));
}

Result<void> check_environment(const proto::Environment& environment) {
  if (Result<void> r =
          check_size("the environment's variables", environment.size(), kEnvironmentEntriesMax);
      !r) {
    return r;
  }
  size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return Error::invalid_argument(
          text("a variable's name must not be empty or contain '=' or NUL, and its value no NUL: ",
               quoted(name)));
    }
    bytes += name.size() + value.size();
  }
  return check_size("the environment's bytes", bytes, kEnvironmentBytesMax);
}

Result<void> check_port_names(const std::vector<std::string>& names) {
  if (Result<void> r = check_size("port names", names.size(), kPortNamesMax); !r) return r;
  for (const std::string& name : names) {
    if (Result<void> r = check_name("a port name", name); !r) return r;
  }
  return {};
}

// Placement, gang size, and durations.
Result<void> check_placement(const Ask& ask) {
  if (!ask.spread.empty()) {
    if (Result<void> r = check_name("the attribute of a spread", ask.spread); !r) return r;
  }
  if (!ask.group.empty()) {
    if (Result<void> r = check_name("a group of asks", ask.group); !r) return r;
  }
  if (Result<void> r = check_size("max_per", ask.max_per.size(), kMaxPerMax); !r) return r;
  for (size_t i = 0; i < ask.max_per.size(); ++i) {
    const MaxPer& most = ask.max_per[i];
    if (Result<void> r = check_name("the attribute of max_per", most.attribute); !r) return r;
    if (most.count < 1 || most.count > kAskCountMax) {
      return Error::invalid_argument(
          text("max_per must be from 1 to ", kAskCountMax, ", not ", most.count));
    }
    if (i > 0 && most.attribute <= ask.max_per[i - 1].attribute) {
      return Error::invalid_argument(
          text("max_per names the attribute ", quoted(most.attribute), " twice"));
    }
  }
  if (Result<void> r = check_size("preferred hosts", ask.prefer.hosts.size(), kPreferredMax); !r) {
    return r;
  }
  if (Result<void> r = check_size("preferred racks", ask.prefer.racks.size(), kPreferredMax); !r) {
    return r;
  }
  for (const std::string& host : ask.prefer.hosts) {
    if (Result<void> r = check_name("a preferred host", host); !r) return r;
  }
  for (const std::string& rack : ask.prefer.racks) {
    if (Result<void> r = check_attribute("rack", rack); !r) return r;
  }
  if (ask.gang < 1 || ask.gang > kGangMax) {
    return Error::invalid_argument(text("a gang must be from 1 to ", kGangMax, ", not ", ask.gang));
  }
  if (ask.count % ask.gang != 0) {
    return Error::invalid_argument(
        text("a count must be a multiple of the gang, ", ask.gang, ", not ", ask.count));
  }
  for (const auto& [what, span] :
       {std::pair("the wait for preferred hosts", ask.prefer.wait),
        std::pair("an expiry", ask.expiry), std::pair("a duration", ask.duration),
        std::pair("a max_run_time", ask.max_run_time)}) {
    if (span >= Duration() && span <= kSpanMax) continue;
    return Error::invalid_argument(
        text(what, " must be from 0 to ten years, not ", span.millis(), "ms"));
  }
  return {};
}

}  // namespace

Result<void> check_task(const proto::TaskSpec& task) {
  if (Result<void> r = check_name("a task id", task.id.str()); !r) return r;
  if (!task.ask.empty()) {
    if (Result<void> r = check_name("an ask's name", task.ask.str()); !r) return r;
  }
  if (Result<void> r = check_shape(task.shape); !r) return r;
  if (Result<void> r = check_size("a command's bytes", task.command.size(), kCommandBytesMax); !r) {
    return r;
  }
  if (has_nul(task.command)) return Error::invalid_argument("a command must not contain NUL");
  if (Result<void> r = check_environment(task.environment); !r) return r;
  if (Result<void> r = check_port_names(task.port_names); !r) return r;
  if (task.executor.empty() || task.executor.size() > kCommandBytesMax || has_nul(task.executor)) {
    return Error::invalid_argument(text("an executor is 1 to ", kCommandBytesMax,
                                        " bytes without NUL, not ", quoted(task.executor)));
  }
  if (!task.executor_id.empty()) {
    if (Result<void> r = check_name("an executor id", task.executor_id.str()); !r) return r;
  }
  if (task.kill_grace < Duration() || task.kill_grace > kSpanMax) {
    return Error::invalid_argument(
        text("a kill grace must be from 0 to ten years, not ", task.kill_grace.millis(), "ms"));
  }
  if (Result<void> r = check_size("a task's data bytes", task.data.size(), kPayloadBytesMax); !r) {
    return r;
  }
  if (Result<void> r = proto::check_labels(task.labels); !r) return r;
  return task.health ? proto::check_health_check(*task.health, task.port_names) : Result<void>();
}

Result<void> check_ask(const Ask& ask) {
  if (Result<void> r = check_name("an ask's name", ask.name.str()); !r) return r;
  if (Result<void> r = check_shape(ask.shape); !r) return r;
  if (ask.count < 0 || ask.count > kAskCountMax) {
    return Error::invalid_argument(
        text("a count must be from 0 to ", kAskCountMax, ", not ", ask.count));
  }
  if (Result<void> r = check_size("constraints", ask.constraints.size(), kConstraintsMax); !r) {
    return r;
  }
  for (const Constraint& constraint : ask.constraints) {
    if (Result<void> r = check_constraint(constraint); !r) return r;
  }
  if (ask.ports < 0 || ask.ports > static_cast<int64_t>(kPortNamesMax)) {
    return Error::invalid_argument(
        text("ports must be from 0 to ", kPortNamesMax, ", not ", ask.ports));
  }
  if (!ask.role.empty()) {
    if (Result<RoleName> r = parse_role(ask.role.str()); !r) return std::move(r).error();
  }
  return check_placement(ask);
}

size_t bytes_of(const proto::TaskSpec& task) {
  size_t bytes = 192 + bytes_of_text(task.id.str()) + bytes_of_text(task.ask.str()) +
                 bytes_of_text(task.command) + bytes_of_text(task.executor) +
                 bytes_of_text(task.executor_id.str()) + bytes_of_text(task.data);
  for (const auto& [name, value] : task.environment) {
    bytes += 8 + bytes_of_text(name) + bytes_of_text(value);
  }
  for (const auto& [name, value] : task.labels) {
    bytes += 16 + bytes_of_text(name) + bytes_of_text(value);
  }
  for (const std::string& name : task.port_names) bytes += bytes_of_text(name);
  if (task.health) {
    bytes += 64 + bytes_of_text(task.health->port) + bytes_of_text(task.health->path) +
             bytes_of_text(task.health->command);
  }
  return bytes;
}

size_t bytes_of(const Ask& ask) {
  size_t bytes = 320 + bytes_of_text(ask.name.str()) + bytes_of_text(ask.role.str()) +
                 bytes_of_text(ask.spread) + bytes_of_text(ask.group);
  for (const MaxPer& most : ask.max_per) bytes += 24 + bytes_of_text(most.attribute);
  for (const std::string& host : ask.prefer.hosts) bytes += bytes_of_text(host);
  for (const std::string& rack : ask.prefer.racks) bytes += bytes_of_text(rack);
  for (const Constraint& constraint : ask.constraints) {
    bytes += 40 + bytes_of_text(constraint.attribute);
    for (const std::string& value : constraint.values) bytes += bytes_of_text(value);
  }
  return bytes;
}

Refusal sendable(Refusal refusal) {
  refusal.refuse_for = std::clamp(refusal.refuse_for, Duration(), kSpanMax);
  std::vector<ResourceKind>& kinds = refusal.too_little;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return refusal;
}

proto::FrameworkResponse sendable(proto::FrameworkResponse response) {
  if (response.error) {
    response.data.clear();
  } else if (response.data.size() > kRelayedBytesMax) {
    response.error =
        proto::ErrorMessage{.code = ErrorCode::kResourceExhausted,
                            .message = text("the framework answered with ", response.data.size(),
                                            " bytes; at most ", kRelayedBytesMax, " are allowed")};
    response.data.clear();
  }
  if (response.error) {
    response.error->message.resize(std::min(response.error->message.size(), kReasonTextBytesMax));
    response.error->hint.resize(std::min(response.error->hint.size(), kReasonTextBytesMax));
  }
  return response;
}

}  // namespace proffer::sdk
