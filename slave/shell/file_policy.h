#pragma once

// Permissions of an agent: files of a sandbox, and commands in a task, are for the user of the task
// and for operators.

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

// Whether `by` may access something of `owner`. Root, the user that runs the agent, the operators'
// group and operators of the cluster always may. `action`, after "may not": "read files of a task
// of another user"; `object`: the object of the action. A refusal, and an action by an operator,
// leaves an audit line. Errors: kPermissionDenied, with those who may. Any thread.
Result<void> permit(const FilePolicy& policy, const Principal* by, uint32_t owner,
                    std::string_view action, std::string_view object);

// Returns `served` with the rights of its sandbox's user, if `by` may read it. Errors: as permit().
// Any thread.
Result<ServedPath> serve_to(const FilePolicy& policy, const PrincipalPtr& by, ServedPath served,
                            std::string_view what);

}  // namespace proffer::agent
