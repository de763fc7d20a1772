// What tasks take of their agents, in the allocator's books and in the agents' ports. hold() and
// release() are the only ways but an accept, which settles offers.

#include "master/core/state.h"

namespace proffer::master {

// The agent says that it runs, so it counts, whatever was offered.
void Master::State::hold(Agent& agent, Task& task) {
  CHECK(!task.held && agent.allocatable) << to_text(task.key);
  if (!task.assignment.resources.ports.empty()) {
    PortSet free = agent.free_ports;
    free -= task.assignment.resources.ports;
    set_free_ports(agent, std::move(free));
  }
  allocator_.adopt(agent.id, task.key.framework,
                   {.task = task.key.task,
                    .ask = task.ask,
                    .claim = task.assignment.claim,
                    .since = task.launched_at});
  task.held = true;
  ++frameworks_.find(task.key.framework)->held;
}

void Master::State::release(Task& task) {
  if (!task.held) return;
  Agent& agent = *agents_.find(task.agent);
  give_back(agent, task.key, task.assignment.resources);
  task.held = false;
}

// Does not end a framework that waited for it: forget_if_over() does.
void Master::State::release_stray(Agent& agent, const TaskKey& key) {
  const auto stray = agent.strays.find(key);
  CHECK(stray != agent.strays.end()) << to_text(key);
  give_back(agent, key, stray->second.resources);
  agent.strays.erase(stray);
}

void Master::State::give_back(Agent& agent, const TaskKey& key, const Resources& resources) {
  allocator_.release(agent.id, key.framework, key.task);
  --frameworks_.find(key.framework)->held;
  if (resources.ports.empty()) return;
  // Only those that the agent still brings, and it lists each for one task.
  PortSet taken = agent.ports;
  taken -= agent.free_ports;
  taken -= resources.ports;
  PortSet free = agent.ports;
  free -= taken;
  set_free_ports(agent, std::move(free));
}

void Master::State::set_free_ports(Agent& agent, PortSet free) {
  if (free == agent.free_ports) return;
  agent.free_ports = std::move(free);
  allocator_.set_free_ports(agent.id, agent.free_ports);
}

// What runs there is forgotten by the allocator; the agent tells it again if it comes back.
void Master::State::take_from_allocator(Agent& agent, Step& step) {
  if (!agent.allocatable) return;
  std::set<FrameworkId> fewer;
  for (Task* task : agent.tasks) {
    if (!task->held) continue;
    task->held = false;
    --frameworks_.find(task->key.framework)->held;
  }
  for (const auto& [key, stray] : agent.strays) {
    --frameworks_.find(key.framework)->held;
    fewer.insert(key.framework);
  }
  agent.strays.clear();
  agent.allocatable = false;
  agent.free_ports = agent.ports;
  most_ -= agent.most;
  agent.most = ResourceVector();
  allocator_.remove_agent(agent.id);
  report_dirty(step);
  for (const FrameworkId& id : fewer) forget_if_over(*frameworks_.find(id));
}

}  // namespace proffer::master
