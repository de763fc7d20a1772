// The placement policies (allocator/rules/placement.h): small cases by hand, and every choice in
// random clusters against the formula, computed here for each agent by itself.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "allocator/cluster/workload.h"
#include "allocator/rules/fractions.h"
#include "common/prng.h"
#include "tests/allocator/scenario.h"

namespace proffer::placement_policies_test {
namespace {

using testing::ElementsAreArray;

constexpr Placement kPolicies[] = {Placement::kBalanced, Placement::kBestFit,    Placement::kSpread,
                                   Placement::kWorstFit, Placement::kDotProduct, Placement::kFgd};

AllocatorOptions by(Placement placement) { return {.placement = placement}; }

TEST(PlacementPolicies, AreFoundByName) {
  for (const Placement placement : kPolicies) {
    EXPECT_EQ(parse_placement("placement", to_text(placement)).value(), placement);
  }
  const auto wrong = parse_placement("--placement", "bestfit");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message(),
            "--placement must be balanced, best_fit, spread, worst_fit, dot_product or fgd, not "
            "'bestfit'");
}

// Tasks of one ask, one after the other, on two agents.
TEST(PlacementPolicies, ChooseTheAgentByTheirFormula) {
  struct Row {
    const char* what;
    Placement placement;
    const char* a1;
    const char* a2;
    const char* shape;
    std::vector<int> tasks;  // on a1 and a2 after each
  };
  const Row rows[] = {
      {"what remains is least",
       Placement::kBestFit,
       "cpus:8;mem:8GiB",
       "cpus:4;mem:4GiB",
       "cpus:1;mem:1GiB",
       {0, 1, 0, 2, 0, 3}},
      {"what remains is least, where the proportions are the same",
       Placement::kBalanced,
       "cpus:8;mem:8GiB",
       "cpus:4;mem:4GiB",
       "cpus:1;mem:1GiB",
       {0, 1, 0, 2, 0, 3}},
      {"1/2 of the memory of a1 is left over, 3/4 of the CPUs of a2",
       Placement::kBalanced,
       "cpus:2;mem:8GiB",
       "cpus:4;mem:2GiB",
       "cpus:1;mem:2GiB",
       {1, 0, 2, 0, 2, 1}},
      {"the same by best fit: 2/6 + 8/10 against 4/6 + 2/10",
       Placement::kBestFit,
       "cpus:2;mem:8GiB",
       "cpus:4;mem:2GiB",
       "cpus:1;mem:2GiB",
       {0, 1, 1, 1, 2, 1}},
      {"what remains is most",
       Placement::kWorstFit,
       "cpus:5;mem:5GiB",
       "cpus:4;mem:4GiB",
       "cpus:1;mem:1GiB",
       {1, 0, 2, 0, 2, 1, 3, 1}},
      {"1/8 of a1 is used, then 1/4 of a2",
       Placement::kSpread,
       "cpus:8;mem:8GiB",
       "cpus:4;mem:4GiB",
       "cpus:1;mem:1GiB",
       {1, 0, 1, 1, 2, 1, 3, 1, 3, 2}},
      {"by the kind of which most is used",
       Placement::kSpread,
       "cpus:8;mem:2GiB",
       "cpus:2;mem:8GiB",
       "cpus:1;mem:512",
       {1, 0, 1, 1, 2, 1, 3, 1, 3, 2}},
      {"8/10 * 1/10 + 2/18 * 1/36 against 2/10 * 1/10 + 16/18 * 1/36",
       Placement::kDotProduct,
       "cpus:8;mem:2GiB",
       "cpus:2;mem:16GiB",
       "cpus:1;mem:512",
       {1, 0, 2, 0}},
      {"the same amounts by worst fit: 8/10 + 2/18 against 2/10 + 16/18",
       Placement::kWorstFit,
       "cpus:8;mem:2GiB",
       "cpus:2;mem:16GiB",
       "cpus:1;mem:512",
       {0, 1, 0, 2}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    AllocatorScenario s(by(row.placement));
    s.agent("a1", row.a1);
    s.agent("a2", row.a2);
    std::vector<int> tasks;
    for (size_t i = 0; i < row.tasks.size() / 2; ++i) {
      s.framework("f").asks(row.shape, 1);
      s.run_until_nothing_fits();
      for (const char* agent : {"a1", "a2"}) {
        tasks.push_back(static_cast<int>(s.framework("f").tasks_on(agent)));
      }
    }
    EXPECT_THAT(tasks, ElementsAreArray(row.tasks));
  }
}

// Tasks of 4 CPUs and a GPU were requested. A task of 2 CPUs leaves 3 on a1, too few for another of
// them, and 5 on a2.
TEST(PlacementPolicies, FgdKeepsRoomForTheTasksThatAreAskedForLately) {
  for (const Placement placement : {Placement::kBestFit, Placement::kFgd}) {
    AllocatorScenario s(by(placement));
    s.agent("a1", "cpus:5;mem:8GiB;gpus:1");
    s.agent("a2", "cpus:7;mem:8GiB;gpus:1");
    s.framework("train").asks("cpus:4;mem:1GiB;gpus:1", 2);
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("train").tasks(), 2);
    s.framework("train").ends(2);
    s.framework("web").asks("cpus:2;mem:1GiB", 1);
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("web").tasks_on(placement == Placement::kFgd ? "a2" : "a1"), 1)
        << to_text(placement);
  }
}

