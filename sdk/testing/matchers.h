#pragma once

// GoogleTest matchers for a SimCluster. Each matcher fails if an invariant of the cluster was
// broken. Every failure prints the seed that reproduces it.
//
//   EXPECT_THAT(cluster, running("web", 3));
//   EXPECT_THAT(cluster, launched("web", testing::Ge(3u)));
//   EXPECT_THAT(cluster, no_task_lost());
//   EXPECT_THAT(cluster, fair_within(50));

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "sdk/testing/sim_cluster.h"

namespace proffer::sdk {

// GoogleTest prints this text for a cluster in a failure.
inline void PrintTo(const SimCluster& cluster, std::ostream* out) {
  *out << "the cluster of " << cluster.replay();
}

// False if an invariant was broken; `out` then receives the violation.
inline bool is_whole(const SimCluster& cluster, testing::MatchResultListener* out) {
  if (cluster.violations().empty()) return true;
  *out << "which is broken: " << cluster.violations().front().what;
  return false;
}

// Compares a count of a scheduler's tasks with a number or a matcher of size_t.
class CountMatcher {
 public:
  using is_gtest_matcher = void;
  using Count = size_t (SimCluster::*)(std::string_view) const;

  CountMatcher(std::string what, std::string scheduler, Count count,
               testing::Matcher<size_t> matcher)
      : what_(std::move(what)),
        scheduler_(std::move(scheduler)),
        count_(count),
        matcher_(std::move(matcher)) {}

  bool MatchAndExplain(const SimCluster& cluster, testing::MatchResultListener* out) const {
    const size_t count = (cluster.*count_)(scheduler_);
    *out << "of which " << count << " tasks of " << scheduler_ << " are " << what_ << ' ';
    return is_whole(cluster, out) && matcher_.Matches(count);
  }
  void DescribeTo(std::ostream* out) const { describe(out, false); }
  void DescribeNegationTo(std::ostream* out) const { describe(out, true); }

 private:
  void describe(std::ostream* out, bool negated) const {
    *out << "has a number of tasks of " << scheduler_ << " that are " << what_ << " that ";
    if (negated) {
      matcher_.DescribeNegationTo(out);
    } else {
      matcher_.DescribeTo(out);
    }
  }

  std::string what_;
  std::string scheduler_;
  Count count_;
  testing::Matcher<size_t> matcher_;
};

inline CountMatcher launched(std::string scheduler, testing::Matcher<size_t> count) {
  return {"launched", std::move(scheduler), &SimCluster::launched, std::move(count)};
}
inline CountMatcher running(std::string scheduler, testing::Matcher<size_t> count) {
  return {"running", std::move(scheduler), &SimCluster::running, std::move(count)};
}
inline CountMatcher finished(std::string scheduler, testing::Matcher<size_t> count) {
  return {"finished", std::move(scheduler), &SimCluster::finished, std::move(count)};
}

class NoTaskLostMatcher {
 public:
  using is_gtest_matcher = void;
  bool MatchAndExplain(const SimCluster& cluster, testing::MatchResultListener* out) const {
    const std::vector<std::string> lost = cluster.lost_tasks();
    for (const std::string& task : lost) *out << task << "; ";
    return is_whole(cluster, out) && lost.empty();
  }
  void DescribeTo(std::ostream* out) const { *out << "has lost no task"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "has lost a task"; }
};

// Each task that was launched runs, or its end was reported to its scheduler.
inline NoTaskLostMatcher no_task_lost() { return {}; }

// Compares shares of roles by weight, and of the frameworks in each role.
class FairMatcher {
 public:
  using is_gtest_matcher = void;
  explicit FairMatcher(int64_t milli) : milli_(milli) {}

  bool MatchAndExplain(const SimCluster& cluster, testing::MatchResultListener* out) const {
    std::map<RoleName, std::vector<int64_t>> in_role;
    std::map<RoleName, int64_t> roles;
    size_t hungry = 0;
    for (const SimCluster::FrameworkShare& share : cluster.shares()) {
      if (!share.wants_more) continue;
      ++hungry;
      roles[share.role] = share.role_share_millionths;
      in_role[share.role].push_back(share.dominant_share_millionths);
      *out << share.scheduler << " of " << share.role.str() << " has "
           << share.dominant_share_millionths / 1'000 << " thousandths, its role by weight "
           << share.role_share_millionths / 1'000 << "; ";
    }
    if (hungry < 2) {
      *out << "fewer than two frameworks want more: there is nothing to compare ";
      return false;
    }
    std::vector<int64_t> by_role;
    for (const auto& [role, share] : roles) by_role.push_back(share);
    bool fair = spread(by_role) <= milli_ * 1'000;
    for (const auto& [role, shares] : in_role) fair = fair && spread(shares) <= milli_ * 1'000;
    return is_whole(cluster, out) && fair;
  }
  void DescribeTo(std::ostream* out) const {
    *out << "shares fairly, within " << milli_ << " thousandths";
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not share fairly within " << milli_ << " thousandths";
  }

 private:
  static int64_t spread(const std::vector<int64_t>& shares) {
    const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
    return least == shares.end() ? 0 : *most - *least;
  }

  int64_t milli_;
};

// The dominant shares of all roles that want more than they have differ by at most `milli`
// thousandths of the cluster, divided by their weights; and so do those of the frameworks within
// each role. A cluster in which fewer than two want more does not match.
inline FairMatcher fair_within(int64_t milli) { return FairMatcher(milli); }

}  // namespace proffer::sdk
