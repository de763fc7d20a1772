#pragma once

// The agent as a simulated process on a Host: the production core, whose checkpoint is on the
// host's disk before its actions are carried out. If it cannot be written, the agent ends, as in
// slave/shell.

#include <functional>
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
  AgentNode(World& world, Network& network, Host& host, std::vector<Place> masters,
            Attributes attributes);

  // Has no effect if it is already up (or down), if its machine has no power, or if it was retired.
  void start();
  // kill -9. Its executors continue.
  void crash();
  // It crashes, and never starts again.
  void retire();
  bool is_retired() const { return retired_; }
  // SIGTERM.
  void stop(bool kill_tasks);
  bool is_stopping() const { return stopping_; }
  // It ignores tasks that it receives.
  void set_idle(bool is_idle) { is_idle_ = is_idle; }
  // `on_failed` is called when the agent ended because it could not do its work: its disk failed,
  // or it was refused.
  void set_on_failed(std::function<void()> on_failed) { on_failed_ = std::move(on_failed); }
  // Requires is_up().
  proto::AgentStatus status() const { return core_->status(); }
  Host& host() { return host_; }
  Party party() const { return party_; }
  bool may_crash() const { return true; }

  std::optional<Time> next_deadline() const override { return core_->next_deadline(); }
  void tick() override { step(agent::Tick{}); }
  std::vector<Violation> violations() const override { return core_->violations(); }
  void on_peer_frame(PeerId peer, proto::Envelope envelope) override {
    step(agent::ExecutorFrame{peer, std::move(envelope)});
  }
  void on_peer_lost(PeerId peer) override { step(agent::ExecutorPeerLost{peer}); }
  void on_line_connected() override { step(agent::MasterConnected{}); }
  void on_line_frame(proto::Envelope envelope) override {
    if (is_idle_ && std::holds_alternative<proto::RunTask>(*envelope.message)) {
      envelope.message = proto::Heartbeat{};
    }
    step(agent::MasterFrame{std::move(envelope), random_secret(chance_)});
  }
  void on_line_disconnected(const std::string&) override { step(agent::MasterDisconnected{}); }

 private:
  // None if the disk fails.
  std::optional<agent::AgentSnapshot> read_disk();
  std::optional<agent::AgentSnapshot> salvage(std::vector<proto::CheckpointRecord> left);
  void step(const agent::AgentEvent& event);
  // Carries out the part of a step that a crash in its middle leaves done.
  void crash_within(const agent::AgentOutbox& out);
  bool persist(const agent::AgentOutbox& out);
  void carry_out(const agent::AgentAction& action);
  void fail(std::string why);

  Network& network_;
  Host& host_;
  std::vector<Place> masters_;
  Party party_;
  Attributes attributes_;
  Prng chance_;
  Line line_ = {};
  std::unique_ptr<agent::Agent> core_;
  std::function<void()> on_failed_;
  agent::Remembered remembered_ = agent::Remembered::kAll;  // from the snapshot of this life
  bool has_adopted_ = false;                                // in this life
  bool retired_ = false;
  bool stopping_ = false;  // in this life
  bool is_idle_ = false;
};

}  // namespace proffer::sim
