// Virtual time, the network's promises, and the end of a run at a broken law.

#include "sim/world.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/network.h"
#include "sim/sim_task.h"
#include "sim/simulation.h"

namespace proffer::sim::world_test {
namespace {

using Story = std::vector<std::string>;

// Records its ticks; wants one tick.
class Clock final : public Node {
 public:
  Clock(World& world, Story& story, Time at) : Node(world, "clock"), story_(story), at_(at) {
    begin_life();
    stepped();
  }
  std::optional<Time> next_deadline() const override { return at_; }
  void tick() override {
    story_.push_back("tick");
    if (!again) at_.reset();
    stepped();
  }
  std::vector<Violation> violations() const override { return wrong; }
  void end() { end_life(); }
  void plan(Duration duration, const std::string& what) {
    later(duration, [this, what] { story_.push_back(what); });
  }

  bool again = false;
  std::vector<Violation> wrong = {};

 private:
  Story& story_;
  std::optional<Time> at_;
};

TEST(World, HandlesAllOfAnInstantBeforeItTicks) {
  World world(1);
  Story story;
  const Time at = Time() + seconds(1);
  Clock clock(world, story, at);
  world.at(at, [&] {
    story.push_back("first");
    world.at(at, [&] { story.push_back("third"); });
  });
  world.at(at, [&] { story.push_back("second"); });
  EXPECT_FALSE(world.run_until(Time() + seconds(5), {}));
  EXPECT_EQ(story, (Story{"first", "second", "third", "tick"}));
  EXPECT_EQ(world.now(), Time() + seconds(5));
}

TEST(World, WhatAnEndedLifePlannedDoesNotHappen) {
  World world(1);
  Story story;
  Clock clock(world, story, Time() + seconds(9));
  clock.plan(seconds(1), "early");
  clock.plan(seconds(3), "late");
  world.run_until(Time() + seconds(2), {});
  clock.end();
  world.run_until(Time() + seconds(20), {});
  EXPECT_EQ(story, Story{"early"});
}

TEST(World, AFrozenProcessDoesAllThatWaitedWhenItWakesUp) {
  for (const bool late : {false, true}) {
    World world(1);
    Story story;
    Clock clock(world, story, Time() + seconds(2));
    clock.plan(seconds(1), "early");
    clock.plan(seconds(3), "on time");
    clock.freeze();
    world.run_until(Time() + seconds(4), {});
    EXPECT_TRUE(story.empty());
    clock.thaw(late);
    clock.plan(seconds(1), "after");
    world.run_until(Time() + seconds(9), {});
    EXPECT_EQ(story, late ? (Story{"tick", "early", "on time", "after"})
                          : (Story{"early", "on time", "tick", "after"}));
  }
}

TEST(World, FindsACoreThatAsksForTicksWithoutEnd) {
  World world(1);
  Story story;
  Clock clock(world, story, Time() + seconds(1));
  clock.again = true;
  world.run_until(Time() + seconds(5), {});
  ASSERT_EQ(world.violations().size(), 1u);
  EXPECT_EQ(world.now(), Time() + seconds(1));
}

TEST(World, AViolationEndsTheRun) {
  World world(1);
  Story story;
  Clock clock(world, story, Time() + seconds(1));
  clock.wrong.push_back({"two and two are five"});
  world.at(Time() + seconds(2), [&] { story.push_back("never"); });
  world.run_until(Time() + seconds(5), {});
  EXPECT_EQ(world.violations(), (std::vector<Violation>{{"clock: two and two are five"}}));
  EXPECT_EQ(story, Story{"tick"});
  EXPECT_NE(world.history().last().back().find("violated"), std::string::npos);
}

// --- the network -------------------------------------------------------------------------------

class Ear final : public Listener, public Caller {
 public:
  explicit Ear(Story& story) : story_(story) {}
  void on_peer_frame(PeerId peer, proto::Envelope envelope) override {
    last_peer = peer;
    story_.push_back("heard " + std::to_string(envelope.sequence));
  }
  void on_peer_lost(PeerId) override { story_.push_back("lost"); }
  void on_line_connected() override { story_.push_back("connected"); }
  void on_line_frame(proto::Envelope envelope) override {
    story_.push_back("told " + std::to_string(envelope.sequence));
  }
  void on_line_disconnected(const std::string&) override { story_.push_back("disconnected"); }
  PeerId last_peer = {};

 private:
  Story& story_;
};

proto::Envelope frame(uint64_t sequence) {
  return {.sequence = sequence, .message = proto::Heartbeat{}};
}

struct Wire {
  World world{3};
  Network network{world};
  Story story;
  Ear listener{story};
  Ear caller{story};
  Party server = network.add_party();
  Party client = network.add_party();
  Place place = network.add_place(server);
  Line line = {};

