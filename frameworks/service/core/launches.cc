// From an offer to a launch: on_offer plans instances for the slots that want one and writes them;
// on_written launches them. A scheduler that is killed in between finds them in the store, asks the
// master about them, and learns that they do not run.

#include <algorithm>
#include <string>

#include "common/text.h"
#include "frameworks/service/core/files.h"
#include "frameworks/service/core/state.h"
#include "frameworks/service/core/trace.h"
#include "proto/task_group.h"
#include "sdk/store.h"

namespace proffer::service {
namespace {

// The most that one accept may carry, with room for the frame around it.
constexpr size_t kAcceptBytesMax = kFrameBytesMax - 256 * 1024;
constexpr size_t kTaskOverheadBytes = 1'024;
static_assert(kAcceptBytesMax > kCommandBytesMax + kAppEnvironmentBytesMax + kFoundBytesMax +
                                    kFilesScriptBytesMax + proto::kGroupBytesMax +
                                    kTaskOverheadBytes);

// The asked instances are not wanted any more, and the next asks will show this. Without a pause
// the same offer would come again at once.
proto::Decline decline(OfferId offer) {
  return {.offers = {offer}, .refusal = {.refuse_for = seconds(1)}};
}

// The lowest slot that wants an instance of this version.
std::optional<int64_t> next_launch(const RunningApp& running, uint64_t version) {
  for (const auto& [slot, wanted] : running.launches) {
    if (wanted == version) return slot;
  }
  return std::nullopt;
}

size_t launch_bytes(const AppSpec& app) {
  size_t bytes = kTaskOverheadBytes + app.command.size();
  for (const auto& [name, value] : app.env) bytes += name.size() + value.size() + 32;
  for (const std::string& name : app.ports) bytes += 2 * name.size() + 40;
  for (const proto::SecretUse& use : app.secrets) {
    bytes += use.name.size() + use.variable.size() + use.file.size() + 48;
  }
  if (app.health) bytes += app.health->command.size() + app.health->path.size();
  if (!app.find.empty()) bytes += kFoundBytesMax;
  if (!app.files.empty()) bytes += kFilesScriptBytesMax;
  for (const std::string& command : app.init) bytes += command.size() + 64;
  for (const auto& [name, command] : app.sidecars) bytes += name.size() + command.size() + 64;
  return bytes;
}

}  // namespace

// True if the slot contains only `except`, or an instance that may be beside it, and no known
// instance will come.
bool Service::State::is_free(const RunningApp& running, int64_t slot, uint64_t version,
                             const TaskId& except) {
  const App& app = running.app;
  if (app.slots.count(slot) == 0) return false;
  const bool is_shared = running.shared.count(slot) > 0;
  const std::set<TaskId>& tasks = app.tasks_of_block(slot / kSlotsPerBlock);
  return std::none_of(tasks.begin(), tasks.end(), [&](const TaskId& task) {
    const Instance& other = app.instances.at(task);
    return other.id.slot == slot && task != except && other.state != InstanceState::kUnreachable &&
           !other.revoked && !(is_shared && other.id.version != version && !other.is_ending());
  });
}

void Service::State::on_offer(Step& step, const Offer& offer) {
  Launch launch{.offer = offer.id, .agent = offer.agent, .tasks = {}};
  std::set<BlockName> blocks;
  size_t bytes = 0;
  for (const AskFill& fill : offer.fills) {
    for (int64_t i = 0; i < fill.count && launch.tasks.size() < kStoreOperationsMax; ++i) {
      const std::optional<TaskId> task = plan_instance(step, fill.ask, offer, bytes);
      if (!task) break;
      blocks.insert(block_name_of(*task));
      launch.tasks.push_back(*task);
    }
  }
  if (launch.tasks.empty()) {
    step.out.commands.push_back(decline(offer.id));
    return;
  }
  std::vector<proto::StoreOperation> writes;
  for (const BlockName& block : blocks) writes.push_back(write_of(block));
  continuations_[journal_.add(std::move(writes))] = std::move(launch);
}

// The next instance for this ask; none if no instance is wanted or the accept is full.
std::optional<TaskId> Service::State::plan_instance(Step& step, const AskName& ask,
                                                    const Offer& offer, size_t& bytes) {
  const auto [found, version] = find_ask(ask);
  if (found == nullptr) return std::nullopt;
  RunningApp& running = *found;
  App& app = running.app;
  const std::string& name = app.spec.name;
  const AppSpec spec = app.spec_of(version);
  if (!neighbours_of(spec, app.owner).allow(offer.agent.str())) return std::nullopt;
  const auto next = [&, of = version] {
    return spec.daemon ? daemon_slot(step, running, of, offer.agent) : next_launch(running, of);
  };
  while (const std::optional<int64_t> slot = next()) {
    // The plan may be older than the last event.
    if (app.stopping || !is_free(running, *slot, version, TaskId()) ||
        app.attempts(*slot, version)->not_before > step.now) {
      running.launches.erase(*slot);
      mark(name);
      continue;
    }
    if (app.tasks_of_block(*slot / kSlotsPerBlock).size() >= kInstancesPerBlockMax) {
      Attempts& attempts = *app.attempts(*slot, version);
      attempts.not_before = step.now + kBackoffMax;
      attempts.why =
          text(kInstancesPerBlockMax, " earlier instances of this block of slots have not ended");
      running.launches.erase(*slot);
      mark(name);
      continue;
    }
    if (bytes + launch_bytes(spec) > kAcceptBytesMax) return std::nullopt;
    bytes += launch_bytes(spec);
    running.launches.erase(*slot);
    Instance instance;
    instance.id = InstanceId{.app = name,
                             .version = version,
                             .slot = *slot,
                             .unique = text(options_.life, 'n', ++launched_)};
    instance.agent = offer.agent;
    instance.host = offer.host;
    instance.has_health_check = spec.health.has_value();
    instance.launched_at = step.now;
    const TaskId task = to_task_id(instance.id);
    app.add(task, std::move(instance));
    running.planned.insert(task);
    mark(name);
    return task;
  }
  return std::nullopt;
}

void Service::State::on_written(Step& step, const Launch& launch,
                                const std::optional<Error>& error) {
  proto::Launch operation{.agent = launch.agent, .tasks = {}};
  for (const TaskId& task : launch.tasks) {
    RunningApp* running = nullptr;
    Instance* instance = find(task, &running);
    if (instance == nullptr) continue;
    running->planned.erase(task);
    App& app = running->app;
    mark(app.spec.name);
    const InstanceId id = instance->id;
    if (error) {
      // A later write of its block, for another reason, may contain it.
      app.remove(task);
      write_later(block_name_of(task));
      Attempts* attempts = app.attempts(id.slot, id.version);
      if (attempts == nullptr) continue;
      attempts->not_before = step.now + kBackoffMin;
      attempts->why = text("it cannot be stored: ", error->message());
      continue;
    }
    // It is not wanted any more, or another version is, or an unreachable instance came back
    // meanwhile.
    if (instance->kill_asked || !app.is_wanted(id.version) || app.stopping ||
        !is_free(*running, id.slot, id.version, task)) {
      app.remove(task);
      write_later(block_name_of(task));
      asks_stale_ = true;
      continue;
    }
    instance->state = InstanceState::kStaging;
    const AppSpec spec = app.spec_of(id.version);
    operation.tasks.push_back(make_task(spec, id));
    operation.tasks.back().environment.merge(found_servers(spec, id.slot));
    if (options_.serves_users) operation.tasks.back().user = app.owner;
    step.trace(InstanceLaunched{task, launch.agent});
    // As the master does when it receives it.
    const auto declared = std::find_if(declared_.begin(), declared_.end(), [&](const Ask& ask) {
      return ask.name == ask_name(app.spec.name, id.version);
    });
    if (declared != declared_.end() && --declared->count == 0) declared_.erase(declared);
  }
  if (error) step.trace(InstancesCannotBeWritten{error->message()});
  if (operation.tasks.empty()) {
    step.out.commands.push_back(decline(launch.offer));
    return;
  }
  step.out.commands.push_back(
      proto::Accept{.offers = {launch.offer}, .operations = {std::move(operation)}, .refusal = {}});
}

}  // namespace proffer::service
