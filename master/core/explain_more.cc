// Why a role has no more resources, and why a task waits: one sentence each, with counts of the
// allocator. Begin with explain_role() and explain_task().

#include <algorithm>

#include "common/text.h"
#include "master/core/explain.h"
#include "master/core/state.h"

namespace proffer::master {

std::string hint_of(std::string_view word, const std::vector<std::string>& names,
                    std::string_view what) {
  if (names.empty()) return text("there are no ", what);
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const std::string_view near = nearest(word, known); !near.empty()) {
    return text("did you mean ", quoted(near), "?");
  }
  return text("known ", what, ": ", listed(names));
}

namespace {

// In whole seconds, rounded up.
std::string in_words(Time at, Time now) {
  if (at <= now) return "now";
  return text("within ", ((at - now).millis() + 999) / 1000, "s");
}

std::string answer_of(const RoleExplanation& fair, Time now) {
  if (fair.asks_unmet == 0) {
    if (fair.children_all == 0) return "it has no frameworks, so it has no asks";
    return fair.place > 0 ? "it takes open offers as they come"
                          : "all its asks are launched or offered";
  }
  const HeldAsks& most = fair.held.front();
  std::string said = text("in this role ", fair.asks_unmet,
                          fair.asks_unmet == 1 ? " ask is" : " asks are", " not met: ");
  if (fair.held.size() > 1) said += text(most.asks, " of them for this reason: ");
  said += to_text(most);
  if (most.until) said += text(" (", in_words(*most.until, now), ")");
  if (most.why == RoleHindrance::kLent && !fair.borrowers.empty()) {
    const NodeStanding& borrower = fair.borrowers.front();
    said += text("; role ", quoted(borrower.name), " has borrowed ", to_text(borrower.borrowed));
  }
  return said;
}

std::string answer_of(const proto::ExplainedNotice& notice, const AgentId& agent, Time now) {
  const std::string when = in_words(notice.deadline, now);
  const std::string whose =
      notice.beneficiary.empty() ? "" : text(" for role ", quoted(notice.beneficiary.str()));
  switch (notice.reason) {
    case RevokeReason::kReclaimed:
      return text("it must end ", when, ": resources that its role has borrowed are reclaimed",
                  whose);
    case RevokeReason::kDraining:
      return text("it must end ", when, ": agent ", agent.str(), " is being drained");
    case RevokeReason::kLent:
      return text("it must end ", when, ": it runs on resources that are claimed", whose);
    case RevokeReason::kEstimate:
      return text("it must end ", when, ": agent ", agent.str(),
                  " has fewer resources than it had estimated");
  }
  return "";
}

std::string answer_of(const TaskStanding& standing, Time now) {
  if (!standing.victim_for.empty()) {
    const Beneficiary& first = standing.victim_for.front();
    return text("it runs on borrowed resources, and is the next victim for the ask ",
                quoted(first.ask.str()), " of ", first.framework.str(),
                first.from && *first.from > now ? text(", ", in_words(*first.from, now)) : "");
  }
  if (standing.is_estimated) return "it runs on resources that its agent only estimates to be free";
  if (standing.is_lent) return "it runs on resources that are claimed for others, until those fit";
  if (!standing.guaranteed_by.empty()) {
    return text("it runs, and the guarantee of role ", quoted(standing.guaranteed_by.str()),
                " covers it: it is not preempted");
  }
  if (!standing.over.empty()) {
    return text("it runs on borrowed resources; no ask reclaims them now",
                standing.protected_until
                    ? text(", and none may before the task reaches the minimum runtime, ",
                           in_words(*standing.protected_until, now))
                    : std::string());
  }
  return "it runs within the entitlement of its role";
}

}  // namespace

Result<proto::ExplainedRole> Master::State::explain_role(std::string_view path) const {
  Result<RoleName> role = parse_role(path);
  if (!role) return std::move(role).error();
  std::optional<RoleExplanation> found;
  if (*role != kGoneRole) found = allocator_.explain_role(*role, now_);
  if (!found) {
    std::vector<std::string> names;
    for (const proto::RoleRow& row : role_rows()) names.push_back(row.role.str());
    return Error::not_found(text("there is no role ", quoted(path)))
        .with_hint(hint_of(path, names, "roles"));
  }
  proto::ExplainedRole all{.now = now_, .fair = *std::move(found)};
  all.answer = answer_of(all.fair, now_);
  return all;
}