  void connect() {
    network.listen(place, &listener);
    line = network.call(client, {place}, &caller);
    run();
    network.send(line, frame(1));
    run();
    story.clear();
  }
  void run() { world.run_until(world.now() + seconds(5), {}); }
};

TEST(Network, KeepsTheOrderOfFramesWithoutFaults) {
  Wire w;
  w.connect();
  for (uint64_t i = 2; i < 7; ++i) w.network.send(w.line, frame(i));
  w.run();
  EXPECT_EQ(w.story, (Story{"heard 2", "heard 3", "heard 4", "heard 5", "heard 6"}));
}

TEST(Network, TellsBothEndsOfABrokenConnectionAndConnectsAgain) {
  Wire w;
  w.connect();
  w.network.set_rates({.broken = 1'000'000});
  w.network.send(w.line, frame(2));
  w.network.set_rates({});
  w.run();
  EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "lost"), 1);
  EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "disconnected"), 1);
  EXPECT_EQ(w.story.back(), "connected");
}

TEST(Network, ADroppedPeerHearsWhatWasSentAndNoticesWhenItSpeaks) {
  Wire w;
  w.connect();
  w.network.send(w.listener.last_peer, frame(1));
  w.network.drop(w.listener.last_peer);
  w.run();
  EXPECT_EQ(w.story, Story{"told 1"});
  w.network.send(w.line, frame(2));
  w.run();
  EXPECT_EQ(w.story, (Story{"told 1", "disconnected", "connected"}));
}

TEST(Network, WhatALinkHoldsBackComesAtOnceAndInOrder) {
  Wire w;
  w.connect();
  const uint64_t rule = w.network.add_rule({.from = {w.network.site_of(w.client)},
                                            .to = {w.network.site_of(w.server)},
                                            .blocked = true});
  for (uint64_t i = 2; i < 5; ++i) w.network.send(w.line, frame(i));
  w.network.send(w.listener.last_peer, frame(1));
  w.run();
  EXPECT_EQ(w.story, Story{"told 1"});  // the other direction is open
  w.network.end_rule(rule, false);
  w.world.run_until(w.world.now(), {});
  EXPECT_EQ(w.story, (Story{"told 1", "heard 2", "heard 3", "heard 4"}));
}

TEST(Network, NobodyConnectsAcrossACut) {
  Wire w;
  w.network.listen(w.place, &w.listener);
  const uint64_t rule = w.network.add_rule({.from = {w.network.site_of(w.server)},
                                            .to = {w.network.site_of(w.client)},
                                            .blocked = true});
  w.line = w.network.call(w.client, {w.place}, &w.caller);
  w.world.run_until(w.world.now() + minutes(1), {});
  EXPECT_TRUE(w.story.empty());
  w.network.end_rule(rule, false);
  w.world.run_until(w.world.now() + seconds(10), {});
  EXPECT_EQ(w.story, Story{"connected"});
}

TEST(Network, AConnectionThatWaitedLongMayTurnOutToBeBroken) {
  bool came = false;
  bool broke = false;
  for (int i = 0; i < 20 && !(came && broke); ++i) {
    Wire w;
    w.world.at(w.world.now(), [] {});
    for (int j = 0; j < i; ++j) w.network.add_party();
    w.connect();
    const uint64_t rule = w.network.add_rule({.from = {w.network.site_of(w.client)},
                                              .to = {w.network.site_of(w.server)},
                                              .blocked = true});
    for (int j = 0; j <= i; ++j) w.network.send(w.line, frame(2));
    w.run();
    w.network.end_rule(rule, true);
    w.world.run_until(w.world.now() + minutes(2), {});
    const bool heard = std::count(w.story.begin(), w.story.end(), "heard 2") > 0;
    came = came || heard;
    broke = broke || !heard;
    if (!heard) {  // then both ends notice, each at its own time
      EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "lost"), 1);
      EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "disconnected"), 1);
    }
  }
  EXPECT_TRUE(came);
  EXPECT_TRUE(broke);
}

