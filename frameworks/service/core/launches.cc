// From an offer to a launch: on_offer plans instances for the slots that want one and has them
// written down; on_written launches them. A scheduler that is killed in between finds them in the
// store, asks the master about them and hears that nobody runs them.

#include <algorithm>
#include <string>

#include "common/text.h"
#include "frameworks/service/core/state.h"
#include "sdk/store.h"

namespace proffer::service {
namespace {

// What one accept may carry, with room for the frame around it.
constexpr size_t kAcceptBytesMax = kFrameBytesMax - 256 * 1024;
constexpr size_t kTaskOverheadBytes = 1'024;
static_assert(kAcceptBytesMax > kCommandBytesMax + kEnvironmentBytesMax + kTaskOverheadBytes);

// What was asked for is not wanted any more, and the asks will soon say so: without a pause the
// same offer would come again at once.
proto::Decline decline(OfferId offer) {
  return {.offers = {offer}, .refusal = {.refuse_for = seconds(1)}};
}

size_t bytes_of(const AppSpec& app) {
  size_t bytes = kTaskOverheadBytes + app.command.size();
  for (const auto& [name, value] : app.env) bytes += name.size() + value.size() + 32;
  for (const std::string& name : app.ports) bytes += name.size() + 16;
  if (app.health) bytes += app.health->command.size() + app.health->path.size();
  return bytes;
}

}  // namespace

// Nothing but `except` is in it, and nothing comes that we know of.
bool Service::State::is_free(const App& app, int64_t slot, const TaskId& except) {
  const auto found = app.slots.find(slot);
  if (found == app.slots.end()) return false;
  return std::none_of(app.instances.begin(), app.instances.end(), [&](const auto& entry) {
    return entry.second.id.slot == slot && entry.first != except &&
           entry.second.state != InstanceState::kUnreachable && !entry.second.revoked;
  });
}

void Service::State::on_offer(Step& step, const Offer& offer) {
  Launch launch{.offer = offer.id, .agent = offer.agent, .tasks = {}};
  std::vector<proto::StoreOperation> puts;
  size_t bytes = 0;
  for (const AskFill& fill : offer.fills) {
    for (int64_t i = 0; i < fill.count && puts.size() < kStoreOperationsMax; ++i) {
      const std::optional<TaskId> task = plan_instance(step, fill.ask, offer.agent, bytes);
      if (!task) break;
      launch.tasks.push_back(*task);
      RunningApp* app = nullptr;
      puts.push_back(sdk::put(instance_key(*task), encode(record_of(*find(*task, &app)))));
    }
  }
  if (launch.tasks.empty()) {
    step.out.commands.push_back(decline(offer.id));
    return;
  }
  continuations_[journal_.add(std::move(puts))] = std::move(launch);
}

// The next instance for this ask, or nothing if none is wanted or the accept is full.
std::optional<TaskId> Service::State::plan_instance(Step& step, const AskName& ask,
                                                    const AgentId& agent, size_t& bytes) {
  for (auto& [name, running] : apps_) {
    App& app = running.app;
    if (ask != ask_name(name, app.version)) continue;
    while (!running.launches.empty()) {
      const int64_t slot = *running.launches.begin();
      // The plan may be older than the last event.
      if (app.stopping || !is_free(app, slot, TaskId()) ||
          app.slots.at(slot).not_before > step.now) {
        running.launches.erase(slot);
        mark(name);
        continue;
      }
      if (bytes + bytes_of(app.spec) > kAcceptBytesMax) return std::nullopt;
      bytes += bytes_of(app.spec);
      running.launches.erase(slot);
      Instance instance;
      instance.id = InstanceId{.app = name,
                               .version = app.version,
                               .slot = slot,
                               .unique = text(options_.life, 'n', ++launched_)};
      instance.agent = agent;
      instance.has_health_check = app.spec.health.has_value();
      instance.launched_at = step.now;
      TaskId task = to_task_id(instance.id);
      app.instances.emplace(task, std::move(instance));
      mark(name);
      return task;
    }
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
    App& app = running->app;
    mark(app.spec.name);
    if (error) {
      // Not written, so nothing is to be erased.
      const InstanceId id = instance->id;
      app.instances.erase(task);
      const auto slot = app.slots.find(id.slot);
      if (slot == app.slots.end()) continue;
      slot->second.not_before = step.now + kBackoffMin;
      slot->second.why = text("it cannot be written down: ", error->message());
      continue;
    }
    // Not wanted any more, or another version is, or what was out of reach came back meanwhile.
    if (instance->kill_asked || instance->id.version != app.version || app.stopping ||
        !is_free(app, instance->id.slot, task)) {
      app.instances.erase(task);
      erase(instance_key(task));
      asks_stale_ = true;
      continue;
    }
    instance->state = InstanceState::kStaging;
    operation.tasks.push_back(make_task(app.spec, instance->id));
    if (options_.serves_users) operation.tasks.back().user = app.owner;
    trace(step, TraceLevel::kShortLived, "instance launched",
          {{"instance", task.str()}, {"agent", launch.agent.str()}});
    // As the master does when it hears of it.
    const auto declared = std::find_if(declared_.begin(), declared_.end(), [&](const Ask& ask) {
      return ask.name == ask_name(app.spec.name, app.version);
    });
    if (declared != declared_.end() && --declared->count == 0) declared_.erase(declared);
  }
  if (error) {
    trace(step, TraceLevel::kOperator, "instances cannot be written down",
          {{"error", error->message()}});
  }
  if (operation.tasks.empty()) {
    step.out.commands.push_back(decline(launch.offer));
    return;
  }
  step.out.commands.push_back(
      proto::Accept{.offers = {launch.offer}, .operations = {std::move(operation)}, .refusal = {}});
}

}  // namespace proffer::service
