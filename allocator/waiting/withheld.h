#pragma once

// Back-off for lent resources. A role that uses its guarantee now and then preempts, each time, the
// tasks that borrow it. Where it returns every minute, a task of a day never ends. So if a role
// takes back what it had before, the places that this gives it are *withheld* from long tasks while
// the role does not use them: only the role, asks that a guarantee of their own covers, and tasks
// that are expected to end soon enough (rules/fit.h: withheld_from()) may have them.
//
//   * Never more is withheld for a role than it has used lately and does not use now, within its
//     guarantee, and never more than was taken back repeatedly.
//   * It is withheld for `lasts` after the last use, at first a minute. If the role still has to
//     take back what it had, `lasts` doubles, to an hour at most. What it takes back more than an
//     hour later is no repetition.
//   * A first reclaim withholds nothing, nor does one whose victims were short tasks.
//
// Agents with reservations have no such places.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "allocator/cluster/cluster.h"
#include "allocator/waiting/reclaim_plan.h"

namespace proffer::fair {

class Withheld {
 public:
  explicit Withheld(Cluster& cluster) : cluster_(cluster) {}

  // The guarantee of the role takes resources back for the ask, as planned; `then`: the role's use
  // once the ask has them. Call before the victims get notice.
  void note_reclaim(const Role& role, const AskEntry& ask, const ReclaimPlan& plan,
                    const ResourceVector& then, Time now);
  // Updates what is withheld to the present uses. Returns whether some agent withholds less, which
  // asks may look at again. O(roles that took back + their places where something has changed).
  bool review(Time now);
  // The agent is no longer available.
  void leave(Agent& agent);
  std::optional<Time> next_deadline() const { return review_at_; }

  void check(std::vector<Violation>& found) const;

 private:
  // The most that was used in a period up to now, to within a quarter of the period.
  class RecentUse {
   public:
    void add(const ResourceVector& use) { most_.front() = most_.front().max(use); }
    // The use was `before` until now. Returns whether a step has ended.
    bool advance(const ResourceVector& before, const ResourceVector& use, Duration period,
                 Time now);
    ResourceVector most() const;
    Time next_step() const { return *ends_; }

   private:
    std::array<ResourceVector, 5> most_ = {};  // by step, the present one first
    std::optional<Time> ends_ = {};            // of the present step
  };
  // Resources on an agent that were taken back repeatedly.
  struct Place {
    Agent* agent = nullptr;
    ResourceVector amounts = {};
  };
  struct Case {
    Duration lasts = {};      // zero: nothing was taken back repeatedly
    Time taken_at = {};       // the last reclaim
    Time active_at = {};      // the last reclaim, or use of withheld resources
    ResourceVector had = {};  // the most that reclaims have given it
    RecentUse recent = {};
    ResourceVector use = {};         // at the last review
    bool is_changed = false;         // its places or settings are not those of the last review
    std::vector<Place> places = {};  // the latest first
  };

  bool update(const RoleName& name, Case& its, Time now);
  bool withhold(const RoleName& name, Case& its, const Role& role);
  bool set_withheld(const RoleName& name, Agent& agent, const ResourceVector& amounts,
                    Duration lasts);
  ResourceVector withheld_on(const RoleName& name, const Agent& agent) const;
  void wake_covered();

  Cluster& cluster_;
  std::map<RoleName, Case> cases_;
  std::optional<Time> review_at_ = {};
  uint64_t settings_then_ = 0;
  uint64_t agents_then_ = 0;
};

}  // namespace proffer::fair
