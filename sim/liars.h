#pragma once

// Adversaries: an agent and a scheduler of which no word is to be believed. Both have what every
// peer has: a connection, an identity of their own, and what they may have found out about others,
// here everything. By law they get nothing that they were not given to run, and nobody else notices
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
// Whose reserved resources the lying agent brings: others use nothing of it.
inline const RoleName kLiarsRole("liars");

// What a liar knows of others: all that there is to know.
struct KnownOfOthers {
  std::vector<FrameworkId> frameworks = {};
  std::vector<TaskKey> tasks = {};
  std::vector<AgentId> agents = {};
};
using Spy = std::function<KnownOfOthers()>;

// A peer without a core: connects, keeps its channel, and says something now and then.
class Liar : public Node, public Caller {
 public:
  Liar(World& world, Network& network, std::vector<Place> masters, std::string name, Spy spy);
  void start();
  // For good.
  void end();

  std::optional<Time> next_deadline() const override { return std::nullopt; }
  void tick() override {}
  std::vector<Violation> violations() const override { return {}; }
  void on_line_connected() override;
  void on_line_frame(proto::Envelope envelope) override;
  void on_line_disconnected(const std::string&) override { is_connected_ = false; }

 protected:
  // On a fresh connection.
  virtual void begins() = 0;
  virtual void hears(const proto::Message& message) = 0;
  // Registered or subscribed: says one thing.
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
  uint64_t lives_ = 0;      // of its connections
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
  std::map<TaskKey, proto::AgentTask> given_;  // by masters, to run
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

// What a master must not have given or done for the liars. `total`: of the machines of others.
std::vector<Violation> given_to_liars(const master::Master& core, const FrameworkId& friends,
                                      const KnownOfOthers& others, const ResourceVector& total);
// Likewise: what goes into the history for good.
std::optional<Violation> kept_for_liars(const proto::HistoryRecord& record,
                                        const FrameworkId& friends);

}  // namespace proffer::sim
