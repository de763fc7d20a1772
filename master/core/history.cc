// Entries that outlive the master: ended tasks (keep_ended, once their scheduler knows the end),
// and the use and waits of roles (on_role_use_due, each minute). The shell writes them.

#include "master/core/state.h"

namespace proffer::master {
namespace {

// If the master fails, at most one minute of use is lost. Hours and days are whole minutes.
constexpr int64_t kRoleUseNanos = 60'000'000'000;

const DeadlineKey kRoleUseDue = {.kind = DeadlineKind::kRoleUse, .peer = {}, .id = {}};

}  // namespace

void Master::State::keep_ended(const Task& task) {
  if (!options_.keeps_history) return;
  const Framework* framework = frameworks_.find(task.key().framework);
  history_.emplace_back(proto::EndedTask{
      .framework = task.key().framework,
      .framework_name = framework == nullptr ? std::string() : framework->record.name,
      .role = task.claim().role,
      .user = task.text->user,
      .command = task.text->command,
      .ask = task.text->ask,
      .amounts = task.allotment->resources.amounts,
      .launched_at = task.launched_at,
      .waited = task.waited.spans(),
      .status = {.task = task.key().task,
                 .agent = task.agent,
                 .state = task.state,
                 .reason = task.reason,
                 .message = task.report->message,
                 .exit_code = task.report->exit_code,
                 .signal = task.report->signal,
                 .at = task.changed_at,
                 .usage = task.report->usage}});
}

void Master::State::keep_refused(const Framework& framework, const proto::TaskSpec& spec,
                                 const proto::TaskStatus& status) {
  if (!options_.keeps_history) return;
  proto::EndedTask refused{.framework = framework.id(),
                           .framework_name = framework.record.name,
                           .role = framework.record.role,
                           .user = framework.user_of(spec),
                           .command = spec.command.substr(0, kCommandShownBytes),
                           .ask = spec.ask,
                           .amounts = spec.shape,
                           .launched_at = status.at,
                           .waited = {},
                           .status = status};
  refused.status.labels.clear();
  history_.emplace_back(std::move(refused));
}

// The task begins or ends to count in its role.
void Master::State::count_use(const Task& task, bool takes) {
  const RoleName& role = task.claim().role;
  if (!options_.keeps_history || role.empty()) return;
  const ResourceVector& amounts = task.allotment->resources.amounts;
  if (!takes) return role_uses_.give(role, amounts, now_);
  role_uses_.take(role, amounts, now_);
  arm_role_use();
}

void Master::State::arm_role_use() {
  if (std::exchange(are_roles_cut_, true)) return;
  const int64_t past = now_.nanos() % kRoleUseNanos;
  deadlines_.arm(kRoleUseDue, now_ + Duration::nanos(kRoleUseNanos - past));
}

void Master::State::on_role_use_due() {
  are_roles_cut_ = false;
  for (proto::RoleUse& use : role_uses_.cut(now_)) history_.emplace_back(std::move(use));
  for (proto::RoleWait& wait : role_waits_.cut(now_)) history_.emplace_back(std::move(wait));
  if (!role_uses_.empty() || role_waits_.is_anybody_waiting()) arm_role_use();
}

std::vector<proto::HistoryRecord> Master::State::last_history(Time now) {
  now_ = std::max(now_, now);
  std::vector<proto::HistoryRecord> last = std::exchange(history_, {});
  for (proto::RoleUse& use : role_uses_.cut(now_)) last.emplace_back(std::move(use));
  for (proto::RoleWait& wait : role_waits_.cut(now_)) last.emplace_back(std::move(wait));
  last.emplace_back(proto::LifeEnded{.at = now_});
  return last;
}

bool Master::State::may_see_tasks_of(std::string_view user, const Principal* by) const {
  return check_permission(options_.policy, by, Action::kSeeTask, user).has_value();
}

}  // namespace proffer::master
