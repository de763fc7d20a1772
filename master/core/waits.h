#pragma once

// The ledger of waiting: for which reasons, and how long, each task waited from the time when its
// ask wanted it until it ran. The tasks of an ask are alike. So launches take the tasks that are
// wanted longest, and if the ask wants fewer tasks, the newest ones are dropped. All tasks that an
// ask lacks wait for the same reason, so a change of the reason costs the same for any number of
// tasks.

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

// Time spent per reason.
class WaitClock {
 public:
  Duration& operator[](WaitReason reason) { return spent_[static_cast<size_t>(reason)]; }
  Duration operator[](WaitReason reason) const { return spent_[static_cast<size_t>(reason)]; }
  WaitClock operator-(const WaitClock& o) const;

 private:
  std::array<Duration, kWaitReasonCount> spent_{};
};

// The waits of one task in few bytes, since there may be hundreds of thousands of tasks.
class PackedWaits {
 public:
  PackedWaits() = default;
  explicit PackedWaits(const WaitClock& clock);
  // The same waits and this time for the start. The original must have no start.
  PackedWaits with_start(Duration start) const;
  WaitSpans spans() const;

 private:
  std::unique_ptr<uint8_t[]> bytes_ = {};  // their number, then the spans
};

// The tasks that one ask wants and that are not launched yet.
class AskWait {
 public:
  // Beyond this number, the two cohorts closest in time are merged, and each of their tasks gets
  // the mean wait of both.
  static constexpr size_t kCohortsMax = 64;

  explicit AskWait(Time now) : since_(now) {}

  // From now on the ask lacks `lacking` tasks, and `offered` others are in offers to its scheduler.
  void set(int64_t lacking, int64_t offered, Time now);
  // From now on the tasks without an offer wait for this reason.
  void set_reason(WaitReason reason, Time now);
  // Takes the task that waited longest among the tasks in offers, or if there are none, among all.
  // Returns its waits; they are empty if the ask wants no task.
  PackedWaits launch(Time now);

  int64_t lacking() const { return lacking_; }
  int64_t offered() const { return offered_; }
  bool is_empty() const { return lacking_ + offered_ == 0; }
  size_t cohorts() const { return lacks_.size() + offers_.size(); }
  WaitReason reason() const { return reason_; }
  // The time since when the longest-waiting task is wanted.
  std::optional<Time> oldest() const;

  // The time at which its reason must be examined; kept by the caller.
  std::optional<Time> look_at = {};
  uint64_t looked_version = 0;  // Allocator::fit_version() at the last examination

 private:
  // Tasks that became wanted at the same time. A task without an offer has waited for the clock
  // minus `base`. A task in an offer has waited for `base`, and for its scheduler since
  // `offered_at`.
  struct Cohort {
    int64_t count = 0;
    Time asked_at = {};
    WaitClock base = {};
    Time offered_at = {};
  };
  using Cohorts = std::vector<Cohort>;  // oldest first

  void run_clock(Time now);
  void offer(int64_t count, Time now);
  void take_back(int64_t count, Time now);
  void want(int64_t count, Time now);
  void want_less(int64_t count);
  static void bound(Cohorts& cohorts);

  WaitClock clock_ = {};
  WaitReason reason_ = WaitReason::kDecision;
  Time since_ = {};  // the clock counts up to here
  Cohorts lacks_ = {};
  Cohorts offers_ = {};
  int64_t lacking_ = 0;
  int64_t offered_ = 0;
};

// The number of tasks that wait for each reason, and the total time. Times must not decrease.
class WaitTotals {
 public:
  // `count` more tasks wait for this reason; fewer if it is negative.
  void change(WaitReason reason, int64_t count, Time now);
  int64_t tasks(WaitReason reason) const { return of(reason).tasks; }
  // The sums of all reasons with a present or past wait, in the order of the reasons.
  std::vector<WaitSum> sums(Time now) const;
  // The sums since the last call of cut(). Exact: the rest below one millisecond is carried over to
  // the next span.
  std::vector<WaitSum> cut(Time now);
  bool is_idle() const;                // no task waits
  __extension__ typedef __int128 Sum;  // tasks times nanoseconds overflow 64 bits
  // The total that cut() would return now.
  Sum untold_millis(Time now) const;

 private:
  struct One {
    int64_t tasks = 0;
    Time counted = {};  // the sum covers the time until then
    Sum nanos = 0;
    Sum told_millis = 0;
  };
  One& of(WaitReason reason) { return all_[static_cast<size_t>(reason)]; }
  const One& of(WaitReason reason) const { return all_[static_cast<size_t>(reason)]; }
  static Sum nanos_until(const One& one, Time now);

  std::array<One, kWaitReasonCount> all_{};
};

// The waits of each role, without the roles below it. Only kIdleRolesMax roles without a waiting
// task are kept, since users may name any number of roles.
class RoleWaits {
 public:
  static constexpr size_t kIdleRolesMax = 1'000;

  void change(const RoleName& role, WaitReason reason, int64_t count, Time now);
  // Ends a span for each role and returns the waits in it, by role; roles without a wait are left
  // out. If there are more than kRolesToldMax, only those with the largest unreported wait are
  // returned, and the spans of the others go on. So a user with many roles cannot fill the history.
  static constexpr std::ptrdiff_t kRolesToldMax = 32;
  std::vector<proto::RoleWait> cut(Time now);
  bool is_anybody_waiting() const;
  std::vector<std::pair<RoleName, const WaitTotals*>> all() const;
  // The sums of this role and the roles below it, since the master started.
  std::vector<WaitSum> sums(const RoleName& role, Time now) const;

 private:
  struct Role {
    WaitTotals totals = {};
    Time from = {};        // the begin of its span
    Time changed_at = {};  // the time of the last change
    bool is_told = true;   // everything was reported
  };
  void forget_idle();

  std::map<RoleName, Role> roles_;
  size_t forget_at_ = 2 * kIdleRolesMax;  // old idle roles are dropped at this size
};

}  // namespace proffer::master
