// The ledger of waiting: each handler that changes what an ask wants or is offered says so to
// refresh_ledger(), and look_at_waits() asks the allocator now and then why it has no more.

#include <algorithm>
#include <utility>

#include "master/core/state.h"

namespace proffer::master {
namespace {

// An ask that waits is looked at so often, if not too many do.
constexpr Duration kLookEvery = seconds(1);
// At most so many looks in each span.
constexpr Duration kLooksSpan = milliseconds(100);
constexpr int64_t kLooksMax = 64;
// The first look after a change of the agents may be at all of them: it counts as more.
constexpr int64_t kAgentsPerLook = 64;

}  // namespace

void Master::State::count_waiting(Framework& framework, const RoleName& role, WaitReason reason,
                                  int64_t count, Time now) {
  if (count == 0) return;
  framework.wait_totals.change(reason, count, now);
  role_waits_.change(role, reason, count, now);
  if (options_.keeps_history) arm_role_use();
}

// `change(AskWait&)`, and the sums follow it.
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

// After anything that changes what the ask wants or is offered.
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

// Asks that are not declared any more are wanted no longer.
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

// Since when the task is wanted that the ask wants longest; `now` if the ask wants none.
Time Master::State::asked_at(const Framework& framework, const AskName& ask, Time now) const {
  const auto at = framework.ledger.find(ask);
  return at == framework.ledger.end() ? now : at->second.wait.oldest().value_or(now);
}

// How the task waited until now, when it is launched. It counts as starting from now on.
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

// Nothing: no more.
void Master::State::look_at_later(const FrameworkId& framework, const AskName& ask, AskWait& wait,
                                  std::optional<Time> at) {
  if (wait.look_at == at || !options_.looks_at_waits) return;
  if (wait.look_at) looks_.erase({*wait.look_at, framework, ask});
  wait.look_at = at;
  if (at) looks_.insert({*at, framework, ask});
}

// After the decision, so that what it gives is not waited for.
void Master::State::look_at_waits(Step& step) {
  if (step.now - looks_span_ >= kLooksSpan) {
    looks_span_ = step.now;
    looks_left_ = std::min(looks_left_ + kLooksMax, kLooksMax);
  }
  while (!looks_.empty() && looks_.begin()->at <= step.now && looks_left_ > 0) {
    --looks_left_;
    const Look look = *looks_.begin();
    Framework& framework = *frameworks_.find(look.framework);
    // What has expired is not told, it is found.
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
