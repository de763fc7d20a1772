// Which tasks of an accept are sent: plan_accept(). The master would refuse the others one by one
// too, or, for what breaks a bound of the schema, the whole frame and the session with it.

#include "sdk/core/accept_plan.h"

#include <optional>

#include "common/text.h"
#include "sdk/core/sendable.h"

namespace proffer::sdk {

using proto::TaskReason;

AcceptPlan plan_accept(const proto::Accept& accept, const KnownTasks& tasks) {
  AcceptPlan plan{.accept = {.offers = accept.offers, .refusal = sendable(accept.refusal)}};
  std::vector<proto::Operation>& operations = plan.accept.operations;
  std::set<TaskId> here;
  size_t bytes = 0;

  const auto verdict = [&](const AgentId& agent, const proto::TaskSpec& task,
                           bool is_full) -> std::optional<LocalRefusal> {
    LocalRefusal refusal{
        .task = task.id, .agent = agent, .reason = TaskReason::kTaskInvalid, .message = {}};
    if (const Result<void> checked = check_name("an agent", agent.str()); !checked) {
      refusal.agent = {};
      refusal.message = checked.error().message();
    } else if (const Result<void> valid = check_task(task); !valid) {
      refusal.message = valid.error().message();
    } else if (!tasks.may_launch(task.id) || here.count(task.id) > 0) {
      refusal.reason = TaskReason::kDuplicateTaskId;
      refusal.message = text("task id ", quoted(task.id.str()),
                             " is in use or was; a framework uses each id once");
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
    if (launch == nullptr) continue;
    bool is_open = false;  // whether the last operation of the plan takes further tasks
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

std::vector<LocalRefusal> refuse_all(const proto::Accept& accept, const std::string& why) {
  std::vector<LocalRefusal> refusals;
  for (const proto::Operation& operation : accept.operations) {
    const auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) continue;
    for (const proto::TaskSpec& task : launch->tasks) {
      refusals.push_back({task.id, launch->agent, TaskReason::kOfferNotValid, why});
    }
  }
  return refusals;
}

}  // namespace proffer::sdk
