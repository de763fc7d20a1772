// The format is a head, group ids, and then texts that end with a NUL: arguments, joins, the
// directory that a private /tmp keeps, and last the environment, which is copied in one piece.

#include "slave/executor/launch_request.h"

#include <cstring>

#include "common/text.h"

namespace proffer::executor {
namespace {

struct Head {
  uint32_t has_user = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t groups = 0;
  uint32_t arguments = 0;
  uint32_t joins = 0;
  uint32_t streams = 0;
  uint32_t has_own_memory = 0;
  int32_t memory_of = 0;
  uint32_t has_private_tmp = 0;
};

bool is_variable(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && equals > 0;
}

template <typename Value>
void append(std::string& bytes, const Value& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Removes the first `count` texts from `bytes`; false if there are fewer.
bool take_texts(std::string_view& bytes, size_t count, std::vector<const char*>& out) {
  for (size_t i = 0; i < count; ++i) {
    const size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return false;
    out.push_back(bytes.data());
    bytes.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

size_t passed_with(LaunchRequest::Streams streams) {
  switch (streams) {
    case LaunchRequest::Streams::kPassed:
      return 3;
    case LaunchRequest::Streams::kTerminal:
      return 1;
    case LaunchRequest::Streams::kSandbox:
      break;
  }
  return 0;
}

Result<std::string> encode_launch(const LaunchRequest& request) {
  if (request.environment.empty()) return Error::invalid_argument("the environment is empty");
  const RunAs user = request.run_as.value_or(RunAs());
  if (user.groups.size() > kLaunchGroupsMax) {
    return Error::resource_exhausted(
        text("uid ", user.uid, " is in more than ", kLaunchGroupsMax, " groups"));
  }
  std::string bytes;
  append(bytes, Head{.has_user = request.run_as ? 1U : 0U,
                     .uid = user.uid,
                     .gid = user.gid,
                     .groups = static_cast<uint32_t>(user.groups.size()),
                     .arguments = static_cast<uint32_t>(request.arguments.size()),
                     .joins = static_cast<uint32_t>(request.joins.size()),
                     .streams = static_cast<uint32_t>(request.streams),
                     .has_own_memory = request.has_own_memory ? 1U : 0U,
                     .memory_of = request.memory_of,
                     .has_private_tmp = request.private_tmp_keeps.empty() ? 0U : 1U});
  for (const uint32_t group : user.groups) append(bytes, group);
  const std::vector<std::string> kept(request.private_tmp_keeps.empty() ? 0 : 1,
                                      request.private_tmp_keeps);
  for (const auto* texts : {&request.arguments, &request.joins, &kept}) {
    for (const std::string& one : *texts) {
      if (one.find('\0') != std::string::npos) {
        return Error::invalid_argument(text("a launch holds a NUL: ", quoted(one)));
      }
      bytes.append(one.c_str(), one.size() + 1);
    }
  }
  const size_t before = bytes.size();
  for (const std::string& variable : request.environment) {
    if (!is_variable(variable) || variable.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("the environment has an entry that is not a variable: ", quoted(variable)));
    }
    bytes.append(variable.c_str(), variable.size() + 1);
  }
  const size_t environment = bytes.size() - before;
  if (request.arguments.empty() && environment > kEnvironmentRoom) {
    return Error::resource_exhausted(text("an executor's environment of ", environment,
                                          " bytes is larger than ", kEnvironmentRoom));
  }
  if (bytes.size() > kLaunchBytesMax) {
    return Error::resource_exhausted(text("command line and environment have ", bytes.size(),
                                          " bytes, more than ", kLaunchBytesMax));
  }
  return bytes;
}

Result<LaunchView> decode_launch(std::string_view bytes) {
  const Error none = Error::invalid_argument("no request of a launch");
  Head head;
  if (bytes.size() <= sizeof head || bytes.size() > kLaunchBytesMax || bytes.back() != '\0') {
    return none;
  }
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes.remove_prefix(sizeof head);
  LaunchView view;
  if (head.groups > kLaunchGroupsMax || bytes.size() < head.groups * sizeof(uint32_t)) return none;
  std::vector<uint32_t> groups(head.groups);
  if (!groups.empty()) std::memcpy(groups.data(), bytes.data(), groups.size() * sizeof(uint32_t));
  bytes.remove_prefix(groups.size() * sizeof(uint32_t));
  if (head.streams > static_cast<uint32_t>(LaunchRequest::Streams::kTerminal)) return none;
  view.streams = static_cast<LaunchRequest::Streams>(head.streams);
  view.has_own_memory = head.has_own_memory != 0;
  view.memory_of = head.memory_of;
  if (head.has_user != 0) view.run_as = RunAs{head.uid, head.gid, std::move(groups)};
  std::vector<const char*> kept;
  if (!take_texts(bytes, head.arguments, view.arguments) ||
      !take_texts(bytes, head.joins, view.joins) || head.has_private_tmp > 1 ||
      !take_texts(bytes, head.has_private_tmp, kept) || bytes.empty()) {
    return none;
  }
  if (!kept.empty()) view.private_tmp_keeps = kept.front();
  view.environment = bytes;
  while (!bytes.empty()) {
    const std::string_view variable = bytes.substr(0, bytes.find('\0'));
    if (!is_variable(variable)) return Error::invalid_argument("no variable");
    view.variables.push_back(variable.data());
    bytes.remove_prefix(variable.size() + 1);
  }
  return view;
}

}  // namespace proffer::executor
