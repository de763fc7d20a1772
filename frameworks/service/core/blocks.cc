// How instances are stored: in blocks, each an entry of the store. Changes that nothing waits for
// are written once at the end of a step, since the cluster reports this state anyway.

#include "common/text.h"
#include "frameworks/service/core/state.h"
#include "sdk/store.h"

namespace proffer::service {

BlockName Service::State::block_name_of(const TaskId& task) {
  InstanceId id = *parse_task_id(task);
  return {.app = std::move(id.app), .number = id.slot / kSlotsPerBlock};
}

InstanceBlock Service::State::block_of(const BlockName& name) const {
  InstanceBlock block;
  const auto app = apps_.find(name.app);
  if (app == apps_.end()) return block;
  for (const TaskId& task : app->second.app.tasks_of_block(name.number)) {
    block[task] = record_of(app->second.app.instances.at(task));
  }
  return block;
}

// The write covers it, so the block is no longer stale.
proto::StoreOperation Service::State::write_of(BlockName name) {
  stale_blocks_.erase(name);
  const InstanceBlock block = block_of(name);
  return block.empty() ? sdk::erase(block_key(name)) : sdk::put(block_key(name), encode(block));
}

void Service::State::write_stale_blocks() {
  while (!stale_blocks_.empty()) journal_.add({write_of(*stale_blocks_.begin())});
}

// Instances that an earlier scheduler stored one by one move into blocks; the blocks are written
// first.
void Service::State::move_into_blocks(const std::vector<TaskId>& tasks) {
  for (const TaskId& task : tasks) write_later(block_name_of(task));
  write_stale_blocks();
  for (const TaskId& task : tasks) erase(text(kInstancesPrefix, task.str()));
}

}  // namespace proffer::service
