// The progress of an update: judge. A version that was ready as a whole becomes the target of
// rollbacks; a version without progress has failed.

#include <algorithm>
#include <set>
#include <utility>

#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {
namespace {

// This many consecutive failures of an instance suffice, if no instance of its version was ever
// ready.
constexpr int32_t kFailuresMax = 3;

std::string words_of(int64_t slot, const Attempts& attempts) {
  return text("instance ", slot, ": ", attempts.why,
              attempts.failures > 1 ? text(", ", attempts.failures, " times in a row") : "");
}

// The present version's slot with the most consecutive failures.
std::string worst_failure(const App& app) {
  const auto worst = std::max_element(app.slots.begin(), app.slots.end(), [](auto& a, auto& b) {
    return a.second.present.failures < b.second.present.failures;
  });
  if (worst == app.slots.end() || worst->second.present.failures == 0) return "";
  return words_of(worst->first, worst->second.present);
}

}  // namespace

void keep_way_back(AppRecord& record, const App& app) {
  if (record.ready_version != 0 || app.stopping || app.wanted() == 0) return;
  std::set<int64_t> ready;
  for (const auto& [task, instance] : app.instances) {
    if (instance.is_ready() && instance.id.version == app.version) ready.insert(instance.id.slot);
  }
  const bool is_whole = std::all_of(app.slots.begin(), app.slots.end(),
                                    [&](const auto& slot) { return ready.contains(slot.first); });
  if (!is_whole || static_cast<int64_t>(app.slots.size()) < app.wanted()) return;
  record.ready_version = app.version;
  record.was_ready = true;
}

std::string move_to(AppRecord& record, Versions& earlier, const AppSpec& spec, Time now,
                    const std::string& by) {
  earlier[record.version] = present_of(record);
  const std::optional<uint64_t> same = find_version(earlier, spec);
  const auto known = same ? earlier.extract(*same) : Versions::node_type();
  record.version = same ? *same : ++record.last_version;
  record.was_ready = same && known.mapped().was_ready;
  record.spec = spec;
  record.applied_at = now;
  record.applied_by = by;
  record.failed.clear();
  record.hold.reset();
  const bool has_before = record.ready_version != 0 && record.ready_version != record.version;
  if (spec.update.canary > 0 && has_before) {
    record.hold = Hold{.slots = spec.update.canary, .is_canary = true};
  }
  trim(earlier, record.ready_version);
  return text(same ? "rolled back to version " : "updated to version ", record.version);
}

// Why the update has failed; none while it continues, which is checked again in time.
std::optional<std::string> Service::State::why_failed(Step& step, RunningApp& running,
                                                      const Plan& plan) const {
  const App& app = running.app;
  const bool is_further = plan.updated > running.updated;
  running.updated = std::max(running.updated, plan.updated);
  if (running.updated == 0) {
    for (const auto& [number, slot] : app.slots) {
      if (slot.present.failures < kFailuresMax) continue;
      return words_of(number, slot.present);
    }
  }
  // The clock is stopped while the update is not to blame: while it is held and its canaries exist,
  // while its instances are not launched because the running ones are not known yet, and while it
  // waits for a drain or a preemption.
  const bool is_canary = app.hold && app.hold->is_canary;
  const bool waits = (app.hold && !is_canary) || settled_at_.has_value() ||
                     plan.waits_for_revoked ||
                     (is_canary && plan.updated >= std::min(app.hold->slots, app.wanted()));
  if (!running.updated_at || is_further || waits) running.updated_at = step.now;
  const Duration deadline = app.spec.update.progress_deadline;
  if (waits || deadline == Duration()) return std::nullopt;
  const Time fails_at = *running.updated_at + deadline;
  if (fails_at <= step.now) {
    const std::string failure = worst_failure(app);
    return text("no further instance became ready within ", to_text(deadline),
                !failure.empty()   ? text("; ", failure)
                : plan.why.empty() ? ""
                                   : text(": ", plan.why));
  }
  running.look_again = std::min(running.look_again.value_or(fails_at), fails_at);
  return std::nullopt;
}

void Service::State::judge(Step& step, RunningApp& running, const Plan& plan) {
  const App& app = running.app;
  if (app.stopping || app.waits || running.is_judged || app.ready_version == app.version) return;
  if (step.now < running.judge_at) {
    running.look_again = std::min(running.look_again.value_or(running.judge_at), running.judge_at);
    return;
  }
  Judge judge{.app = app.spec.name, .version = app.version, .failed = {}};
  if (!plan.is_whole) {
    if (!app.failed.empty()) return;
    std::optional<std::string> why = why_failed(step, running, plan);
    if (!why) return;
    judge.failed = std::move(*why).substr(0, kWhyBytesMax);
  }
  running.is_judged = true;
  requests_.push_back(Request{.relay = 0, .change = std::move(judge), .by = {}});
  next_request(step);
}

}  // namespace proffer::service
