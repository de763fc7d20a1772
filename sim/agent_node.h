#pragma once

// The agent as a simulated process on a Host: the production core, whose checkpoint is on the
// host's disk before its actions are carried out.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/host.h"
#include "sim/network.h"
#include "sim/world.h"
#include "slave/core/agent.h"

namespace proffer::sim {

class AgentNode final : public Node, public Listener, public Caller {
 public:
  AgentNode(World& world, Network& network, Host& host, Place master, Attributes attributes);

  // Nothing if it is up, or down, already.
  void start();
  // kill -9. Its executors live on.
  void crash();
  // Crashes in the middle of its next step: the records are written, only some actions carried out.
  void crash_in_next_step() { crash_armed_ = true; }
  bool is_crash_armed() const { return crash_armed_; }
  // SIGTERM.
  void stop(bool kill_tasks);
  // Needs is_up().
  proto::AgentStatus status() const { return core_->status(); }
  Host& host() { return host_; }

  std::optional<Time> next_deadline() const override { return core_->next_deadline(); }
  void tick() override { step(agent::Tick{}); }
  std::vector<Violation> violations() const override { return core_->violations(); }
  void on_peer_frame(PeerId peer, proto::Envelope envelope) override {
    step(agent::ExecutorFrame{peer, std::move(envelope)});
  }
  void on_peer_lost(PeerId peer) override { step(agent::ExecutorPeerLost{peer}); }
  void on_line_connected() override { step(agent::MasterConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    step(agent::MasterFrame{std::move(envelope), random_secret(chance_)});
  }
  void on_line_disconnected(const std::string&) override { step(agent::MasterDisconnected{}); }

 private:
  agent::AgentSnapshot read_disk();
  void step(const agent::AgentEvent& event);
  void carry_out(const agent::AgentAction& action);

  Network& network_;
  Host& host_;
  Place master_;
  Attributes attributes_;
  Prng chance_;
  Line line_ = {};
  std::unique_ptr<agent::Agent> core_;
  bool crash_armed_ = false;
};

}  // namespace proffer::sim
