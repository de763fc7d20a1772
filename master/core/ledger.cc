// The ledger of waiting. Each handler that changes an ask's wanted or offered tasks calls
// refresh_ledger(), and look_at_waits() periodically asks the allocator why asks wait.

#include <algorithm>
#include <utility>

#include "master/core/state.h"

namespace proffer::master {
namespace {

// The interval at which a waiting ask is examined, unless there are too many.
constexpr Duration kLookEvery = seconds(1);
// kLooksMax limits the examinations per span.
constexpr Duration kLooksSpan = milliseconds(100);
constexpr int64_t kLooksMax = 64;
// The first examination after a change of agents may go through all agents, so it counts more.
constexpr int64_t kAgentsPerLook = 64;

}  // namespace

void Master::State::count_waiting(Framework& framework, const RoleName& role, WaitReason reason,
                                  int64_t count, Time now) {
  if (count == 0) return;
  framework.wait_totals.change(reason, count, now);
  role_waits_.change(role, reason, count, now);
  if (options_.keeps_history) arm_role_use();
}

// Applies `change(AskWait&)` and updates the sums.
template <class Change>
auto Master::State::change_wait(Framework& framework, LedgerEntry& entry, Time now, Change change) {
  AskWait& wait = entry.wait;
  const WaitReason reason = wait.reason();
  const int64_t lacking = wait.lacking();
  const int64_t offered = wait.offered();
  auto result = change(wait);
  if (wait.reason() == reason) {
    count_waiting(framework, entry.role, reason, wait.lacking() - lacking, now);
  } else {
    count_waiting(framework, entry.role, reason, -lacking, now);
    count_waiting(framework, entry.role, wait.reason(), wait.lacking(), now);
  }
  count_waiting(framework, entry.role, WaitReason::kScheduler, wait.offered() - offered, now);
  return result;
}

void Master::State::end_entry(Framework& framework, LedgerEntry& entry, const AskName& ask,
                              Time now) {
  change_wait(framework, entry, now, [&](AskWait& wait) {
    wait.set(0, 0, now);
    return true;
  });
  look_at_later(framework.id(), ask, entry.wait, std::nullopt);
}

// Called after each change of the ask's wanted or offered tasks.
void Master::State::refresh_ledger(Framework& framework, const AskName& ask, Time now) {
  const auto declared = framework.asks.find(ask);
  if (declared == framework.asks.end()) return;
  const int64_t lacking = allocator_.lacking(framework.id(), ask);
  const int64_t offered = allocator_.offered(framework.id(), ask);
  const RoleName& role =
      declared->second.role.empty() ? framework.record.role : declared->second.role;
  auto at = framework.ledger.find(ask);
  if (at != framework.ledger.end() && at->second.role != role) {
    end_entry(framework, at->second, ask, now);
    framework.ledger.erase(at);
    at = framework.ledger.end();
  }
  if (at == framework.ledger.end()) {
    if (lacking + offered == 0) return;
    at = framework.ledger.emplace(ask, LedgerEntry{role, AskWait(now)}).first;
    look_at_later(framework.id(), ask, at->second.wait, now);
  }
  AskWait& entry = at->second.wait;
  const bool is_same = entry.lacking() == lacking && entry.offered() == offered;
  if (is_same && !entry.is_empty()) return;
  const bool lacked = entry.lacking() > 0;
  change_wait(framework, at->second, now, [&](AskWait& wait) {
    wait.set(lacking, offered, now);
    return true;
  });
  if (entry.is_empty()) {
    look_at_later(framework.id(), ask, entry, std::nullopt);
    framework.ledger.erase(at);
  } else if (!lacked && lacking > 0) {
    change_wait(framework, at->second, now, [&](AskWait& wait) {
      wait.set_reason(WaitReason::kDecision, now);
      return true;
    });
    look_at_later(framework.id(), ask, entry, now);
  }
}

// Asks that are no longer declared want no tasks.
void Master::State::keep_ledger_of_asks(Framework& framework, Time now) {
  for (auto at = framework.ledger.begin(); at != framework.ledger.end();) {
    if (framework.asks.contains(at->first)) {
      ++at;
      continue;
    }
    end_entry(framework, at->second, at->first, now);
    at = framework.ledger.erase(at);
  }
}

void Master::State::close_ledger(Framework& framework, Time now) {
  for (auto& [ask, entry] : framework.ledger) end_entry(framework, entry, ask, now);
  framework.ledger.clear();
}

// Since when the longest-wanted task of the ask is wanted; `now` if the ask wants none.
Time Master::State::asked_at(const Framework& framework, const AskName& ask, Time now) const {
  const auto at = framework.ledger.find(ask);
  return at == framework.ledger.end() ? now : at->second.wait.oldest().value_or(now);
}

// The waits of a task until its launch now. From now on it counts as starting.
PackedWaits Master::State::note_launched(Framework& framework, const AskName& ask,
                                         const RoleName& role, Time now) {
  PackedWaits waited;
  if (const auto at = framework.ledger.find(ask); at != framework.ledger.end()) {
    waited =
        change_wait(framework, at->second, now, [&](AskWait& wait) { return wait.launch(now); });
  }
  count_waiting(framework, role, WaitReason::kStart, 1, now);
  return waited;
}

void Master::State::note_started(const Task& task, Time now) {
  Framework& framework = *frameworks_.find(task.key().framework);
  count_waiting(framework, task.claim().role, WaitReason::kStart, -1, now);
}

// --- why an ask waits ---------------------------------------------------------------------------

// Nothing: never.
void Master::State::look_at_later(const FrameworkId& framework, const AskName& ask, AskWait& wait,
                                  std::optional<Time> at) {
  if (wait.look_at == at || !options_.looks_at_waits) return;
  if (wait.look_at) looks_.erase({*wait.look_at, framework, ask});
  wait.look_at = at;
  if (at) looks_.insert({*at, framework, ask});
}

// Called after the decision, so that no ask waits for resources that it has just been offered.
void Master::State::look_at_waits(Step& step) {
  if (step.now - looks_span_ >= kLooksSpan) {
    looks_span_ = step.now;
    looks_left_ = std::min(looks_left_ + kLooksMax, kLooksMax);
  }
  while (!looks_.empty() && looks_.begin()->at <= step.now && looks_left_ > 0) {
    --looks_left_;
    const Look look = *looks_.begin();
    Framework& framework = *frameworks_.find(look.framework);
    // The expiry of an ask causes no event, so it is detected here.
    refresh_ledger(framework, look.ask, step.now);
    const auto at = framework.ledger.find(look.ask);
    if (at == framework.ledger.end()) continue;
    AskWait& wait = at->second.wait;
    if (wait.lacking() > 0) {
      const uint64_t version = allocator_.fit_version();
      if (std::exchange(wait.looked_version, version) != version) {
        looks_left_ -= static_cast<int64_t>(agents_.all().size()) / kAgentsPerLook;
      }
      const WaitReason reason = allocator_.wait_reason(framework.id(), look.ask, step.now);
      if (reason != wait.reason()) {
        change_wait(framework, at->second, step.now, [&](AskWait& one) {
          one.set_reason(reason, step.now);
          return true;
        });
      }
    }
    look_at_later(framework.id(), look.ask, wait, step.now + kLookEvery);
  }
}

std::optional<Time> Master::State::next_look() const {
  if (looks_.empty()) return std::nullopt;
  const Time first = looks_.begin()->at;
  return looks_left_ > 0 ? first : std::max(first, looks_span_ + kLooksSpan);
}

}  // namespace proffer::master
