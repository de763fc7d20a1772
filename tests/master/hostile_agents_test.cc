// Agents that report random slices, devices and tasks: complete, partial, duplicated, reserved,
// revocable, and different each time, while operators reserve and frameworks launch. Inconsistent
// reports are refused, accepted ones keep every invariant, and other peers are not affected.

#include "common/prng.h"
#include "tests/master/cluster.h"
#include "tests/support/seeds.h"

namespace proffer::master::hostile_agents_test {
namespace {

constexpr const char* kRoles[] = {"", "a", "a/b", "c"};

class Story {
 public:
  explicit Story(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) agents_.push_back(&s_.agent(text("a", i)));
    honest_ = &s_.registered_agent("honest");
    for (const char* role : {"a/b", "c"}) {
      TestScheduler& one = s_.subscribed(text("f-", role[0]), role);
      one.asks(random_.chance(1, 2) ? "cpus:1;gpus:0.5" : "gpus:1", 8);
      schedulers_.push_back(&one);
    }
  }

  void happens() {
    switch (random_.below(8)) {
      case 0:
        return s_.advance(milliseconds(random_.between(1, 3'000)));
      case 1:
        return operates();
      case 2: {
        TestAgent& a = any_agent();
        if (a.is_connected()) a.lose();
        return;
      }
      case 3:
      case 4:
        return takes();
      default:
        return registers();
    }
  }
  bool is_well() const { return honest_->is_connected(); }
  int let_in() const { return let_in_; }
  int refused() const { return refused_; }

 private:
  TestAgent& any_agent() { return *agents_[random_.below(agents_.size())]; }

  Resources something() {
    Resources some{.amounts = ResourceVector::of(random_.between(0, 4) * 500, 0)};
    int32_t device = -1;
    while (random_.chance(2, 3)) {
      device += static_cast<int32_t>(random_.between(random_.chance(1, 20) ? 0 : 1, 2));
      const auto milli = static_cast<int32_t>(random_.between(1, 5) * 200);
      some.gpus.push_back({std::max(device, 0), milli});
      some.amounts[ResourceKind::kGpus] += milli;
    }
    return some;
  }

  void registers() {
    TestAgent& a = any_agent();
    a.slices.clear();
    do {
      a.slices.push_back({.resources = something(),
                          .reserved_for = RoleName(kRoles[random_.below(4)]),
                          .revocable = random_.chance(1, 5)});
    } while (random_.chance(1, 2));
    for (auto& [key, task] : a.tasks) {
      if (random_.chance(1, 8)) task.resources = something();
    }
    a.registers();
    s_.settle();
    (a.was_dropped() ? refused_ : let_in_) += 1;
  }

  void operates() {
    const std::string amounts = random_.chance(1, 2) ? "cpus:0.5;gpus:1" : "gpus:0.6";
    s_.calls(ReserveForRole{.agent = AgentId(any_agent().name),
                            .role = RoleName(kRoles[1 + random_.below(3)]),
                            .amounts = *parse_shape(amounts),
                            .unreserve = random_.chance(1, 3)});
    s_.settle();
  }

  void takes() {
    TestScheduler& f = *schedulers_[random_.below(schedulers_.size())];
    if (f.offers.empty()) return;
    const Offer offer = f.offers.front();
    if (random_.chance(1, 3)) return f.declines(offer);
    const ResourceVector all = sum_of(offer.slices).amounts;
    proto::TaskSpec spec;
    spec.id = TaskId(text("t", ++tasks_));
    spec.ask = AskName("t");
    spec.shape = all;
    int64_t& gpus = spec.shape[ResourceKind::kGpus];
    if (gpus > 1'000) gpus = 1'000;
    spec.command = "true";
    f.accepts({offer}, {spec});
    s_.settle();
  }

  Prng random_;
  MasterScenario s_;
  std::vector<TestAgent*> agents_;
  std::vector<TestScheduler*> schedulers_;
  TestAgent* honest_ = nullptr;
  int tasks_ = 0;
  int let_in_ = 0;
  int refused_ = 0;
};

TEST(HostileAgents, ThatSayAnythingDisturbNobody) {
  int let_in = 0;
  int refused = 0;
  for (const uint64_t seed : Seeds(400)) {
    SCOPED_TRACE(text("seed ", seed));
    Story story(seed);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) story.happens();
    ASSERT_TRUE(story.is_well());
    ASSERT_FALSE(testing::Test::HasFailure());
    let_in += story.let_in();
    refused += story.refused();
  }
  if (!Seeds(400).enough()) return;
  EXPECT_GT(let_in, 400);
  EXPECT_GT(refused, 400);
}

}  // namespace
}  // namespace proffer::master::hostile_agents_test
