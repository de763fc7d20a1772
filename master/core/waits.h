#pragma once

// The ledger of waiting: how long each task waited for what, from when its ask wanted it until it
// ran. An ask wants tasks that are alike: those that it wants longest are offered and launched
// first, and those that it wants no longer are the last ones that it wanted. All tasks that an ask
// lacks wait for the same reason, so a change of that costs the same however many there are.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/offers.h"
#include "common/time.h"
#include "common/wait_reason.h"
#include "proto/history.h"

namespace proffer::master {

// Time by reason.
class WaitClock {
 public:
  Duration& operator[](WaitReason reason) { return spent_[static_cast<size_t>(reason)]; }
  Duration operator[](WaitReason reason) const { return spent_[static_cast<size_t>(reason)]; }
  WaitClock operator-(const WaitClock& o) const;

 private:
  std::array<Duration, kWaitReasonCount> spent_{};
};

// How one task waited, in few bytes: there may be hundreds of thousands.
class PackedWaits {
 public:
  PackedWaits() = default;
  explicit PackedWaits(const WaitClock& clock);
  // The same, and for so long it started. Needs one without a start.
  PackedWaits with_start(Duration start) const;
  WaitSpans spans() const;

 private:
  std::unique_ptr<uint8_t[]> bytes_ = {};  // how many follow, then the spans
};

// The tasks that one ask wants and that are not launched.
class AskWait {
 public:
  // Beyond so many, the two cohorts that are closest in time become one: each of their tasks has
  // waited as they did in the mean.
  static constexpr size_t kCohortsMax = 64;

  explicit AskWait(Time now) : since_(now) {}

  // It lacks so many tasks from now on, and so many others are in offers to its scheduler.
  void set(int64_t lacking, int64_t offered, Time now);
  // What it lacks waits for this from now on.
  void set_reason(WaitReason reason, Time now);
  // One task is launched: of those in offers, or if there are none of all, the one that waited
  // longest. How it waited; nothing if the ask wants none.
  PackedWaits launch(Time now);

  int64_t lacking() const { return lacking_; }
  int64_t offered() const { return offered_; }
  bool is_empty() const { return lacking_ + offered_ == 0; }
  size_t cohorts() const { return lacks_.size() + offers_.size(); }
  WaitReason reason() const { return reason_; }
  // Since when the task that waits longest is wanted.
  std::optional<Time> oldest() const;

  // When its reason must be looked at; kept by the caller that looks.
  std::optional<Time> look_at = {};
  uint64_t looked_version = 0;  // Allocator::fit_version() at the last look

 private:
  // Tasks that were wanted at one time. A task that lacks an offer has waited for the clock less
  // `base`; one in an offer has waited for `base`, and for its scheduler since `offered_at`.
  struct Cohort {
    int64_t count = 0;
    Time asked_at = {};
    WaitClock base = {};
    Time offered_at = {};
  };
  using Cohorts = std::vector<Cohort>;  // the oldest first

  void run_clock(Time now);
  void offer(int64_t count, Time now);
  void take_back(int64_t count, Time now);
  void want(int64_t count, Time now);
  void want_less(int64_t count);
  static void bound(Cohorts& cohorts);

  WaitClock clock_ = {};
  WaitReason reason_ = WaitReason::kDecision;
  Time since_ = {};  // the clock is right up to here
  Cohorts lacks_ = {};
  Cohorts offers_ = {};
  int64_t lacking_ = 0;
  int64_t offered_ = 0;
};

// How many tasks wait for each reason, and for how long in all. Times must not go back.
class WaitTotals {
 public:
  // So many more tasks wait for it, or fewer.
  void change(WaitReason reason, int64_t count, Time now);
  int64_t tasks(WaitReason reason) const { return of(reason).tasks; }
  // Of reasons that some task waits for or waited for, in their order.
  std::vector<WaitSum> sums(Time now) const;
  // The same of what is new since this was asked last. Exact: what a span leaves of a millisecond
  // counts in the next one.
  std::vector<WaitSum> cut(Time now);
  bool is_idle() const;                // no task waits
  __extension__ typedef __int128 Sum;  // tasks times nanoseconds leave 64 bits
  // Of what cut() would tell now.
  Sum untold_millis(Time now) const;

 private:
  struct One {
    int64_t tasks = 0;
    Time counted = {};  // up to when the sum is made
    Sum nanos = 0;
    Sum told_millis = 0;
  };
  One& of(WaitReason reason) { return all_[static_cast<size_t>(reason)]; }
  const One& of(WaitReason reason) const { return all_[static_cast<size_t>(reason)]; }
  static Sum nanos_until(const One& one, Time now);

  std::array<One, kWaitReasonCount> all_{};
};

// Of each role. What waits in a role does not count in those above it. Of roles in which nothing
// waits any more so many are kept, since anybody may name roles without end.
class RoleWaits {
 public:
  static constexpr size_t kIdleRolesMax = 1'000;

  void change(const RoleName& role, WaitReason reason, int64_t count, Time now);
  // Ends a span for each role: what its tasks waited in it, by role; roles where none waited are
  // left out. If there are more than kRolesToldMax, those are told in which most is untold; the
  // spans of the others go on, so a user with many roles cannot fill the history.
  static constexpr std::ptrdiff_t kRolesToldMax = 32;
  std::vector<proto::RoleWait> cut(Time now);
  bool is_anybody_waiting() const;
  std::vector<std::pair<RoleName, const WaitTotals*>> all() const;
  // Of this role and those below it, since the master started.
  std::vector<WaitSum> sums(const RoleName& role, Time now) const;

 private:
  struct Role {
    WaitTotals totals = {};
    Time from = {};        // when its span began
    Time changed_at = {};  // last
    bool is_told = true;   // all of it
  };
  void forget_idle();

  std::map<RoleName, Role> roles_;
  size_t forget_at_ = 2 * kIdleRolesMax;  // when so many are here
};

}  // namespace proffer::master
