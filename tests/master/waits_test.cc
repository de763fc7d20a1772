// The wait ledger of one ask: stories, and a comparison with a model that tracks each task
// separately.

#include "master/core/waits.h"

#include <deque>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::master::waits_test {
namespace {

Time at(int64_t s) { return Time::from_nanos(seconds(s).nanos()); }

// "scheduler 2s, limit 3s".
std::string words(const WaitSpans& spans) {
  std::string all;
  for (const WaitSpan& span : spans) {
    all += text(all.empty() ? "" : ", ", to_text(span.reason), " ", to_text(span.spent));
  }
  return all;
}

std::string words(const PackedWaits& waits) { return words(waits.spans()); }

TEST(AskWait, ATaskWaitsForOneReasonAfterTheOther) {
  AskWait wait(at(0));
  wait.set(1, 0, at(0));
  wait.set_reason(WaitReason::kLimit, at(1));
  wait.set_reason(WaitReason::kShare, at(4));
  wait.set_reason(WaitReason::kLimit, at(6));
  wait.set(0, 1, at(7));
  EXPECT_EQ(words(wait.launch(at(9))), "scheduler 2s, decision 1s, limit 4s, share 2s");
  EXPECT_TRUE(wait.is_empty());
  EXPECT_EQ(words(wait.launch(at(9))), "") << "it wants none";
}

TEST(AskWait, TheOneThatWaitsLongestIsLaunchedFirst) {
  AskWait wait(at(0));
  wait.set(1, 0, at(0));
  wait.set_reason(WaitReason::kShare, at(0));
  wait.set(2, 0, at(10));
  wait.set(0, 2, at(15));
  EXPECT_EQ(wait.oldest(), at(0));
  EXPECT_EQ(words(wait.launch(at(15))), "share 15s");
  EXPECT_EQ(wait.oldest(), at(10));
  EXPECT_EQ(words(wait.launch(at(15))), "share 5s");
}

TEST(AskWait, ADeclinedOfferGoesBackToTheFront) {
  AskWait wait(at(0));
  wait.set(1, 0, at(0));
  wait.set_reason(WaitReason::kShare, at(0));
  wait.set(0, 1, at(3));
  wait.set(1, 1, at(4));  // one more task
  wait.set(2, 0, at(8));  // declined after five seconds
  wait.set(1, 1, at(10));
  EXPECT_EQ(words(wait.launch(at(10))), "scheduler 5s, share 5s");
  wait.set(0, 1, at(11));
  EXPECT_EQ(words(wait.launch(at(11))), "share 7s");
}

TEST(AskWait, TheLastOnesAreWantedNoLonger) {
  AskWait wait(at(0));
  wait.set(1, 0, at(0));
  wait.set(3, 0, at(5));
  wait.set(1, 0, at(6));
  EXPECT_EQ(wait.oldest(), at(0));
  EXPECT_EQ(whole_of(wait.launch(at(7)).spans()), seconds(7));
  EXPECT_TRUE(wait.is_empty());
}

TEST(AskWait, OfManyCohortsThoseCloseInTimeBecomeOneAndTheirSumStays) {
  AskWait wait(at(0));
  const auto count = static_cast<int64_t>(AskWait::kCohortsMax) * 3;
  Duration whole;
  for (int64_t i = 0; i < count; ++i) {
    wait.set(i + 1, 0, at(i));
    whole = whole + (at(count) - at(i));
    EXPECT_LE(wait.cohorts(), AskWait::kCohortsMax);
  }
  EXPECT_EQ(wait.oldest(), at(0));
  wait.set(0, count, at(count));
  Duration last = seconds(count + 1);
  Duration sum;
  for (int64_t i = 0; i < count; ++i) {
    const Duration waited = whole_of(wait.launch(at(count)).spans());
    EXPECT_LE(waited, last) << "nobody overtakes";
    EXPECT_NEAR((waited - (at(count) - at(i))).seconds(), 0, 6) << "nor is much off";
    last = waited;
    sum = sum + waited;
  }
  EXPECT_NEAR(sum.seconds(), whole.seconds(), 1e-6);
  EXPECT_TRUE(wait.is_empty());
}

TEST(AskWait, DeclinedAgainAndAgainItStaysBounded) {
  AskWait wait(at(0));
  int64_t wanted = 0;
  for (int64_t i = 0; i < 1'000; ++i) {
    wait.set(++wanted, 0, at(3 * i));
    wait.set(0, wanted, at(3 * i + 1));
    wait.set(wanted / 2, wanted - wanted / 2, at(3 * i + 2));
    ASSERT_LE(wait.cohorts(), 2 * AskWait::kCohortsMax);
  }
  Duration last = seconds(10'000);
  while (!wait.is_empty()) {
    const Duration waited = whole_of(wait.launch(at(3'000)).spans());
    EXPECT_GT(waited, Duration());
    EXPECT_LE(waited, last);
    last = waited;
  }
}

// A model that tracks each task separately.
struct Model {
  struct Task {
    std::map<WaitReason, Duration> spent;
  };
  void run(Time now) {
    for (Task& task : lacks) add(task, reason, now);
    for (Task& task : offers) add(task, WaitReason::kScheduler, now);
    since = now;
  }
  void add(Task& task, WaitReason why, Time now) const {
    if (now > since) task.spent[why] = task.spent[why] + (now - since);
  }
  void set(size_t lacking, size_t offered, Time now) {
    run(now);
    if (lacks.empty() && offers.empty()) reason = WaitReason::kDecision;
    while (offers.size() > offered) {
      lacks.push_front(offers.back());
      offers.pop_back();
    }
    while (lacks.size() + offers.size() < lacking + offered) lacks.emplace_back();
    while (offers.size() < offered) {
      offers.push_back(lacks.front());
      lacks.pop_front();
    }
    while (lacks.size() > lacking) lacks.pop_back();
  }
  WaitSpans launch(Time now) {
    run(now);
    std::deque<Task>& from = offers.empty() ? lacks : offers;
    WaitSpans spans;
    for (const auto& [why, spent] : from.front().spent) spans.push_back({why, spent});
    from.pop_front();
    return spans;
  }
  std::deque<Task> lacks = {};
  std::deque<Task> offers = {};
  WaitReason reason = WaitReason::kDecision;
  Time since = {};
};

TEST(AskWait, IsAsIfEachTaskWereKeptByItself) {
  int launched = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Prng prng(seed);
    Time now = at(0);
    AskWait wait(now);
    Model model;
    WaitTotals totals;              // as the master keeps them
    Duration of_all;                // the sum over all tasks
    for (int i = 0; i < 60; ++i) {  // few enough that no cohorts are merged
      const auto before = std::pair(wait.lacking(), wait.offered());
      const Duration step = milliseconds(static_cast<int64_t>(prng.below(3'000)));
      of_all = of_all + step * (before.first + before.second);
      now = now + step;
      const WaitReason reason = wait.reason();
      switch (prng.below(4)) {
        case 0: {
          const auto why = static_cast<WaitReason>(2 + prng.below(kWaitReasonCount - 2));
          wait.set_reason(why, now);
          model.run(now);
          model.reason = why;
          break;
        }
        case 1:
          if (wait.is_empty()) continue;
          EXPECT_EQ(words(wait.launch(now)), words(model.launch(now)));
          ++launched;
          break;
        default: {
          const uint64_t lacking = prng.below(5);
          const uint64_t offered = prng.below(4);
          wait.set(static_cast<int64_t>(lacking), static_cast<int64_t>(offered), now);
          model.set(lacking, offered, now);
        }
      }
      totals.change(reason, -before.first, now);
      totals.change(wait.reason(), wait.lacking(), now);
      totals.change(WaitReason::kScheduler, wait.offered() - before.second, now);
      ASSERT_EQ(wait.lacking(), static_cast<int64_t>(model.lacks.size()));
      ASSERT_EQ(wait.offered(), static_cast<int64_t>(model.offers.size()));
    }
    int64_t millis = 0;
    for (const WaitSum& sum : totals.sums(now)) millis += sum.millis;
    EXPECT_EQ(millis, of_all.millis());
  }
  EXPECT_GT(launched, 1'000);
}

TEST(WaitTotals, SpansLoseNothing) {
  WaitTotals totals;
  totals.change(WaitReason::kShare, 3, at(0));
  Time now = at(0);
  int64_t millis = 0;
  for (int i = 0; i < 1'000; ++i) {
    now = now + microseconds(333);
    for (const WaitSum& sum : totals.cut(now)) millis += sum.millis;
  }
  EXPECT_EQ(millis, 999) << "of 3 tasks for 333 ms";
  EXPECT_FALSE(totals.is_idle());
  totals.change(WaitReason::kShare, -3, now);
  EXPECT_TRUE(totals.is_idle());
}

TEST(RoleWaits, ARoleHasThoseBelowIt) {
  RoleWaits roles;
  roles.change(RoleName("eng"), WaitReason::kLimit, 1, at(0));
  roles.change(RoleName("eng/ads"), WaitReason::kLimit, 2, at(0));
  roles.change(RoleName("english"), WaitReason::kLimit, 50, at(0));
  EXPECT_EQ(roles.sums(RoleName("eng"), at(2)),
            (std::vector<WaitSum>{{WaitReason::kLimit, 6'000, 3}}));
  const std::vector<proto::RoleWait> cut = roles.cut(at(1));
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut[1], (proto::RoleWait{.role = RoleName("eng/ads"),
                                     .from = at(0),
                                     .until = at(1),
                                     .waited = {{WaitReason::kLimit, 2'000, 2}}}));
  roles.change(RoleName("eng"), WaitReason::kLimit, -1, at(1));
  EXPECT_EQ(roles.cut(at(2)).size(), 2u) << "a role in which nothing waited is left out";
}

// A user with many roles cannot fill the history; the largest unreported waits come first, and no
// wait is lost.
TEST(RoleWaits, OfManyTheOnesAreToldOfWhichMostIsToBeTold) {
  RoleWaits roles;
  constexpr int kRoles = 100;
  for (int i = 0; i < kRoles; ++i) {
    roles.change(RoleName(text("r", i)), WaitReason::kLimit, i + 1, at(0));
  }
  std::map<RoleName, int64_t> millis;
  std::map<RoleName, Time> told_until;
  for (int minute = 1; minute <= 400; ++minute) {
    const std::vector<proto::RoleWait> told = roles.cut(at(60 * minute));
    EXPECT_EQ(told.size(), static_cast<size_t>(RoleWaits::kRolesToldMax));
    for (const proto::RoleWait& span : told) {
      EXPECT_EQ(span.from, told_until[span.role]) << span.role.str();
      told_until[span.role] = span.until;
      millis[span.role] += span.waited.at(0).millis;
    }
  }
  EXPECT_EQ(millis.size(), size_t{kRoles}) << "each has its turn";
  for (int i = 0; i < kRoles; ++i) {
    const RoleName role(text("r", i));
    EXPECT_EQ(millis[role], (i + 1) * (told_until[role] - at(0)).millis());
  }
}

TEST(RoleWaits, ASpanBeginsWhenSomethingWaits) {
  RoleWaits roles;
  roles.change(RoleName("r"), WaitReason::kLimit, 1, at(0));
  roles.change(RoleName("r"), WaitReason::kLimit, -1, at(10));
  EXPECT_EQ(roles.cut(at(60)).at(0).from, at(0));
  roles.change(RoleName("r"), WaitReason::kLimit, 1, at(3'600));
  EXPECT_EQ(roles.cut(at(3'660)).at(0).from, at(3'600));
}

TEST(RoleWaits, ThatNothingWaitsInAreForgottenIfTheyAreMany) {
  RoleWaits roles;
  roles.change(RoleName("waits"), WaitReason::kLimit, 1, at(0));
  for (int i = 0; i < 20'000; ++i) {
    const RoleName role(text("r", i));
    roles.change(role, WaitReason::kLimit, 1, at(i));
    roles.change(role, WaitReason::kLimit, -1, at(i + 1));
  }
  EXPECT_LE(roles.all().size(), 2 * RoleWaits::kIdleRolesMax + 2);
  EXPECT_FALSE(roles.sums(RoleName("r19999"), at(20'001)).empty()) << "the last ones are kept";
  EXPECT_EQ(roles.sums(RoleName("waits"), at(10)),
            (std::vector<WaitSum>{{WaitReason::kLimit, 10'000, 1}}));
}

TEST(PackedWaits, AreReadBack) {
  EXPECT_EQ(PackedWaits().spans(), WaitSpans());
  EXPECT_EQ(PackedWaits(WaitClock()).with_start(Duration()).spans(), WaitSpans());
  Prng prng(7);
  for (int i = 0; i < 1'000; ++i) {
    WaitSpans spans;
    WaitClock clock;
    for (size_t at = 1; at < kWaitReasonCount; ++at) {
      const uint64_t nanos = prng.chance(1, 3) ? prng.next() >> (1 + prng.below(63)) : 0;
      const auto reason = static_cast<WaitReason>(at);
      clock[reason] = nanoseconds(static_cast<int64_t>(nanos));
      if (nanos > 0) spans.push_back({reason, clock[reason]});
    }
    const PackedWaits waits(clock);
    EXPECT_EQ(waits.spans(), spans);
    const Duration start = nanoseconds(static_cast<int64_t>(prng.below(1'000)));
    if (start > Duration()) spans.insert(spans.begin(), {WaitReason::kStart, start});
    EXPECT_EQ(waits.with_start(start).spans(), spans);
  }
}

}  // namespace
}  // namespace proffer::master::waits_test
