// The resources that tasks hold on their agents, in the allocator's accounts. Resources are taken
// and released only by hold(), release() and accepts, which settle offers.

#include "common/check.h"
#include "master/core/state.h"

namespace proffer::master {

// The agent reports that the task runs, so it counts, even if no offer covers it.
void Master::State::hold(Agent& agent, Task& task) {
  CHECK(!task.held && agent.allocatable) << to_text(task.key());
  const Payer payer = payer_of(task.key(), task.hidden);
  Framework* framework = frameworks_.find(payer.framework);
  if (framework == nullptr) framework = &gone_framework(payer.framework);
  allocator_.adopt(agent.id, payer.framework,
                   {.task = payer.task,
                    .ask = task.hidden ? AskName() : task.text->ask,
                    .claim = task.claim(),
                    .since = task.launched_at,
                    .ports = task.allotment->resources.ports});
  task.held = true;
  if (!task.hidden) count_use(task, true);
  ++framework->held;
}

void Master::State::release(Task& task) {
  if (!task.held) return;
  Agent& agent = *agents_.find(task.agent);
  give_back(agent, task.key(), task.hidden);
  task.held = false;
  if (!task.hidden) count_use(task, false);
}

// Does not forget a gone framework that waited for it: forget_if_over() does.
void Master::State::release_stray(Agent& agent, const TaskKey& key) {
  const auto stray = agent.strays.find(key);
  CHECK(stray != agent.strays.end()) << to_text(key);
  give_back(agent, key, stray->second.is_hidden);
  agent.strays.erase(stray);
}

void Master::State::give_back(const Agent& agent, const TaskKey& key, bool is_hidden) {
  const Payer payer = payer_of(key, is_hidden);
  allocator_.release(agent.id, payer.framework, payer.task);
  Framework& framework = *frameworks_.find(payer.framework);
  --framework.held;
  if (is_hidden) forget_if_over(framework);
}

// The allocator forgets the agent's tasks; the agent reports them again if it comes back.
void Master::State::take_from_allocator(Agent& agent, Step& step) {
  if (!agent.allocatable) return;
  std::set<FrameworkId> fewer;
  for (Task* task : agent.tasks) {
    if (!task->held) continue;
    if (!task->hidden) count_use(*task, false);
    task->held = false;
    const FrameworkId payer = payer_of(task->key(), task->hidden).framework;
    --frameworks_.find(payer)->held;
    if (task->hidden) fewer.insert(payer);
  }
  for (const auto& [key, stray] : agent.strays) {
    const FrameworkId payer = payer_of(key, stray.is_hidden).framework;
    --frameworks_.find(payer)->held;
    fewer.insert(payer);
  }
  agent.strays.clear();
  agent.allocatable = false;
  most_ -= agent.most;
  agent.most = ResourceVector();
  allocator_.remove_agent(agent.id);
  report_dirty(step);
  for (const FrameworkId& id : fewer) forget_if_over(*frameworks_.find(id));
}

}  // namespace proffer::master
