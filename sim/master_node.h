#pragma once

// The master as a simulated process: the production core, a registry in memory whose commits take
// time, and messages that leave only when their step is durable.

#include <memory>
#include <string>
#include <vector>

#include "master/core/master.h"
#include "sim/network.h"
#include "sim/world.h"
#include "store/memory_store.h"

namespace proffer::sim {

class MasterNode final : public Node, public Listener {
 public:
  // `options` without what each life has of its own: epoch and start.
  MasterNode(World& world, Network& network, master::MasterOptions options);

  Place place() const { return place_; }
  // Nothing if it is up, or down, already.
  void start();
  // kill -9: what was not committed is lost, and the messages that waited for it.
  void crash();
  // An operator's kill of a task, as FRAMEWORK/TASK.
  void operator_kill(const std::string& task);
  // Needs is_up().
  const master::Master& core() const { return *core_; }

  std::optional<Time> next_deadline() const override { return core_->next_deadline(); }
  void tick() override { step(master::Tick{}); }
  std::vector<Violation> violations() const override { return core_->violations(); }
  void on_peer_frame(PeerId peer, proto::Envelope envelope) override {
    step(master::FrameReceived{peer, std::move(envelope)});
  }
  void on_peer_lost(PeerId peer) override { step(master::PeerLost{peer}); }

 private:
  void step(master::MasterEvent event);
  void deliver(const std::vector<master::MasterAction>& actions);

  Network& network_;
  master::MasterOptions options_;
  Place place_;
  Prng chance_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::unique_ptr<MemoryStore> store_;
  std::unique_ptr<master::Master> core_;
  master::MasterOutbox out_;
  bool flush_planned_ = false;
  uint64_t calls_ = 0;
};

}  // namespace proffer::sim
