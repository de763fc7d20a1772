#pragma once

// Who may read the files of a sandbox: its user, and operators.

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/principal.h"
#include "common/result.h"
#include "net/http_server.h"

namespace proffer::agent {

struct FilePolicy {
  uint32_t agent_uid = 0;                        // the user that runs the agent
  std::optional<uint32_t> operators_group = {};  // a group id
};

// Whether `by` may read what is served to the sandbox's user `owner`: root, the user that runs the
// agent and the operators' group may always. Errors: kPermissionDenied, with those that may.
Result<void> check_reader(const FilePolicy& policy, const Principal* by, uint32_t owner);

// `served` with the rights of its sandbox's user, for `by`. A refusal, and that an operator reads
// the files of another user, leaves an audit line that names `what`. Any thread.
Result<ServedPath> serve_to(const FilePolicy& policy, const PrincipalPtr& by, ServedPath served,
                            std::string_view what);

}  // namespace proffer::agent