// Between decisions an agent may have registered that the cluster's total does not include yet.
TEST(PlacementPolicies, FractionsOfMoreThanThereIsAreAllOfIt) {
  const ResourceVector total = ResourceVector::of(1'000, 0);
  const fair::Fractions fractions(total);
  EXPECT_EQ(fractions.of(500, ResourceKind::kCpus), fractions.of(1'000, ResourceKind::kCpus) / 2);
  EXPECT_EQ(fractions.of(kAmountMax, ResourceKind::kCpus),
            fractions.of(1'000, ResourceKind::kCpus));
  EXPECT_EQ(fractions.of(1'000, ResourceKind::kMem), 0);
}

TEST(Workload, CountsAgeAndOneAskDoesNotPushOutAllOthers) {
  fair::Workload workload;
  const ResourceVector old = ResourceVector::of(1'000, 0);
  const ResourceVector large = ResourceVector::of(2'000, 0);
  workload.note(old, 1'000);
  workload.note(large, 1'000'000);
  ASSERT_EQ(workload.typical().size(), 2u);
  EXPECT_EQ(workload.typical()[0].shape, large);
  EXPECT_EQ(workload.typical()[0].count, fair::Workload::kTasksMax);
  EXPECT_EQ(workload.typical()[1].count, 1'000);
  // Until aging has removed it.
  for (int i = 0; i < 60; ++i) workload.note(large, fair::Workload::kTasksMax);
  ASSERT_EQ(workload.typical().size(), 1u);
  EXPECT_LE(workload.typical()[0].count, fair::Workload::kWorkloadMax);
}

TEST(Workload, OnlyTheMostPopularShapesAreTypical) {
  fair::Workload workload;
  for (int64_t i = 1; i <= 100; ++i) workload.note(ResourceVector::of(i, 0), i);
  ASSERT_EQ(workload.typical().size(), fair::Workload::kTypicalMax);
  const uint64_t version = workload.version();
  workload.note(ResourceVector::of(7, 0), 1);
  EXPECT_EQ(workload.version(), version) << "one of thousands changes nothing at once";
  workload.note(ResourceVector::of(7, 0), 1'000);
  EXPECT_NE(workload.version(), version);
  EXPECT_EQ(workload.typical()[0].shape, ResourceVector::of(7, 0));
}

// Several tasks that are given in one decision are placed as if each came by itself.
TEST(PlacementPolicies, PlaceManyTasksAtOnceAsOneByOne) {
  for (const Placement placement : kPolicies) {
    std::vector<std::map<std::string, int64_t>> found;
    for (const bool at_once : {false, true}) {
      AllocatorScenario s(by(placement));
      s.agent("a1", "cpus:8;mem:4GiB");
      s.agent("a2", "cpus:4;mem:8GiB");
      s.agent("a3", "cpus:6;mem:6GiB");
      for (int i = 0; i < (at_once ? 1 : 9); ++i) {
        s.framework("f").asks("cpus:1;mem:512", at_once ? 9 : 1);
        s.run_until_nothing_fits();
      }
      std::map<std::string, int64_t>& on = found.emplace_back();
      for (const char* agent : {"a1", "a2", "a3"}) on[agent] = s.framework("f").tasks_on(agent);
    }
    EXPECT_EQ(found[0], found[1]) << to_text(placement);
  }
}

TEST(PlacementPolicies, AGangFillsTheAgentsInTheirOrder) {
  const std::map<Placement, Offers> expected = {
      {Placement::kBalanced, {"a2 cpus:2;mem:2048", "a3 cpus:1;mem:1024"}},
      {Placement::kBestFit, {"a2 cpus:2;mem:2048", "a3 cpus:1;mem:1024"}},
      {Placement::kSpread, {"a1 cpus:3;mem:3072"}},
      {Placement::kWorstFit, {"a1 cpus:3;mem:3072"}},
      {Placement::kDotProduct, {"a1 cpus:3;mem:3072"}},
      // The first task on a2 or a3 leaves room for the next on each; a2 is the best fit.
      {Placement::kFgd, {"a2 cpus:2;mem:2048", "a3 cpus:1;mem:1024"}},
  };
  for (const auto& [placement, offers] : expected) {
    AllocatorScenario s(by(placement));
    s.agent("a1", "cpus:8;mem:8GiB");
    s.agent("a2", "cpus:2;mem:2GiB");
    s.agent("a3", "cpus:4;mem:4GiB");
    s.framework("f").asks({.name = AskName("task"),
                           .shape = parse_shape("cpus:1;mem:1GiB").value(),
                           .count = 3,
                           .gang = 3});
    s.decide();
    EXPECT_EQ(s.framework("f").offers(), offers) << to_text(placement);
  }
}

// --- against the formula ------------------------------------------------------------------------

// The requested tasks, by shape.
using Shapes = std::vector<std::pair<ResourceVector, int64_t>>;

double fraction(const ResourceVector& amounts, const ResourceVector& total) {
  double sum = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0) continue;
    sum += static_cast<double>(amounts[kind]) / static_cast<double>(total[kind]);
  }
  return sum;
}

// The mean, over the requested tasks, of the free amounts that the task cannot use.
double fragments(const Resources& free, const Shapes& shapes, const ResourceVector& total) {
  double sum = 0;
  int64_t tasks = 0;
  for (const auto& [shape, count] : shapes) {
    tasks += count;
    ResourceVector lost;
    if (!fits(shape, free)) {
      lost = free.amounts;
    } else {
      for (const GpuDevice& device : free.gpus) {
        const bool is_enough = device.milli >= std::min<int64_t>(shape[ResourceKind::kGpus], 1'000);
        if (!is_enough) lost[ResourceKind::kGpus] += device.milli;
      }
    }
    sum += static_cast<double>(count) * fraction(lost, total);
  }
  return sum / static_cast<double>(tasks);
}

// How much is left over of an agent that is filled with such tasks: the product over the kinds of
// the total over what is used.
double left_over(const ResourceVector& shape, const ResourceVector& total) {
  double tightest = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0) continue;
    tightest =
        std::max(tightest, static_cast<double>(shape[kind]) / static_cast<double>(total[kind]));
  }
  double product = 1;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0) continue;
    const double used = static_cast<double>(shape[kind]) / static_cast<double>(total[kind]);
    product *= used > 0 ? std::min(tightest / used, 1024.0) : 1024.0;
  }
  return product;
}

// The cost of an agent by a policy; the least is best.
double cost(Placement placement, const AgentUse& agent, const ResourceVector& shape,
            const Shapes& shapes, const ResourceVector& total) {
  double most_used = 0;
  double aligned = 0;
  for (const ResourceKind kind : kResourceKinds) {
    const auto free = static_cast<double>(agent.free.amounts[kind]);
    const auto here = static_cast<double>(agent.total[kind]);
    const auto all = static_cast<double>(total[kind]);
    if (all == 0) continue;
    aligned += free / all * static_cast<double>(shape[kind]) / all;
    if (here > 0) most_used = std::max(most_used, (here - free) / here);
  }
  switch (placement) {
    case Placement::kBalanced:
      return left_over(shape, agent.total);
    case Placement::kBestFit:
      return fraction(agent.free.amounts, total);
    case Placement::kWorstFit:
      return -fraction(agent.free.amounts, total);
    case Placement::kSpread:
      return most_used;
    case Placement::kDotProduct:
      return -aligned;
    case Placement::kFgd: {
      Resources rest = agent.free;
      rest -= carve(shape, rest);
      return fragments(rest, shapes, total) - fragments(agent.free, shapes, total);
    }
  }
  return 0;
}

class World {
 public:
  World(Placement placement, uint64_t seed) : placement_(placement), random_(seed) {
    const int64_t agents = random_.between(3, 60);
    for (int64_t i = 0; i < agents; ++i) {
      Resources all{.amounts = ResourceVector::of(1'000 * random_.between(2, 32),
                                                  kGib * random_.between(2, 64))};
      if (random_.chance(1, 3)) {
        const auto gpus = static_cast<int32_t>(random_.between(1, 8));
        for (int32_t gpu = 0; gpu < gpus; ++gpu) all.gpus.push_back({gpu, kWholeDevice});
        all.amounts[ResourceKind::kGpus] = gpus * kWholeDevice;
      }
      allocator_.set_agent(AgentId(text("a", i)), {.slices = {Slice{.resources = all}}});
    }
    for (int i = 0; i < 12; ++i) {
      ResourceVector shape =
          ResourceVector::of(500 * random_.between(1, 12), kGib / 2 * random_.between(1, 16));
      if (random_.chance(1, 2)) {
        shape[ResourceKind::kGpus] =
            random_.chance(1, 2) ? 100 * random_.between(1, 9) : 1'000 * random_.between(1, 4);
      }
      asked_.emplace_back(shape, 0);
    }
    allocator_.add_framework(framework_, RoleName("default"), OfferMode::kAsks);
  }

  // A task arrives, and sometimes another ends. The chosen agent must be as good as any.
  void step() {
    if (!running_.empty() && random_.chance(1, 3)) {
      const size_t i = random_.below(running_.size());
      allocator_.release(running_[i].first, framework_, running_[i].second);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const ResourceVector shape = ask();
    const std::vector<AgentUse> before = allocator_.agents();
    const AskName name(text("t", ++count_));
    now_ = now_ + milliseconds(1);
    allocator_.declare_asks(framework_, {{.name = name, .shape = shape, .count = 1}}, now_);
    const Decision decision = allocator_.decide(now_);
    ASSERT_TRUE(allocator_.violations().empty());
    const std::optional<AgentId> chosen =
        decision.grants.empty() ? std::nullopt : std::optional(decision.grants[0]->offer.agent);
    check(before, shape, chosen);
    if (!chosen) return;
    const Offer& offer = decision.grants[0]->offer;
    RunningTask task{.task = TaskId(name.str()),
                     .ask = name,
                     .claim = {.slices = offer.slices, .role = RoleName("default")},
                     .since = now_};
    running_.emplace_back(*chosen, task.task);
    allocator_.settle({offer.id}, {std::move(task)}, {}, now_);
  }

  int64_t placed() const { return placed_; }

 private:
  static constexpr int64_t kGib = 1'024'000;

  // The shape of the next task. The policy's shapes are updated only after an eighth more tasks.
  ResourceVector ask() {
    auto& [shape, count] = asked_[random_.below(asked_.size())];
    ++count;
    ++since_;
    if (since_ * 8 > count_) {
      since_ = 0;
      known_ = asked_;
    }
    return shape;
  }

  void check(const std::vector<AgentUse>& agents, const ResourceVector& shape,
             const std::optional<AgentId>& chosen) {
    const bool wants_gpus = shape[ResourceKind::kGpus] > 0;
    const auto has_gpus = [](const AgentUse& a) { return a.total[ResourceKind::kGpus] > 0; };
    std::vector<const AgentUse*> able;
    for (const AgentUse& agent : agents) {
      if (fits(shape, agent.free)) able.push_back(&agent);
    }
    ASSERT_EQ(able.empty(), !chosen.has_value());
    if (able.empty()) return;
    ++placed_;
    if (!wants_gpus &&
        !std::all_of(able.begin(), able.end(), [&](const AgentUse* a) { return has_gpus(*a); })) {
      std::erase_if(able, [&](const AgentUse* a) { return has_gpus(*a); });
    }
    double least = std::numeric_limits<double>::max();
    std::optional<double> of_chosen;
    for (const AgentUse* agent : able) {
      const double its = cost(placement_, *agent, shape, known_, allocator_.total());
      least = std::min(least, its);
      if (agent->agent == *chosen) of_chosen = its;
    }
    ASSERT_TRUE(of_chosen) << chosen->str() << " does not fit, or has gpus";
    // The core counts in integers, rounded down.
    if (placement_ == Placement::kBalanced) {
      // The totals of two agents of a family differ by a half in each ratio from those of its
      // first agent, and there are three kinds.
      constexpr double kFamily = 1.5 * 1.5 * 1.5 * 1.5;
      EXPECT_LE(*of_chosen, least * kFamily * 1.01) << to_text(shape) << " on " << chosen->str();
      return;
    }
    EXPECT_LE(*of_chosen, least + 1e-5) << to_text(shape) << " on " << chosen->str();
  }

  const Placement placement_;
  Prng random_;
  Allocator allocator_{by(placement_)};
  const FrameworkId framework_{"f"};
  std::vector<std::pair<AgentId, TaskId>> running_;
  Shapes asked_;
  Shapes known_;
  int64_t since_ = 0;
  int64_t count_ = 0;
  int64_t placed_ = 0;
  Time now_ = Time() + seconds(1);
};

TEST(PlacementPolicies, EachChosenAgentIsTheBestByTheFormula) {
  for (const Placement placement : kPolicies) {
    int64_t placed = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      World world(placement, seed);
      for (int i = 0; i < 120 && !testing::Test::HasFailure(); ++i) world.step();
      placed += world.placed();
      ASSERT_FALSE(testing::Test::HasFailure()) << to_text(placement) << ", seed " << seed;
    }
    EXPECT_GT(placed, 1'000) << to_text(placement);
  }
}

}  // namespace
}  // namespace proffer::placement_policies_test
