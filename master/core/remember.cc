// Writes entries into the store of a framework that remembers its tasks, always in the step that
// they describe. remembered.h describes the entries.

#include "master/core/state.h"

namespace proffer::master {

// nullptr: it does not remember tasks.
const FrameworkStore* Master::State::remembered_by(const Framework& framework) const {
  return framework.remembers_tasks() ? &registry_.stores().of(framework.id()) : nullptr;
}

// Launched tasks without an acknowledged end that are in no table: they are of an earlier master.
// O(entries of its store).
std::vector<TaskId> Master::State::remembered_and_unknown(const Framework& framework) const {
  std::vector<TaskId> found;
  const FrameworkStore* store = remembered_by(framework);
  if (store == nullptr) return found;
  for (auto at = store->entries.lower_bound(std::string(kRememberedPrefix));
       at != store->entries.end() && at->first.starts_with(kRememberedPrefix); ++at) {
    const TaskId task(at->first.substr(kRememberedPrefix.size()));
    if (!is_valid_name(task.str()) || tasks_.find({framework.id(), task}) != nullptr) continue;
    if (!find_remembered(*store, task)->end) found.push_back(task);
  }
  return found;
}

// False if its end was acknowledged, or it was launched on another agent, or before the agent was
// removed: its framework got an end, and may have launched a replacement.
bool Master::State::may_run_on(const Agent& agent, const Framework& framework,
                               const TaskId& task) const {
  const FrameworkStore* store = remembered_by(framework);
  if (store == nullptr) return true;
  const std::optional<RememberedTask> known = find_remembered(*store, task);
  if (!known) return true;  // The framework has erased the entry.
  return !known->end && known->agent == agent.id && known->admission == agent.admission;
}

void Master::State::remember(const Framework& framework, const TaskId& task,
                             const RememberedTask& what, Step& step) {
  write(proto::StoreRecord{.framework = framework.id(),
                           .key = remembered_key(task),
                           .value = remembered_value(what),
                           .version = ++store_version_},
        false, step);
}

// Its scheduler has acknowledged the end. A refused task never began, so its id is free.
void Master::State::remember_end(const Task& task, Step& step) {
  const Framework& framework = *frameworks_.find(task.key().framework);
  if (!framework.remembers_tasks()) return;
  if (task.state == proto::TaskState::kRefused) {
    return forget_launch(framework, task.key().task, step);
  }
  remember(framework, task.key().task, {.agent = task.agent, .end = task.state}, step);
}

void Master::State::forget_launch(const Framework& framework, const TaskId& task, Step& step) {
  const std::string key = remembered_key(task);
  if (registry_.stores().of(framework.id()).entries.count(key) == 0) return;
  write(proto::StoreRecord{.framework = framework.id(), .key = key}, true, step);
}

}  // namespace proffer::master
