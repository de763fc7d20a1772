#include "slave/shell/file_policy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/printable.h"
#include "common/text.h"
#include "net/users.h"

namespace proffer::agent {
namespace {

bool is_operator(const FilePolicy& policy, const Principal& by) {
  if (by.is_operator || by.uid == 0 || by.uid == policy.agent_uid) return true;
  return policy.operators_group &&
         std::find(by.groups.begin(), by.groups.end(), *policy.operators_group) != by.groups.end();
}

}  // namespace

Result<void> permit(const FilePolicy& policy, const Principal* by, uint32_t owner,
                    std::string_view action, std::string_view object) {
  const bool is_own = by != nullptr && by->uid == owner;
  if (is_own) return {};
  const bool may = by != nullptr && is_operator(policy, *by);
  LOG(WARNING) << (may ? "audit: done" : "audit: refused")
               << " user=" << (by == nullptr ? "?" : by->user) << " action=" << log_value(action)
               << " of=" << log_value(object);
  if (may) return {};
  const std::string user = by == nullptr ? "an unknown user" : text("user ", quoted(by->user));
  return Error::permission_denied(text(user, " may not ", action))
      .with_hint(text("user ", quoted(user_name(owner)),
                      ", root, the agent's user and members of the operators' group may"));
}

Result<ServedPath> serve_to(const FilePolicy& policy, const PrincipalPtr& by, ServedPath served,
                            std::string_view what) {
  struct stat sandbox {};
  if (fstat(served.root.directory.get(), &sandbox) != 0) {
    return Error::internal(text("the sandbox cannot be checked: ", std::strerror(errno)));
  }
  if (Result<void> may =
          permit(policy, by.get(), sandbox.st_uid, "read files of a task of another user", what);
      !may) {
    return std::move(may).error();
  }
  if (sandbox.st_uid != policy.agent_uid) {
    served.user =
        FileUser{.uid = sandbox.st_uid,
                 .gid = sandbox.st_gid,
                 .groups = by->uid == sandbox.st_uid ? by->groups : groups_of(sandbox.st_uid)};
  }
  return served;
}

}  // namespace proffer::agent
