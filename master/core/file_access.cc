// Who may read files of an agent from another machine. The master says as which user, and for the
// files of one framework at one agent; whose they are the agent looks up, as it does for those that
// ask on its own machine.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

// An agent asks for the tasks that it runs: it has what they may read anyway.
bool runs_a_task(const Agents& agents, const AgentId& id, const FrameworkId& framework,
                 std::string_view user) {
  const Agent* agent = agents.find(id);
  return agent != nullptr &&
         std::any_of(agent->tasks.begin(), agent->tasks.end(), [&](const Task* task) {
           return !task->ended() && task->key().framework == framework && task->text->user == user;
         });
}

}  // namespace

Result<FileGrant> Master::State::grant_files(const proto::FileAccessCall& wanted,
                                             const Principal* by, Time now) const {
  if (by == nullptr || by->may_only_join) {
    return Error::permission_denied("an unknown user may not read files of tasks");
  }
  if (Result<void> name = check_name("framework id", wanted.framework.str()); !name) {
    return std::move(name).error();
  }
  FileGrant grant{.user = wanted.user.empty() ? by->user : wanted.user};
  if (!by->agent.empty()) {
    if (!runs_a_task(agents_, by->agent, wanted.framework, grant.user)) {
      return Error::permission_denied(
                 text("agent ", quoted(by->agent.str()), " runs no task of framework ",
                      quoted(wanted.framework.str()), " as user ", quoted(grant.user)))
          .with_hint("an agent may read files of others only for the tasks that it runs");
    }
  } else if (grant.user == by->user) {
    grant.is_operator = is_operator(options_.policy, *by);
  } else if (!is_operator(options_.policy, *by)) {
    return Error::permission_denied(
               text("user ", quoted(by->user), " may not read files as user ", quoted(grant.user)))
        .with_hint("root, the user that runs the master and the operators' group may");
  }
  const Agent* agent = agents_.find(wanted.agent);
  if (agent == nullptr) {
    return Error::not_found(text("there is no agent ", quoted(wanted.agent.str())));
  }
  if (!agent->connected()) {
    return Error::unavailable(
               text("agent ", quoted(wanted.agent.str()), " is not connected to the master"))
        .with_hint("proffer agents shows when it is back");
  }
  if (agent->files.address.empty()) {
    return Error::failed_precondition(text("agent ", quoted(wanted.agent.str()),
                                           " serves the files of its tasks on its own machine "
                                           "only"))
        .with_hint("start it with --https_port=0, or read them on its machine");
  }
  grant.files = agent->files;
  grant.until = agent->files.clock + (now - agent->registered_at) + kFileTokenAge;
  grant.prefix = text("/v1/files/", wanted.framework.str(), "/");
  return grant;
}

}  // namespace proffer::master
