#pragma once

// Adversaries: an agent and a scheduler whose messages are all false. Both have the means of every
// peer: a connection, their own identity, and any knowledge about others, here all of it. By law
// they receive nothing except tasks that they were given to run, and no other peer is affected
// (LiarLaw).

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/channel.h"
#include "proto/history.h"
#include "sim/journal.h"
#include "sim/master_node.h"
#include "sim/network.h"
#include "sim/world.h"

namespace proffer::sim {

inline const AgentId kLiar("liar");
// The role of the lying agent's reserved resources, which no other role uses.
inline const RoleName kLiarsRole("liars");

// A liar's knowledge about others: all that there is.
struct KnownOfOthers {
  std::vector<FrameworkId> frameworks = {};
  std::vector<TaskKey> tasks = {};
  std::vector<AgentId> agents = {};
};
using Spy = std::function<KnownOfOthers()>;

// A peer without a core: it connects, keeps its channel, and sends a message now and then.
class Liar : public Node, public Caller {
 public:
  Liar(World& world, Network& network, std::vector<Place> masters, std::string name, Spy spy);
  void start();
  // Ends it permanently.
  void end();

  std::optional<Time> next_deadline() const override { return std::nullopt; }
  void tick() override {}
  std::vector<Violation> violations() const override { return {}; }
  void on_line_connected() override;
  void on_line_frame(proto::Envelope envelope) override;
  void on_line_disconnected(const std::string&) override { is_connected_ = false; }

 protected:
  // Begins on a new connection.
  virtual void begins() = 0;
  virtual void hears(const proto::Message& message) = 0;
  // Sends one false message, when registered or subscribed.
  virtual void lies() = 0;

  void say(proto::Message message);
  void reconnect();
  void again(uint64_t life);
  FrameworkId any_framework();
  TaskKey any_task();
  AgentId any_agent();

  Network& network_;
  std::vector<Place> masters_;
  Spy spy_;
  Party party_;
  Prng chance_;
  Secret secret_;
  Line line_ = {};
  proto::Channel channel_ = {};
  LeaderEpoch leader_ = {};
  bool is_connected_ = false;
  bool is_served_ = false;  // registered or subscribed on this connection
  uint64_t lives_ = 0;      // number of its connections
};

class LyingAgent final : public Liar {
 public:
  // `friends`: the framework that may run tasks there.
  LyingAgent(World& world, Network& network, std::vector<Place> masters, Spy spy,
             std::function<FrameworkId()> friends);

 private:
  void begins() override;
  void hears(const proto::Message& message) override;
  void lies() override;
  proto::AgentTask made_up();
  proto::TaskStatus made_up_status(const TaskId& task, uint64_t sequence);

  std::function<FrameworkId()> friends_;
  std::map<TaskKey, proto::AgentTask> given_;  // tasks that masters gave it to run
};

class LyingScheduler final : public Liar {
 public:
  LyingScheduler(World& world, Network& network, std::vector<Place> masters, Spy spy);
  const FrameworkId& framework() const { return framework_; }

 private:
  void begins() override;
  void hears(const proto::Message& message) override;
  void lies() override;
  void takes();

  FrameworkId framework_ = {};
  std::set<TaskId> launched_ = {};
  std::vector<Offer> offers_ = {};
  uint64_t generation_ = 0;
  int64_t tasks_ = 0;
};

// The violations in which a master gave something to the liars, or acted for them. `total`: of the
// machines of others.
std::vector<Violation> given_to_liars(const master::Master& core, const FrameworkId& friends,
                                      const KnownOfOthers& others, const ResourceVector& total);
// Likewise for entries that are in the history permanently.
std::optional<Violation> kept_for_liars(const proto::HistoryRecord& record,
                                        const FrameworkId& friends);

}  // namespace proffer::sim
