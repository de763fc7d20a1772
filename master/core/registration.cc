// Checks of an agent's registration: names, amounts within bounds that add up, devices and ports
// listed once, updates in order. Begin with check_registration at the end.

#include "master/core/registration.h"

#include <algorithm>
#include <set>

#include "common/roles.h"
#include "common/text.h"
#include "master/core/hosts.h"
#include "master/core/tasks.h"

namespace proffer::master {
namespace {

using proto::TaskState;

constexpr int32_t kWholeDevice = 1'000;
constexpr size_t kAttributeBytesMax = 128;

// Adds, unless the sum would exceed the maximum of an agent.
Result<void> add_within_bounds(Resources& sum, const Resources& more) {
  for (const ResourceKind kind : kResourceKinds) {
    if (sum.amounts[kind] + more.amounts[kind] > kAgentAmountMax) {
      return Error::invalid_argument(text("the sum of ", to_text(kind),
                                          " is too large: an agent has at most ",
                                          print_milli(kAgentAmountMax)));
    }
  }
  for (const GpuDevice& device : more.gpus) {
    for (const GpuDevice& had : sum.gpus) {
      if (had.index == device.index && had.milli + device.milli > kWholeDevice) {
        return Error::invalid_argument(text("gpu device ", device.index, " is given twice"));
      }
    }
  }
  sum += Resources{.amounts = more.amounts, .gpus = more.gpus};
  return {};
}

Result<void> check_attributes(const Attributes& attributes) {
  if (attributes.size() > kAttributesMax) {
    return Error::invalid_argument(
        text("an agent has at most ", kAttributesMax, " attributes, not ", attributes.size()));
  }
  for (const auto& [name, value] : attributes) {
    if (Result<void> checked = check_name("attribute", name); !checked) return checked;
    if (name == "host") return Error::invalid_argument("the attribute 'host' cannot be set");
    if (value.size() > kAttributeBytesMax || value.find(';') != std::string::npos) {
      return Error::invalid_argument(
          text("the attribute ", quoted(name), " has a value that is too long or has a ';'"));
    }
  }
  return {};
}

// An address that tools put into a URL: exactly "host:port" or "[::1]:port"; or the path of a Unix
// socket that is valid for the kernel and readable. An empty address is valid.
Result<void> check_http_address(std::string_view address) {
  if (address.empty()) return {};
  constexpr size_t kSocketPathBytesMax = 107;
  if (address.front() == '/' && address.size() <= kSocketPathBytesMax &&
      std::none_of(address.begin(), address.end(), [](char c) { return c < ' ' || c == 0x7f; })) {
    return {};
  }
  const auto is_host = [](std::string_view host, std::string_view more) {
    return !host.empty() && std::all_of(host.begin(), host.end(), [&](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
             more.find(c) != std::string_view::npos;
    });
  };
  const size_t colon = std::min(address.rfind(':'), address.size());
  const std::string_view host = address.substr(0, colon);
  const bool is_v6 = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const bool valid = (is_v6 ? is_host(host.substr(1, host.size() - 2), ":.")
                            : is_host(host, "._-ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ")) &&
                     colon < address.size() &&
                     parse_whole("port", address.substr(colon + 1), 1, 65'535);
  if (valid) return {};
  return Error::invalid_argument(
      text("the HTTP address of an agent must be host:port or the path of ",
           "a Unix socket, as in 127.0.0.1:5081 or /run/a.sock, not ", quoted(address)));
}

// As check_http_address, for TLS: no socket, and with the values that clients and tokens need.
Result<void> check_files(const proto::FileService& files) {
  if (files.address.empty()) return {};
  if (files.address.front() == '/') {
    return Error::invalid_argument(
        text("files for other machines are served at host:port, not ", quoted(files.address)));
  }
  if (Result<void> checked = check_http_address(files.address); !checked) return checked;
  const bool is_pin = files.pin.size() == kPinBytesMax &&
                      std::all_of(files.pin.begin(), files.pin.end(), [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                               (c >= 'A' && c <= 'Z') || c == '+' || c == '/' || c == '=';
                      });
  if (is_pin) return {};
  return Error::invalid_argument(text("the pin of a certificate is ", kPinBytesMax,
                                      " characters of base64, not ", quoted(files.pin)));
}

Result<void> check_slices(proto::RegisterAgent& agent) {
  Resources sum;
  for (Slice& slice : agent.slices) {
    if (!slice.reserved_for.empty()) {
      if (Result<RoleName> role = parse_role(slice.reserved_for.str()); !role) {
        return std::move(role).error();
      }
    }
    agent.ports += slice.resources.ports;
    slice.resources.ports = PortSet();
    if (Result<void> checked = check_resources(slice.resources); !checked) return checked;
    if (Result<void> added = add_within_bounds(sum, slice.resources); !added) return added;
  }
  if (sum.amounts.is_zero()) return Error::invalid_argument("an agent without resources");
  return {};
}

// States that an agent may report. The others are known to the master only.
bool may_tell(TaskState state) {
  return state != TaskState::kUnreachable && state != TaskState::kGone;
}

Result<void> check_task(const proto::AgentTask& task) {
  if (Result<void> checked = check_name("framework id", task.framework.str()); !checked) {
    return checked;
  }
  if (Result<void> checked = check_name("task id", task.task.str()); !checked) return checked;
  if (Result<void> checked = check_resources(task.resources); !checked) return checked;
  if (!may_tell(task.state)) {
    return Error::invalid_argument(
        text("an agent cannot report that a task is ", proto::to_text(task.state)));
  }
  if (task.unacknowledged.size() > kUpdatesPerTaskMax) {
    return Error::invalid_argument(text("a task has at most ", kUpdatesPerTaskMax,
                                        " unacknowledged updates, not ",
                                        task.unacknowledged.size()));
  }
  uint64_t before = 0;
  for (const proto::TaskStatus& status : task.unacknowledged) {
    if (status.sequence <= before || status.sequence > task.sequence || !may_tell(status.state)) {
      return Error::invalid_argument("its updates are not in order");
    }
    before = status.sequence;
  }
  return {};
}

}  // namespace

Result<void> check_resources(const Resources& resources) {
  for (const ResourceKind kind : kResourceKinds) {
    if (resources.amounts[kind] < 0 || resources.amounts[kind] > kAmountMax) {
      return Error::invalid_argument(
          text(to_text(kind), " must be from 0 to ", print_milli(kAmountMax)));
    }
  }
  int64_t sum = 0;
  int32_t before = -1;
  for (const GpuDevice& device : resources.gpus) {
    if (device.index <= before || device.index >= static_cast<int32_t>(kGpuDevicesMax) ||
        device.milli < 1 || device.milli > kWholeDevice) {
      return Error::invalid_argument("the gpu devices are not in order or out of range");
    }
    before = device.index;
    sum += device.milli;
  }
  if (sum != resources.amounts[ResourceKind::kGpus]) {
    return Error::invalid_argument("the gpu devices do not add up to gpus");
  }
  return {};
}

Result<void> check_addresses(const Principal& by, proto::RegisterAgent& agent) {
  if (by.key.empty()) return {};
  agent.http_address.clear();
  const std::string& address = agent.files.address;
  if (address.empty()) return {};
  std::string_view host = std::string_view(address).substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == by.host || is_of_this_machine(by.host) || may_be_reached(host)) return {};
  return Error::invalid_argument(text("agent ", quoted(agent.agent.str()), " connects from ",
                                      by.host.empty() ? "another machine" : by.host,
                                      ", and serves files at ", quoted(address),
                                      ", which other machines cannot reach"))
      .with_hint(
          "start it with --https_host, the name or address by which other machines reach it");
}

Result<void> check_registration(Registration& registration) {
  proto::RegisterAgent& agent = registration.first;
  if (Result<void> checked = check_name("agent name", agent.agent.str()); !checked) return checked;
  if (!is_valid_secret(agent.secret.str())) {
    return Error::invalid_argument("the secret must be 32 hexadecimal digits");
  }
  if (Result<void> checked = check_http_address(agent.http_address); !checked) return checked;
  if (Result<void> checked = check_files(agent.files); !checked) return checked;
  if (std::any_of(agent.limits.begin(), agent.limits.end(),
                  [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; })) {
    return Error::invalid_argument("its list of enforced limits has a control character");
  }
  if (Result<void> checked = check_attributes(agent.attributes); !checked) return checked;
  if (Result<void> checked = check_slices(agent); !checked) return checked;

  Resources sum;
  std::set<TaskKey> seen;
  std::vector<bool> taken(65'536);
  for (const proto::AgentTask& task : registration.tasks) {
    const auto in_task = [&](Error error) {
      return std::move(error).in(text("task ", quoted(task.task.str())));
    };
    if (Result<void> checked = check_task(task); !checked) {
      return in_task(std::move(checked).error());
    }
    if (!seen.insert({task.framework, task.task}).second) {
      return in_task(Error::invalid_argument("it is listed twice"));
    }
    if (proto::is_terminal(task.state)) continue;
    if (Result<void> added = add_within_bounds(sum, task.resources); !added) {
      return in_task(std::move(added).error());
    }
    for (const PortRange& range : task.resources.ports.ranges()) {
      for (int port = range.first; port <= range.last; ++port) {
        if (taken[static_cast<size_t>(port)]) {
          return in_task(Error::invalid_argument(text("port ", port, " is used twice")));
        }
        taken[static_cast<size_t>(port)] = true;
      }
    }
  }
  return {};
}

Resources held_by_tasks(const Registration& registration) {
  Resources sum;
  std::vector<PortRange> ports;
  for (const proto::AgentTask& task : registration.tasks) {
    if (proto::is_terminal(task.state)) continue;
    sum += Resources{.amounts = task.resources.amounts, .gpus = task.resources.gpus};
    for (const PortRange& range : task.resources.ports.ranges()) ports.push_back(range);
  }
  sum.ports = PortSet(std::move(ports));
  return sum;
}

}  // namespace proffer::master
