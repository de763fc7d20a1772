// Decides which tasks of an accept are sent: plan_accept(). The master would refuse the others too:
// one by one, or, if a bound of the schema is broken, with the whole frame and the session.

#include "sdk/core/accept_plan.h"

#include <optional>

#include "common/roles.h"
#include "common/text.h"
#include "sdk/core/sendable.h"

namespace proffer::sdk {

using proto::TaskReason;

namespace {

template <class Reservation>
Result<void> check_parts(const Reservation& part) {
  if (Result<void> r = check_name("an agent", part.agent.str()); !r) return r;
  if (Result<RoleName> r = parse_role(part.role.str()); !r) return std::move(r).error();
  return check_shape(part.amounts);
}

Result<void> check_reservation(const proto::Operation& operation) {
  if (const auto* reserve = std::get_if<proto::Reserve>(&operation)) return check_parts(*reserve);
  return check_parts(std::get<proto::Unreserve>(operation));
}

}  // namespace

AcceptPlan plan_accept(const proto::Accept& accept, const KnownTasks& tasks) {
  AcceptPlan plan{.accept = {.offers = accept.offers, .refusal = sendable(accept.refusal)}};
  std::vector<proto::Operation>& operations = plan.accept.operations;
  std::set<TaskId> here;
  size_t bytes = 0;

  const auto verdict = [&](const AgentId& agent, const proto::TaskSpec& task,
                           bool is_full) -> std::optional<LocalRefusal> {
    LocalRefusal refusal{.task = task.id,
                         .agent = agent,
                         .reason = TaskReason::kTaskInvalid,
                         .message = {},
                         .labels = task.labels};
    if (const Result<void> checked = check_name("an agent", agent.str()); !checked) {
      refusal.agent = {};
      refusal.message = checked.error().message();
    } else if (const Result<void> valid = check_task(task); !valid) {
      refusal.message = valid.error().message();
    } else if (!tasks.may_launch(task.id) || here.count(task.id) > 0) {
      refusal.reason = TaskReason::kDuplicateTaskId;
      refusal.message = text("task id ", quoted(task.id.str()),
                             " is in use or was used before; a framework uses each id once");
    } else if (is_full || bytes + bytes_of(task) > kSendableBytesMax) {
      refusal.message =
          text("the tasks of one accept must fit in one message: ", kSendableBytesMax / 1024,
               " KiB and ", kOperationsMax, " launches");
    } else {
      return std::nullopt;
    }
    return refusal;
  };

  for (const proto::Operation& operation : accept.operations) {
    const auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) {
      Result<void> checked = check_reservation(operation);
      if (checked && operations.size() == kOperationsMax) {
        checked = Error::resource_exhausted(
            text("an accept has at most ", kOperationsMax, " operations"));
      }
      if (checked) {
        operations.push_back(operation);
      } else {
        plan.complaints.push_back(std::move(checked).error());
      }
      continue;
    }
    bool is_open = false;  // the last operation of the plan takes further tasks
    for (const proto::TaskSpec& task : launch->tasks) {
      if (is_open &&
          std::get<proto::Launch>(operations.back()).tasks.size() == kTasksPerMessageMax) {
        is_open = false;
      }
      const bool is_full = !is_open && operations.size() == kOperationsMax;
      if (std::optional<LocalRefusal> refusal = verdict(launch->agent, task, is_full)) {
        plan.refusals.push_back(std::move(*refusal));
        continue;
      }
      bytes += bytes_of(task);
      here.insert(task.id);
      if (!is_open) operations.push_back(proto::Launch{.agent = launch->agent, .tasks = {}});
      is_open = true;
      std::get<proto::Launch>(operations.back()).tasks.push_back(task);
    }
  }
  return plan;
}

std::vector<LocalRefusal> refuse_all(const proto::Accept& accept, const std::string& why,
                                     TaskReason reason) {
  std::vector<LocalRefusal> refusals;
  for (const proto::Operation& operation : accept.operations) {
    const auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) continue;
    for (const proto::TaskSpec& task : launch->tasks) {
      refusals.push_back({task.id, launch->agent, reason, why, task.labels});
    }
  }
  return refusals;
}

}  // namespace proffer::sdk
