#include "slave/executor/launch_request.h"

#include "common/text.h"

namespace proffer::executor {
namespace {

bool is_variable(std::string_view text) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && equals > 0;
}

}  // namespace

Result<std::string> encode_launch(const std::vector<std::string>& environment) {
  std::string bytes;
  for (const std::string& variable : environment) {
    if (!is_variable(variable) || variable.find('\0') != std::string::npos) {
      return Error::invalid_argument(
          text("the environment holds what is no variable: ", quoted(variable)));
    }
    bytes += variable;
    bytes += '\0';
  }
  if (bytes.empty()) return Error::invalid_argument("the environment is empty");
  if (bytes.size() > kLaunchBytesMax) {
    return Error::resource_exhausted(text("an executor's environment of ", bytes.size(),
                                          " bytes is larger than ", kLaunchBytesMax));
  }
  return bytes;
}

Result<std::vector<std::string_view>> decode_launch(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kLaunchBytesMax || bytes.back() != '\0') {
    return Error::invalid_argument("no request of a launch");
  }
  std::vector<std::string_view> environment;
  while (!bytes.empty()) {
    const std::string_view variable = bytes.substr(0, bytes.find('\0'));
    if (!is_variable(variable)) return Error::invalid_argument("no variable");
    environment.push_back(variable);
    bytes.remove_prefix(variable.size() + 1);
  }
  return environment;
}

}  // namespace proffer::executor
