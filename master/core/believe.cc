// Whether the master believes an agent that reports a task which this master did not launch. A
// ticket proves that a master launched it; so does an entry of the framework's store. The
// framework's scheduler may confirm it, too (on_reconcile). Until then the task is hidden: it runs
// and counts on its agent, but its framework is not charged with it and gets no updates, it is not
// in the history, and no files are opened for it. Begin with believe().

#include <algorithm>

#include "common/hex.h"
#include "common/sha256.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

// The time in which a connected scheduler must name its tasks.
constexpr Duration kConfirmPatience = minutes(1);

constexpr size_t kTicketBytes = 16;

DeadlineKey deadline_of(const FrameworkId& framework) {
  return {.kind = DeadlineKind::kHiddenTasks, .peer = {}, .id = framework.str()};
}

// Includes the length of each part, so that two different launches cannot give the same text.
void add_part(std::string& words, std::string_view part) {
  words += text(part.size(), ':');
  words += part;
}

void add_part(std::string& words, const Resources& resources) {
  for (const ResourceKind kind : kResourceKinds) words += text(resources.amounts[kind], ',');
  for (const GpuDevice& device : resources.gpus)
    words += text(device.index, '=', device.milli, ',');
  for (const PortRange& range : resources.ports.ranges()) {
    words += text(range.first, '-', range.last, ',');
  }
  words += ';';
}

}  // namespace

Payer payer_of(const TaskKey& key, bool is_hidden) {
  if (!is_hidden) return {.framework = key.framework, .task = key.task};
  return {.framework = kNobodysFramework, .task = TaskId(to_text(key))};
}

// The ticket in `assignment` is ignored.
std::string Master::State::ticket_of(const Framework& framework, const TaskId& task,
                                     const Agent& agent,
                                     const proto::Assignment& assignment) const {
  const proto::FrameworkRecord& record = framework.record;
  std::string words;
  for (const std::string_view part :
       {std::string_view(framework.id().str()), std::string_view(task.str()),
        std::string_view(agent.id.str()), std::string_view(assignment.user),
        std::string_view(assignment.claim.role.str())}) {
    add_part(words, part);
  }
  words += text(agent.admission, ' ', assignment.launched_at.nanos(), ' ',
                assignment.claim.priority, ' ', static_cast<int>(assignment.claim.band), ' ',
                assignment.claim.gang, ' ', assignment.claim.max_run_time.nanos(), ' ');
  add_part(words, assignment.resources);
  for (const Slice& slice : assignment.claim.slices) {
    add_part(words, slice.reserved_for.str());
    words += slice.revocable ? 'r' : 's';
    add_part(words, slice.resources);
  }
  const Secret& key = record.ticket_key.empty() ? record.secret : record.ticket_key;
  return to_hex(hmac_sha256(key.str(), words).substr(0, kTicketBytes));
}

bool Master::State::has_ticket(const Agent& agent, const Framework& framework,
                               const proto::AgentTask& told) const {
  if (told.ticket.empty()) return false;
  return same_in_constant_time(told.ticket, ticket_of(framework, told.task, agent,
                                                      {.resources = told.resources,
                                                       .claim = told.claim,
                                                       .user = told.user,
                                                       .launched_at = told.launched_at}));
}

// Why no master can have launched this task on the agent; empty: a master may have.
std::string Master::State::why_not_launched(const Agent& agent, const Framework& framework,
                                            const proto::AgentTask& told) const {
  const std::string& user = told.user.empty() ? framework.record.user : told.user;
  if (user != framework.record.user && !framework.record.users.contains(user)) {
    return text("framework ", framework.id().str(), " does not run tasks of user ", quoted(user));
  }
  const bool is_root = agent.by == nullptr || (agent.by->uid == 0 && !agent.by->is_unproven);
  if (is_root || user == agent.by->user) return {};
  return text("agent ", agent.id.str(), " runs tasks of user ", quoted(agent.by->user), " only");
}

