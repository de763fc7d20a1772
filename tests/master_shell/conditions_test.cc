// Conditions (alerts), derived from states of the cluster.

#include "master/shell/conditions.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Time at(int64_t second) { return Time() + seconds(second); }

Circumstances well() {
  Circumstances now{.data_dir = "/data", .pid = 17, .descriptors = 10, .descriptors_max = 100};
  now.agents.push_back({.agent = AgentId("a1")});
  now.frameworks.push_back({.framework = FrameworkId("f-1"), .asks = {{.wanted = 3}}});
  now.roles.push_back({.role = RoleName("eng")});
  now.series.push_back({.framework = "f-1"});
  return now;
}

// The conditions of one look, such as "AgentLost a1".
std::vector<std::string> names(const ConditionWatch& watch) {
  std::vector<std::string> names;
  for (const proto::ConditionRow& row : watch.rows()) {
    names.push_back(text(row.condition, " ", row.object));
    EXPECT_FALSE(row.message.empty()) << row.condition;
    EXPECT_FALSE(row.command.empty()) << row.condition;
  }
  return names;
}

std::vector<std::string> names_of(const Circumstances& now) {
  ConditionWatch watch;
  watch.look(now);
  return names(watch);
}

TEST(Conditions, NothingIsWrongInAClusterThatIsWell) { EXPECT_THAT(names_of(well()), IsEmpty()); }

TEST(Conditions, EachKindIsFoundByItsRule) {
  struct Case {
    std::string name;
    void (*change)(Circumstances&);
  };
  const std::vector<Case> cases = {
      {"RegistryStuck registry", [](Circumstances& now) { now.oldest_write = seconds(5); }},
      {"AgentsHeldBack a1",
       [](Circumstances& now) {
         now.agents[0].state = proto::AgentState::kDisconnected;
         now.agents[0].held_back = true;
       }},
      {"DescriptorsShort master", [](Circumstances& now) { now.descriptors = 80; }},
      {"AgentLost a1",
       [](Circumstances& now) { now.agents[0].state = proto::AgentState::kUnreachable; }},
      {"AgentTakesNoTasks a1", [](Circumstances& now) { now.agents[0].trouble = "disk full"; }},
      {"SchedulerSilent f-1", [](Circumstances& now) { now.series[0].figures.expired = 1; }},
      {"FrameworkDisconnected f-1",
       [](Circumstances& now) { now.frameworks[0].state = proto::FrameworkState::kDisconnected; }},
      {"RoleBelowGuarantee eng",
       [](Circumstances& now) {
         now.roles[0].guarantee.set(ResourceKind::kCpus, 1'000);
         now.roles[0].guarantee_met = false;
       }},
      {"AskFitsNowhere f-1",
       [](Circumstances& now) { now.frameworks[0].asks[0].could_ever_fit = false; }},
      {"HistoryNotKept history", [](Circumstances& now) { now.status.history = "disk full"; }},
      {"MasterTimeTaken f-1",
       [](Circumstances& now) {
         now.loop = {{.object = "f-1", .percent = 62, .frames_per_second = 300}};
       }},
  };
  std::set<std::string> covered;
  for (const Case& one : cases) {
    Circumstances now = well();
    one.change(now);
    EXPECT_THAT(names_of(now), ElementsAre(one.name));
    covered.insert(one.name.substr(0, one.name.find(' ')));
  }
  for (const ConditionKind& kind : condition_kinds()) {
    EXPECT_TRUE(covered.contains(std::string(kind.name))) << kind.name << " has no case";
  }
}

TEST(Conditions, WhatIsNearlyWrongIsNot) {
  Circumstances now = well();
  now.oldest_write = kRegistryStuckAfter - nanoseconds(1);
  now.descriptors = 79;
  now.agents[0].state = proto::AgentState::kGone;
  now.agents[0].trouble = "an agent that is gone has none";
  now.frameworks[0].asks[0] = {.wanted = 0, .could_ever_fit = false};
  now.roles[0].guarantee_met = false;  // it has no guarantee
  EXPECT_THAT(names_of(now), IsEmpty());
  now = well();
  now.descriptors_max = 0;
  EXPECT_THAT(names_of(now), IsEmpty());
}

TEST(Conditions, TheGravestComesFirst) {
  Circumstances now = well();
  now.event_log = "disk full";
  now.agents[0].trouble = "disk full";
  now.oldest_write = minutes(1);
  EXPECT_THAT(names_of(now), ElementsAre("RegistryStuck registry", "AgentTakesNoTasks a1",
                                         "HistoryNotKept events"));
}

TEST(Conditions, TheTimeIsThatOfTheFirstLook) {
  ConditionWatch watch;
  Circumstances now = well();
  now.status.now = at(10);
  now.agents[0].trouble = "disk full";
  watch.look(now);
  now.status.now = at(20);
  now.agents[0].trouble = "disk fuller";
  watch.look(now);
  ASSERT_EQ(watch.rows().size(), 1u);
  EXPECT_EQ(watch.rows()[0].since, at(10));
  EXPECT_THAT(watch.rows()[0].message, HasSubstr("fuller"));
  now.agents[0].trouble.clear();
  watch.look(now);
  EXPECT_THAT(watch.rows(), IsEmpty());
  now.status.now = at(30);
  now.agents[0].trouble = "disk full";
  watch.look(now);
  EXPECT_EQ(watch.rows()[0].since, at(30));
}

// Offers that expired before the first look do not count.
TEST(Conditions, ASchedulerIsSilentWhileItsOffersExpire) {
  ConditionWatch watch;
  Circumstances now = well();
  watch.look(now);
  now.series[0].figures.expired = 1;
  now.status.now = at(10);
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kSchedulerSilent), 1);
  now.status.now = at(10) + kSilentFor;
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kSchedulerSilent), 1);
  now.status.now = at(11) + kSilentFor;
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kSchedulerSilent), 0);
  now.series[0].figures.expired = 2;
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kSchedulerSilent), 1);
}