TEST(Network, ASlowPeerIsGivenUpWhenTooMuchWaits) {
  Wire w;
  w.connect();
  w.network.set_rates({.outgoing_max = 10});
  w.network.freeze(w.client);
  for (uint64_t i = 1; i <= Network::kTransit + 10; ++i) {
    w.network.send(w.listener.last_peer, frame(i));
  }
  w.run();
  EXPECT_TRUE(w.story.empty());
  w.network.send(w.listener.last_peer, frame(99));
  w.run();
  EXPECT_EQ(w.story, Story{"lost"});
  // Frames in transit arrive, others are lost; the next send ends the connection.
  w.story.clear();
  w.network.thaw(w.client);
  w.run();
  ASSERT_EQ(w.story.size(), Network::kTransit);
  EXPECT_EQ(w.story.back(), "told " + std::to_string(Network::kTransit));
  w.network.send(w.line, frame(2));
  w.run();
  EXPECT_EQ(w.story.back(), "connected");
}

TEST(Network, ASlowProcessTakesItsTimeForEachFrame) {
  Wire w;
  w.connect();
  w.network.set_pace(w.server, seconds(2));
  for (uint64_t i = 2; i < 5; ++i) w.network.send(w.line, frame(i));
  w.world.run_until(w.world.now() + seconds(1), {});
  EXPECT_EQ(w.story, Story{"heard 2"});
  w.world.run_until(w.world.now() + seconds(2), {});
  EXPECT_EQ(w.story, (Story{"heard 2", "heard 3"}));
}

TEST(Network, NobodyIsToldWhenAMachineLosesItsPowerUntilItIsBack) {
  Wire w;
  w.connect();
  w.network.set_power(w.network.site_of(w.client), false);
  w.network.hang_up(w.line);
  w.network.send(w.listener.last_peer, frame(1));
  w.run();
  EXPECT_TRUE(w.story.empty());
  w.network.set_power(w.network.site_of(w.client), true);
  w.network.send(w.listener.last_peer, frame(2));
  w.run();
  EXPECT_EQ(w.story, Story{"lost"});
}

TEST(Network, AHalfOpenConnectionIsFoundOutByBothEndsInTheEnd) {
  Wire w;
  w.connect();
  w.network.set_rates({.half_open = 1'000'000});
  w.network.send(w.line, frame(2));
  w.network.set_rates({});
  w.world.run_until(w.world.now() + minutes(2), {});
  EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "lost"), 1);
  EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "disconnected"), 1);
  EXPECT_EQ(std::count(w.story.begin(), w.story.end(), "connected"), 1);
}

TEST(Network, AProcessThatEndsIsMissedByItsPeers) {
  Wire w;
  w.connect();
  w.network.hang_up(w.line);
  w.run();
  EXPECT_EQ(w.story, Story{"lost"});

  Wire v;
  v.connect();
  v.network.shut(v.place);
  v.run();
  EXPECT_EQ(v.story, Story{"disconnected"});
  v.network.listen(v.place, &v.listener);
  v.run();
  EXPECT_EQ(v.story, (Story{"disconnected", "connected"}));
}

TEST(Network, LosesAndRepeatsOnlyWhenAskedTo) {
  Wire w;
  w.connect();
  w.network.set_rates({.lost = 1'000'000});
  w.network.send(w.line, frame(2));
  w.run();
  EXPECT_TRUE(w.story.empty());
  w.network.set_rates({.repeated = 1'000'000});
  w.network.send(w.line, frame(3));
  w.run();
  EXPECT_EQ(w.story, (Story{"heard 3", "heard 3"}));
}

// --- tasks and runs ----------------------------------------------------------------------------

TEST(SimTask, ItsCommandSaysAll) {
  for (const SimTask& task :
       {SimTask{.runs = milliseconds(1'500)}, SimTask{.runs = seconds(2), .exit_code = 3},
        SimTask{.runs = seconds(2), .signal = 11}, SimTask{.runs = hours(100), .stubborn = true}}) {
    EXPECT_EQ(parse_sim_task(to_command(task)), task) << to_command(task);
  }
  EXPECT_EQ(parse_sim_task("echo hello").runs, seconds(1));
}

// A master that never returns: the liveness phase reports what is missing, and the command to
// repeat the run.
TEST(Simulation, ACaseThatCannotEndIsFound) {
  Simulation simulation({.seed = 3, .workload = "many_small", .agents = 1, .faults = FaultKinds()});
  simulation.world().after(seconds(10), [&] { simulation.agents()[0]->crash(); });
  const SimReport report = simulation.run();
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report.last_events.empty());
}

// The scheduler's journal contains no accept: the first start is a violation.
TEST(Simulation, ALieInTheJournalEndsTheRun) {
  Simulation simulation({.seed = 3, .workload = "many_small", .agents = 1, .faults = FaultKinds()});
  simulation.journal().machine(AgentId("a1"), Resources());
  const SimReport report = simulation.run();
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.violations.front().what.find("but has"), std::string::npos);
}

}  // namespace
}  // namespace proffer::sim::world_test
