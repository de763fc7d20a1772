// Access to files of an agent from another machine. The master grants it for a user and for the
// files of one framework, or of one of its jobs, at one agent. The agent checks the owner of the
// files, as it does for users of its own machine.

#include <set>
#include <string_view>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

// The prefix of the paths that a task needs, when its agent requests access for it. The task must
// run there as this user, and be confirmed by the master that launched it or by its scheduler.
// Agents of an earlier version do not name the task.
Result<std::string> paths_for(const Agents& agents, const AgentId& id,
                              const proto::FileAccessCall& wanted, std::string_view user) {
  std::set<std::string> families;  // those of jobs, or the task's own
  if (const Agent* agent = agents.find(id)) {
    for (const Task* task : agent->tasks) {
      const TaskKey& key = task->key();
      if (task->ended() || task->unconfirmed || key.framework != wanted.framework) continue;
      if (task->text->user != user) continue;
      if (wanted.task.empty() || wanted.task == key.task) {
        const std::string_view family = proto::file_family(key.task);
        families.insert(text(family, family == key.task.str() ? "/" : "."));
      }
    }
  }
  if (families.size() == 1) return *families.begin();
  if (families.empty()) {
    const std::string what =
        wanted.task.empty() ? std::string("no task") : text("no task ", quoted(wanted.task.str()));
    return Error::permission_denied(text("agent ", quoted(id.str()), " runs ", what,
                                         " of framework ", quoted(wanted.framework.str()),
                                         " as user ", quoted(user)))
        .with_hint("an agent may read files on other agents only for tasks that it runs");
  }
  return Error::permission_denied(
             text("agent ", quoted(id.str()), " runs tasks of several jobs of user ", quoted(user),
                  ", and the call does not name the task that needs the files"))
      .with_hint("upgrade that agent");
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
  grant.prefix = text("/v1/files/", wanted.framework.str(), "/");
  if (!by->agent.empty()) {
    const Result<std::string> paths = paths_for(agents_, by->agent, wanted, grant.user);
    if (!paths) return paths.error();
    grant.prefix += *paths;
  } else if (grant.user == by->user) {
    grant.is_operator = is_operator(options_.policy, *by);
  } else if (!is_operator(options_.policy, *by)) {
    return Error::permission_denied(
               text("user ", quoted(by->user), " may not read files as user ", quoted(grant.user)))
        .with_hint("only root, the master's user and members of the operators' group may");
  }
  const Agent* agent = agents_.find(wanted.agent);
  if (agent == nullptr) {
    return Error::not_found(text("there is no agent ", quoted(wanted.agent.str())));
  }
  if (!agent->connected()) {
    return Error::unavailable(
               text("agent ", quoted(wanted.agent.str()), " is not connected to the master"))
        .with_hint("see its state with proffer agents, and try again when it is connected");
  }
  if (agent->files.address.empty()) {
    return Error::failed_precondition(
               text("agent ", quoted(wanted.agent.str()),
                    " serves the files of its tasks only on its own machine"))
        .with_hint("start it with --https_port=0, or read them on its machine");
  }
  grant.files = agent->files;
  grant.until = agent->files.clock + (now - agent->registered_at) + kFileTokenAge;
  return grant;
}

}  // namespace proffer::master