TEST(Conditions, OfAThousandLostAgentsSomeHaveARowAndAllAreCounted) {
  ConditionWatch watch;
  Circumstances now = well();
  now.agents.clear();
  for (int i = 0; i < 1'000; ++i) {
    now.agents.push_back(
        {.agent = AgentId(text("a", i)), .state = proto::AgentState::kUnreachable});
  }
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kAgentLost), 1'000);
  ASSERT_EQ(watch.rows().size(), kConditionsOfKindMax);
  EXPECT_EQ(watch.rows().back().object, "others");
  EXPECT_EQ(watch.rows().back().message, text(1'000 - kConditionsOfKindMax + 1, " more"));
}

// One user must not hide the frameworks of others.
TEST(Conditions, ManyFrameworksOfAUserHaveOneRow) {
  ConditionWatch watch;
  Circumstances now = well();
  now.frameworks.clear();
  const auto lose = [&now](const std::string& user, int count) {
    for (int i = 0; i < count; ++i) {
      now.frameworks.push_back({.framework = FrameworkId(text(user, "-", i)),
                                .user = user,
                                .state = proto::FrameworkState::kDisconnected});
    }
  };
  lose("ada", 1'000);
  lose("bob", 2);
  watch.look(now);
  EXPECT_EQ(watch.count(Condition::kFrameworkDisconnected), 1'002);
  ASSERT_EQ(watch.rows().size(), 3u);
  EXPECT_EQ(watch.rows()[0].object, "user ada");
  EXPECT_THAT(watch.rows()[0].message,
              testing::StartsWith("1000 frameworks, such as ada-0: its scheduler"));
  EXPECT_EQ(watch.rows()[1].object, "bob-0");
}

}  // namespace
}  // namespace proffer::master