Result<proto::ExplainedTask> Master::State::explain_task(std::string_view name,
                                                         const Principal* by) const {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size()) {
    return Error::invalid_argument(text("a task must be FRAMEWORK/TASK, not ", quoted(name)))
        .with_hint(
            "list tasks with: proffer tasks; for tasks that are not launched yet: proffer explain "
            "framework FRAMEWORK");
  }
  Result<proto::TaskRow> row = find_task(name, by);
  if (row) return explain_known(*std::move(row));
  if (row.error().code() != ErrorCode::kNotFound) return std::move(row).error();
  const Result<const Framework*> framework = frameworks_.named(name.substr(0, slash));
  if (!framework) return framework.error();
  const std::string id(name.substr(slash + 1));
  row = find_task(text((*framework)->id().str(), "/", id), by);
  if (row) return explain_known(*std::move(row));
  if (row.error().code() != ErrorCode::kNotFound) return std::move(row).error();
  return explain_unknown(**framework, TaskId(id));
}

// The task with this name, or else the only one whose name begins so; ended tasks are included.
Result<proto::TaskRow> Master::State::find_task(std::string_view name, const Principal* by) const {
  proto::TaskQuery query{.prefix = std::string(name), .ended = true, .limit = kNamesListedMax + 1};
  std::vector<proto::TaskRow> rows = task_rows(query, by);
  const auto name_of = [](const proto::TaskRow& row) {
    return text(row.framework.str(), "/", row.task.str());
  };
  for (proto::TaskRow& row : rows) {
    if (name_of(row) == name) return std::move(row);
  }
  if (rows.size() == 1) return std::move(rows.front());
  if (rows.empty()) return Error::not_found(text("there is no task ", quoted(name)));
  std::vector<std::string> names;
  for (const proto::TaskRow& row : rows) names.push_back(name_of(row));
  return Error::invalid_argument(text(quoted(name), " matches several tasks: ", listed(names)))
      .with_hint("give more of the id");
}

proto::ExplainedTask Master::State::explain_known(proto::TaskRow row) const {
  proto::ExplainedTask all{.now = now_, .row = std::move(row)};
  all.agents = static_cast<int64_t>(agents_.all().size());
  const TaskKey key{all.row.framework, all.row.task};
  const std::string why = all.row.message.empty() ? "" : text(": ", all.row.message);
  const Task* const task = tasks_.find(key);
  if (task == nullptr || task->ended()) {
    all.answer = text("it has ended: ", proto::to_text(all.row.state), ", ",
                      proto::to_text(all.row.reason), why);
    return all;
  }
  if (task->held) {
    all.standing = allocator_.explain_task(task->agent, key.framework, key.task, now_);
  }
  if (const std::optional<RevokeMark>& mark = task->ending->revoke) {
    all.notice = proto::ExplainedNotice{mark->reason, mark->beneficiary, mark->deadline};
  }
  const Agent* const agent = agents_.find(task->agent);
  if (agent != nullptr) all.drained_by = agent->drained_by;
  if (task->kill_asked) {
    const KillCause& cause = task->ending->kill_cause;
    all.answer = text("it is being killed", cause.why.empty() ? text(": ", proto::to_text(cause.by))
                                                              : text(": ", cause.why));
  } else if (all.notice) {
    all.answer = answer_of(*all.notice, task->agent, now_);
  } else if (task->state == proto::TaskState::kUnreachable) {
    all.answer =
        text("its agent ", task->agent.str(), " is unreachable: the task may still run", why);
  } else if (task->state == proto::TaskState::kStaging) {
    all.answer = text("it is being started on agent ", task->agent.str(), why);
  } else if (all.standing) {
    all.answer = answer_of(*all.standing, now_);
  } else {
    all.answer = text("it is ", proto::to_text(task->state), why);
  }
  return all;
}

Result<proto::ExplainedTask> Master::State::explain_unknown(const Framework& framework,
                                                            const TaskId& id) const {
  FrameworkExplanation fair = allocator_.explain(framework.id(), now_);
  if (fair.asks.empty()) {
    const proto::TaskQuery query{.prefix = text(framework.id().str(), "/"), .ended = true};
    std::vector<std::string> names;
    for (const proto::TaskRow& row : tasks_.rows(query)) names.push_back(row.task.str());
    return Error::not_found(text("the master knows no task ", quoted(id.str()), " of ",
                                 framework.id().str(), ", and the framework has no unmet ask"))
        .with_hint(hint_of(id.str(), names, text("tasks of ", framework.id().str())));
  }
  proto::ExplainedTask all{.now = now_, .is_known = false};
  all.row.framework = framework.id();
  all.row.task = id;
  all.asks = std::move(fair.asks);
  all.agents = fair.agents;
  all.answer =
      text("the master knows no task ", quoted(id.str()), " of ", framework.id().str(),
           ": a task has no id before its launch; ", why_unmet(all.asks.front(), all.agents));
  return all;
}

}  // namespace proffer::master
