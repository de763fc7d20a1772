#include "allocator/cluster/free_agents.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::free_agents_test {
namespace {

using fair::Agent;

const ResourceVector kTotal = ResourceVector::of(1'000'000, 4'000'000);

// Compares the index with a scan of all agents, during random changes.
TEST(FreeAgents, AreVisitedByBestFitWithoutThoseThatHaveTooLittleOfAKind) {
  Prng prng(7);
  fair::FreeAgents free;
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 400; ++i) {
    agents.push_back(std::make_unique<Agent>());
    agents.back()->id = AgentId("a" + std::to_string(i));
    agents.back()->total.amounts = ResourceVector::of(16'000, 64'000);
    free.update(*agents.back(), kTotal, true);
  }
  uint64_t stamp_before = 0;
  for (int step = 0; step < 3'000; ++step) {
    Agent& agent = *agents[prng.below(agents.size())];
    // Few distinct amounts, so that many are equal; often nothing is free.
    const auto used = ResourceVector::of(4'000 * prng.between(0, 4), 16'000 * prng.between(0, 4));
    agent.allocated = {};
    agent.allocated.add({.amounts = used});
    agent.active = prng.below(10) > 0;
    if (agent.listed && !agent.active) free.erase(agent);
    free.update(agent, kTotal, prng.below(2) == 0);
    if (step == 500) free.begin_freest_first();
    if (step % 700 == 0) free.weigh_anew(kTotal);
    if (step % 100 == 0) stamp_before = free.latest();
    if (step % 10 != 0) continue;

    const auto shape = ResourceVector::of(4'000 * prng.between(0, 4), 16'000 * prng.between(1, 4));
    std::vector<Agent*> wanted;
    ResourceVector sum;
    std::vector<Agent*> grown;
    for (const auto& one : agents) {
      const ResourceVector& left = one->free.amounts;
      ASSERT_EQ(one->listed, one->active && !left.is_zero()) << one->id.str();
      if (!one->listed) continue;
      sum += left;
      if (one->grown_at > stamp_before) grown.push_back(one.get());
      if (shape.fits_in(left)) wanted.push_back(one.get());
    }
    std::sort(wanted.begin(), wanted.end(), [](const Agent* a, const Agent* b) {
      const int64_t of_a = fair::weighted(a->free.amounts, kTotal);
      const int64_t of_b = fair::weighted(b->free.amounts, kTotal);
      return of_a != of_b ? of_a < of_b : a->id < b->id;
    });
    std::vector<Agent*> visited;
    free.in_index(0).visit(fair::weighted(shape, kTotal), shape, [&](Agent* one) {
      visited.push_back(one);
      return false;
    });
    ASSERT_EQ(visited, wanted) << "step " << step;
    EXPECT_TRUE(free.sum(RoleName("r")) == sum) << "step " << step;

    std::sort(grown.begin(), grown.end(),
              [](const Agent* a, const Agent* b) { return a->grown_at > b->grown_at; });
    std::vector<Agent*> grown_visited;
    free.visit_grown(stamp_before, [&](Agent* one) {
      grown_visited.push_back(one);
      return false;
    });
    ASSERT_EQ(grown_visited, grown) << "step " << step;

    if (step < 500) continue;
    std::sort(grown.begin(), grown.end(), [](const Agent* a, const Agent* b) {
      return a->weighted_free != b->weighted_free ? a->weighted_free > b->weighted_free
                                                  : a->id < b->id;
    });
    std::vector<Agent*> freest;
    free.freest_first().visit_from(0, nullptr, stamp_before, [&](Agent* one) {
      freest.push_back(one);
      return false;
    });
    ASSERT_EQ(freest, grown) << "step " << step;
    const auto without_cpus = std::count_if(agents.begin(), agents.end(), [](const auto& one) {
      return one->listed && one->free.amounts[ResourceKind::kCpus] == 0;
    });
    EXPECT_EQ(free.any_lacking(1), without_cpus > 0) << "step " << step;
  }
}

}  // namespace
}  // namespace proffer::free_agents_test
