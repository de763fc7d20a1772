// Preferred hosts of tasks, and the asks and launches of tasks with preferred hosts.

#include "frameworks/batch/core/locality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/records.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::locality_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Hosts = std::vector<std::string>;

Split split_of(std::vector<Chunk> chunks) { return {.chunks = std::move(chunks)}; }

// Maps 0 and 1 prefer a, map 2 prefers b, map 3 has no preference.
JobOrder job_of_four(int reducers = 0) {
  JobOrder order = JobScenario::order(4, reducers);
  order.locality = {.groups = {{"a"}, {"b"}}, .maps = {{1, 2}, {2, 1}}};
  return order;
}

const Ask* ask_of(const JobScenario& s, const std::string& name) {
  for (const Ask& ask : s.asks()) {
    if (ask.name.str() == name) return &ask;
  }
  return nullptr;
}

TEST(LocalityFile, HasHostsAndAPathOnEachLine) {
  const auto hosts = parse_hosts_of_paths(
      "# where the files are\n\nb,a,b /data/x\na\t/data/with space \r\n  c   /other/\nd /\n");
  ASSERT_TRUE(hosts) << hosts.error().message();
  EXPECT_EQ(
      *hosts,
      (HostsOfPaths{
          {"/data/x", {"a", "b"}}, {"/data/with space", {"a"}}, {"/other", {"c"}}, {"/", {"d"}}}));
  struct Row {
    const char* file;
    const char* says;
  };
  const Row rows[] = {
      {"a /x\nb\n", "line 2: write hosts and an absolute path, not 'b'"},
      {"a x\n", "line 1: write hosts and an absolute path"},
      {"a /x\nb /x/\n", "line 2: '/x' is given twice"},
      {"a,,b /x\n", "line 1"},
      {"a/b /x\n", "line 1"},
      {"# nothing\n", "no line names a host"},
      {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q /x\n", "17 hosts are named; at most 16"},
  };
  for (const Row& row : rows) {
    const auto refused = parse_hosts_of_paths(row.file);
    ASSERT_FALSE(refused) << row.file;
    EXPECT_THAT(refused.error().message(), HasSubstr(row.says)) << row.file;
  }
}

TEST(Locality, OfASplitIsWhereMostOfItsBytesAre) {
  const HostsOfPaths hosts = {{"/d", {"a"}}, {"/d/x", {"b", "c"}}, {"/d/below", {"c"}}};
  const std::vector<Split> splits = {
      split_of({{"/d/x", 0, 10}}),  // the file's hosts count, not its directory's
      split_of({{"/d/y", 0, 10}}),  // hosts of the directory
      split_of({{"/d/below/z", 0, 9}, {"/d/xy", 0, 4}}),  // a has less than half of c's bytes
      split_of({{"/d/below/z", 0, 9}, {"/d/xy", 0, 5}}),  // a has half of c's bytes
      split_of({{"/elsewhere", 0, 10}}),
      split_of({{"/elsewhere", 10, 10}}),
  };
  const Result<Locality> near = locate(splits, hosts, {}, seconds(5));
  ASSERT_TRUE(near) << near.error().message();
  EXPECT_EQ(near->groups, (std::vector<Hosts>{{"b", "c"}, {"a"}, {"c"}, {"a", "c"}}));
  EXPECT_THAT(near->of_maps(6), ElementsAre(1, 2, 3, 4, 0, 0));
  EXPECT_EQ(near->maps.size(), 5u);  // adjacent maps of one group are one run
  EXPECT_THAT(near->of_others(3), IsEmpty());
  EXPECT_EQ(near->wait, seconds(5));

  const Result<Locality> both = locate(splits, hosts, {"z", "b", "z"}, seconds(5));
  ASSERT_TRUE(both);
  EXPECT_THAT(both->of_maps(6), ElementsAre(2, 3, 4, 5, 1, 1));
  EXPECT_THAT(both->of_others(3), ElementsAre(1, 1, 1));
  EXPECT_EQ(both->groups.front(), (Hosts{"b", "z"}));
  EXPECT_EQ(*locate(splits, {}, {}, seconds(5)), Locality());
  EXPECT_THAT(locate(splits, {}, {"a/b"}, seconds(5)).error().message(),
              HasSubstr("preferred host"));
  EXPECT_THAT(locate(splits, {}, {"a"}, minutes(61)).error().message(),
              HasSubstr("locality_wait must be from 0s to"));
}

TEST(Locality, ComesBackFromTheOrderAsItWas) {
  OrderRecord order{.order = job_of_four(2), .owner = "ada", .number = 9};
  order.order.locality.all = 2;
  order.order.locality.wait = milliseconds(1'500);
  EXPECT_TRUE(*decode_order_record(encode(order)) == order);
  order.order.time_limit = seconds(5);
  EXPECT_TRUE(*decode_order_record(encode(order)) == order);
  // More maps than the job has; an unknown group; a group without hosts; hosts out of order.
  for (const Locality& wrong :
       {Locality{.groups = {{"a"}}, .maps = {{1, 5}}},
        Locality{.groups = {{"a"}}, .maps = {{2, 1}}}, Locality{.groups = {{"a"}}, .all = 2},
        Locality{.groups = {{}}}, Locality{.groups = {{"b", "a"}}}, Locality{.all = 1}}) {
    JobOrder refused = job_of_four();
    refused.locality = wrong;
    EXPECT_FALSE(check_order(refused));
  }
}

TEST(LocalityBuckets, AreTheLargestGroupsAndTheRest) {
  Locality near;
  std::vector<uint32_t> groups = {0};
  for (uint32_t group = 1; group <= 7; ++group) {
    near.groups.push_back({text("h", group), "shared"});
    groups.insert(groups.end(), group, group);
  }
  const LocalityBuckets buckets(near, groups);
  EXPECT_EQ(buckets.of_group(0), LocalityBuckets::kNone);
  EXPECT_EQ(buckets.of_group(7), 1u);
  EXPECT_EQ(buckets.of_group(4), 4u);
  EXPECT_EQ(buckets.of_group(3), LocalityBuckets::kRest);
  EXPECT_EQ(buckets.hosts(1), (Hosts{"h7", "shared"}));
  EXPECT_EQ(buckets.hosts(LocalityBuckets::kRest), (Hosts{"h1", "h2", "h3", "shared"}));
  EXPECT_THAT(buckets.near(AgentId("h2")), ElementsAre(2));
  EXPECT_THAT(buckets.near(AgentId("nowhere")), IsEmpty());
  // More hosts than an ask may have.
  near.groups.assign(1'000, {});
  for (size_t i = 0; i < 1'000; ++i) near.groups[i] = {text("h", i)};
  EXPECT_EQ(LocalityBuckets(near, {}).hosts(LocalityBuckets::kRest).size(), kPreferredMax);
}

TEST(PreferredHosts, AreAskedForWithABoundedWait) {
  JobScenario s(job_of_four(1));
  s.subscribe();
  EXPECT_EQ(s.asked("map"), 1);
  EXPECT_EQ(s.asked("map-near1"), 2);
  EXPECT_EQ(s.asked("map-near2"), 1);
  EXPECT_TRUE(ask_of(s, "map")->prefer.empty());
  EXPECT_EQ(ask_of(s, "map-near1")->prefer, (Preference{.hosts = {"a"}, .wait = kLocalityWait}));
  EXPECT_EQ(ask_of(s, "map-near2")->prefer.hosts, Hosts{"b"});
}

TEST(PreferredHosts, GetTheirTasksWhicheverAskAnOfferIsFor) {
  JobScenario s(job_of_four());
  s.subscribe();
  // The offer on b is for the task without hosts; the task that prefers b is launched first.
  EXPECT_EQ(s.offer(AgentId("b"), AskName("map"), 1), 1);
  EXPECT_TRUE(s.runs("map-00002-1"));
  EXPECT_EQ(s.asked("map-near2"), 0);
  EXPECT_EQ(s.asked("map"), 1);
  // The allocator has ended the locality wait for a.
  EXPECT_EQ(s.offer(AgentId("c"), AskName("map-near1"), 1), 1);
  EXPECT_TRUE(s.runs("map-00000-1"));
  EXPECT_EQ(s.offer(AgentId("c"), AskName("map"), 1), 1);
  EXPECT_TRUE(s.runs("map-00003-1"));
  EXPECT_EQ(s.offer(AgentId("a"), AskName("map-near1"), 1), 1);
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
  // A task without preferred hosts counts as neither near nor far.
  EXPECT_EQ(s.status().map.near, 2);
  EXPECT_EQ(s.status().map.far, 1);
}

// The offer's task was launched meanwhile. A task in its locality wait is not launched instead.
TEST(PreferredHosts, ATaskThatWaitsForThemIsNotLaunchedForAnotherAsk) {
  JobScenario s(job_of_four());
  s.subscribe();
  EXPECT_EQ(s.offer(AgentId("c"), AskName("map"), 2), 1);
  EXPECT_TRUE(s.runs("map-00003-1"));
  EXPECT_EQ(s.asked("map-near1"), 2);
}

TEST(PreferredHosts, AreCountedAgainAfterARestartOfTheScheduler) {
  JobScenario s(job_of_four(1));
  s.subscribe();
  s.offer(AgentId("a"), AskName("map-near1"), 2);
  s.offer(AgentId("a"), AskName("map-near2"), 1);
  while (!s.running().empty()) s.finish(s.running().begin()->first);
  EXPECT_EQ(s.status().map.near, 2);
  EXPECT_EQ(s.status().map.far, 1);
  s.restart();
  s.subscribe();
  EXPECT_EQ(s.status().map.near, 2);
  EXPECT_EQ(s.status().map.far, 1);
  // Lost outputs are computed again, on any agent with free slots.
  s.notify(proto::Failure{.agent = AgentId("a")});
  EXPECT_EQ(s.status().map.near + s.status().map.far, 0);
  EXPECT_EQ(s.asked("map-near1"), 2);
  s.agent("x", 4);
  s.offer_all();
  s.finish_all();
  s.offer_all();
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
  EXPECT_EQ(s.status().map.far, 3);
}

// A task in the cluster makes the plan, which names the hosts of each map task's input.
TEST(PreferredHosts, AreSaidByThePlanOfAJobThatWaited) {
  JobOrder order = JobScenario::order(1, 1);
  order.maps = 0;
  order.input_bytes = 0;
  order.locality = {.groups = {{"z"}}, .all = 1, .wait = seconds(9)};
  JobScenario s(order);
  s.begins_on({{"anywhere", 1}});
  s.finish_plan("plan-00000-1",
                {.maps = 3,
                 .input_bytes = 3'000,
                 .locality = {.groups = {{"a", "b"}},
                              .maps = {{.group = 1, .count = 2}, {.group = 0, .count = 1}},
                              .wait = seconds(9)}});
  const auto wants = [&](std::vector<std::string> hosts, int64_t count) {
    return std::any_of(s.asks().begin(), s.asks().end(), [&](const Ask& ask) {
      return ask.prefer == Preference{.hosts = hosts, .wait = seconds(9)} && ask.count == count;
    });
  };
  EXPECT_TRUE(wants({"a", "b"}, 2));
  EXPECT_TRUE(wants({"z"}, 1));
  // The restarted scheduler reads it from the store.
  s.restart();
  s.subscribe();
  EXPECT_TRUE(wants({"a", "b"}, 2));
  while (!s.over()) {
    s.offer_all();
    s.finish_all();
  }
  EXPECT_TRUE(s.succeeded());
}

// Reduces and arrays prefer hosts that all their tasks share.
TEST(PreferredHosts, OfAllTasksAreThoseOfReducesAndElements) {
  JobOrder order = JobScenario::order(1, 2);
  order.locality = {.groups = {{"a", "b"}}, .all = 1, .wait = seconds(9)};
  JobScenario s(order);
  s.subscribe();
  const Preference expected{.hosts = {"a", "b"}, .wait = seconds(9)};
  EXPECT_EQ(ask_of(s, "map-near1")->prefer, expected);
  s.offer(AgentId("a"), AskName("map-near1"), 1);
  s.finish_all();
  EXPECT_EQ(ask_of(s, "reduce-near1")->prefer, expected);
  order = JobScenario::array(5);
  order.locality = {.groups = {{"a", "b"}}, .all = 1, .wait = seconds(9)};
  JobScenario array(order);
  array.subscribe();
  EXPECT_EQ(ask_of(array, "range")->prefer, expected);
  order.locality.maps = {{1, 1}};
  EXPECT_FALSE(check_order(order));
}

}  // namespace
}  // namespace proffer::batch::locality_test
