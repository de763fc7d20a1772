// What tasks take of their agents, in the allocator's books. hold() and release() are the only ways
// but an accept, which settles offers.

#include "common/check.h"
#include "master/core/state.h"

namespace proffer::master {

// The agent says that it runs, so it counts, whatever was offered.
void Master::State::hold(Agent& agent, Task& task) {
  CHECK(!task.held && agent.allocatable) << to_text(task.key());
  allocator_.adopt(agent.id, task.key().framework,
                   {.task = task.key().task,
                    .ask = task.text->ask,
                    .claim = task.claim(),
                    .since = task.launched_at,
                    .ports = task.allotment->resources.ports});
  task.held = true;
  count_use(task, true);
  ++frameworks_.find(task.key().framework)->held;
}

void Master::State::release(Task& task) {
  if (!task.held) return;
  Agent& agent = *agents_.find(task.agent);
  give_back(agent, task.key());
  task.held = false;
  count_use(task, false);
}

// Does not end a framework that waited for it: forget_if_over() does.
void Master::State::release_stray(Agent& agent, const TaskKey& key) {
  const auto stray = agent.strays.find(key);
  CHECK(stray != agent.strays.end()) << to_text(key);
  give_back(agent, key);
  agent.strays.erase(stray);
}

void Master::State::give_back(const Agent& agent, const TaskKey& key) {
  allocator_.release(agent.id, key.framework, key.task);
  --frameworks_.find(key.framework)->held;
}

// What runs there is forgotten by the allocator; the agent tells it again if it comes back.
void Master::State::take_from_allocator(Agent& agent, Step& step) {
  if (!agent.allocatable) return;
  std::set<FrameworkId> fewer;
  for (Task* task : agent.tasks) {
    if (!task->held) continue;
    count_use(*task, false);
    task->held = false;
    --frameworks_.find(task->key().framework)->held;
  }
  for (const auto& [key, stray] : agent.strays) {
    --frameworks_.find(key.framework)->held;
    fewer.insert(key.framework);
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