Belief Master::State::believe(const Agent& agent, const Framework& framework,
                              const proto::AgentTask& told) const {
  if (has_ticket(agent, framework, told)) return Belief::kLaunched;
  if (!why_not_launched(agent, framework, told).empty()) return Belief::kInvented;
  const FrameworkStore* store = remembered_by(framework);
  // may_run_on() has already compared the agent.
  if (store != nullptr && find_remembered(*store, told.task)) return Belief::kLaunched;
  const auto asked = framework.waiting.find(told.task);
  if (asked != framework.waiting.end() && asked->second.agent == agent.id) {
    return Belief::kLaunched;
  }
  return framework.has_tickets() ? Belief::kHidden : Belief::kUnconfirmed;
}

// The scheduler has named the task and its agent.
void Master::State::confirm(Task& task, Step& step) {
  Framework& framework = *frameworks_.find(task.key().framework);
  task.unconfirmed = false;
  step.trace(TaskConfirmed{task.key().framework, task.key().task, task.agent});
  if (!task.hidden) return;
  Agent* agent = agents_.find(task.agent);
  const bool was_held = task.held;
  release(task);
  task.hidden = false;
  --framework.hidden;
  TaskAllotment allotment = *task.allotment;
  allotment.claim = plain_claim(framework.record.role, allotment.resources);
  task.allotment = tasks_.share(std::move(allotment));
  task.report.change([](TaskReport& report) { report.message.clear(); });
  if (!task.text->executor.empty()) framework.executor_agents.insert(task.agent);
  if (was_held) hold(*agent, task);
}

// No master launched it: it is killed, and only the log mentions it.
void Master::State::disbelieve(Task& task, const std::string& why, Step& step) {
  const TaskKey key = task.key();
  const proto::AgentTask told{.framework = key.framework,
                              .task = key.task,
                              .state = task.state,
                              .resources = task.allotment->resources};
  step.trace(TaskDisbelieved{key.framework, key.task, task.agent, why});
  Agent* agent = agents_.find(task.agent);
  release(task);
  forget(task);
  if (agent != nullptr && agent->connected()) kill_stray(*agent, told, step);
}

// Removes the task from the table, without a row among the ended tasks.
void Master::State::forget(Task& task) {
  drop_pending(task);
  unmark(task);
  if (Agent* agent = agents_.find(task.agent)) agent->tasks.erase(task);
  Framework& framework = *frameworks_.find(task.key().framework);
  --framework.tasks;
  if (task.hidden) --framework.hidden;
  tasks_.forget(task);
  forget_if_over(framework);
}

void Master::State::watch_hidden(const Framework& framework, Step& step) {
  if (framework.hidden == 0 || !framework.connected()) return;
  const DeadlineKey key = deadline_of(framework.id());
  if (!deadlines_.armed(key)) deadlines_.arm(key, step.now + kConfirmPatience);
}

// The time for its scheduler to name them is over.
void Master::State::on_hidden_due(const FrameworkId& id, Step& step) {
  const Framework* framework = frameworks_.find(id);
  if (framework == nullptr || framework->gone || !framework->connected()) return;
  const Time due = framework->subscribed_at + kConfirmPatience;
  if (framework->hidden > 0 && due > step.now) return deadlines_.arm(deadline_of(id), due);
  for (Task* task : tasks_.of(id)) {
    if (task->hidden) disbelieve(*task, "its scheduler does not know the task", step);
  }
}

// Gives a ticket key to frameworks that an older master made, as soon as each of their tasks is
// known to have been launched with a ticket.
void Master::State::give_ticket_keys(Step& step) {
  if (awaited_ > 0) return;
  for (const auto& [id, agent] : agents_.all()) {
    if (!agent.keeps_tickets) return;
  }
  for (auto& [id, framework] : frameworks_.all()) {
    if (framework.gone || framework.has_tickets()) continue;
    const std::vector<Task*> tasks = tasks_.of(id);
    if (std::any_of(tasks.begin(), tasks.end(), [](const Task* t) { return t->unconfirmed; })) {
      continue;
    }
    proto::FrameworkRecord record = framework.record;
    record.ticket_key = record.secret;
    frameworks_.set_record(framework, record);
    if (framework.durable()) write(std::move(record), false, step);
  }
}

}  // namespace proffer::master
