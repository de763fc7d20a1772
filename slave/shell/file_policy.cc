#include "slave/shell/file_policy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/users.h"

namespace proffer::agent {
namespace {

bool is_operator(const FilePolicy& policy, const Principal& by) {
  if (by.uid == 0 || by.uid == policy.agent_uid) return true;
  return policy.operators_group &&
         std::find(by.groups.begin(), by.groups.end(), *policy.operators_group) != by.groups.end();
}

}  // namespace

Result<void> check_reader(const FilePolicy& policy, const Principal* by, uint32_t owner) {
  if (by != nullptr && (by->uid == owner || is_operator(policy, *by))) return {};
  const std::string user = by == nullptr ? "an unknown user" : text("user ", quoted(by->user));
  return Error::permission_denied(text(user, " may not read files of a task of another user"))
      .with_hint(text("user ", quoted(user_name(owner)),
                      ", root, the user that runs the agent and the operators' group may"));
}

Result<ServedPath> serve_to(const FilePolicy& policy, const PrincipalPtr& by, ServedPath served,
                            std::string_view what) {
  struct stat sandbox {};
  if (fstat(served.root.directory.get(), &sandbox) != 0) {
    return Error::internal(text("the sandbox cannot be looked at: ", std::strerror(errno)));
  }
  Result<void> may = check_reader(policy, by.get(), sandbox.st_uid);
  if (!may || by->uid != sandbox.st_uid) {
    LOG(WARNING) << (may ? "audit: done" : "audit: refused")
                 << " user=" << (by == nullptr ? "?" : by->user)
                 << " action=\"read files of a task of another user\" of=" << quoted(what);
  }
  if (!may) return std::move(may).error();
  if (sandbox.st_uid != policy.agent_uid) {
    served.user =
        FileUser{.uid = sandbox.st_uid,
                 .gid = sandbox.st_gid,
                 .groups = by->uid == sandbox.st_uid ? by->groups : groups_of(sandbox.st_uid)};
  }
  return served;
}

}  // namespace proffer::agent
