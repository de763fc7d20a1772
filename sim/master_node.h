#pragma once

// The master as a simulated process: the production core, a registry in memory whose commits take
// time, and messages that leave only when their step is durable. Of several masters, which share an
// Ensemble, one that waits to be elected is not up.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "master/core/master.h"
#include "master/recording/step_watcher.h"
#include "sim/ensemble_leadership.h"
#include "sim/network.h"
#include "sim/world.h"
#include "store/elected_at_once.h"
#include "store/memory_store.h"

namespace proffer::sim {

class MasterNode final : public Node, public Listener {
 public:
  // `options` without what each life has of its own: epoch and start.
  MasterNode(World& world, Network& network, master::MasterOptions options);
  // One of several: the number `which`, from 1.
  MasterNode(World& world, Network& network, master::MasterOptions options, Ensemble& ensemble,
             size_t which);

  Place place() const { return place_; }
  Party party() const { return party_; }
  bool may_crash() const { return true; }
  // Nothing if it is up, or down, already; or if its disk refuses.
  void start();
  // Needs is_up().
  LeaderEpoch leader() const { return options_.leader; }
  // Stopped, it goes on within its next step that tells something: it has looked whether it leads,
  // and what it tells then is told when it is awake again. `stop` freezes it.
  void arm_pause(std::function<void()> stop) { pause_ = std::move(stop); }
  // kill -9: what was not committed is lost, and the messages that waited for it.
  void crash();
  // Its machine goes down, and nobody is told; before power_on() it does not start.
  void power_off();
  void power_on();
  // What its registry's disk does, from now on.
  //   kFull    nothing can be written
  //   kBroken  what is written is there, but cannot be flushed: nobody knows
  enum class Trouble : uint8_t { kNone, kFull, kBroken };
  void set_trouble(Trouble trouble) { trouble_ = trouble; }
  // Before the first start(): is told each step of each life; outlives this.
  void set_watcher(master::StepWatcher* watcher) { watcher_ = watcher; }
  // Before the first start(): what an earlier life wrote.
  void restore(const std::vector<proto::RegistryRow>& rows);
  // How long a commit takes; else some time up to 20 ms.
  void set_commit_time(Duration time) { commit_time_ = time; }
  // Called when it ended because its registry could not be written.
  void set_on_failed(std::function<void()> on_failed) { on_failed_ = std::move(on_failed); }
  // Somebody has written the registry.
  void compare_admitted();
  // Called when its registry names an agent no more.
  void set_on_removed(std::function<void(const AgentId&)> on_removed) {
    on_removed_ = std::move(on_removed);
  }
  // Called with what goes into the history.
  void set_on_history(std::function<void(const proto::HistoryRecord&)> on_history) {
    on_history_ = std::move(on_history);
  }
  // An operator's kill of a task, as FRAMEWORK/TASK.
  void operator_kill(const std::string& task);
  // Whatever an operator does: master::DrainAgent, UndrainAgent, SetRole, ReserveForRole. Nothing
  // if it is down; a refusal is told to `refused`.
  template <class Operation>
  void operate(Operation operation, std::function<void(const Error&)> refused = nullptr) {
    if (!is_up()) return;
    operation.call = ++calls_;
    answers_[operation.call] = [refused = std::move(refused)](const Result<std::string>& result) {
      if (!result && refused) refused(result.error());
    };
    operation.by = user_;
    step(std::move(operation));
  }
  // A user's request to a framework; `call` is filled in. What waits when it ends is not answered.
  void call(master::FrameworkCall call, std::function<void(const Result<std::string>&)> answered);
  // Needs is_up().
  const master::Master& core() const { return *core_; }

  std::optional<Time> next_deadline() const override {
    return may_serve() ? core_->next_deadline() : std::nullopt;
  }
  void tick() override { step(master::Tick{}); }
  std::vector<Violation> violations() const override { return core_->violations(); }
  void on_peer_frame(PeerId peer, proto::Envelope envelope) override {
    step(master::FrameReceived{peer, std::move(envelope), user_});
  }
  void on_peer_lost(PeerId peer) override { step(master::PeerLost{peer}); }

 private:
  void step(master::MasterEvent event);
  // `upto`: it crashes after so many of them.
  void deliver(std::vector<master::MasterAction>& actions, std::optional<size_t> upto);
  void tell(std::vector<master::MasterAction>& actions, std::optional<size_t> upto);
  void flush();
  void check_brake(const std::vector<TraceEvent>& trace);
  void gained(LeaderEpoch leader, const std::vector<StoreRecord>& rows);
  bool may_serve() const { return core_ != nullptr && leadership_->may_serve(now()); }
  void fail(const std::string& why);

  // All that happens here is of one user, who runs the master.
  std::vector<Time> given_up_ = {};  // agents, in this life and the last period
  const PrincipalPtr user_ =
      std::make_shared<Principal>(Principal{.user = "root", .uid = 0, .groups = {0}});
  Network& network_;
  master::MasterOptions options_;
  Party party_;
  Place place_;
  Prng chance_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  Ensemble* ensemble_ = nullptr;  // of several masters
  std::unique_ptr<Leadership> leadership_;
  MemoryStore* store_ = nullptr;  // of a master that is alone
  std::unique_ptr<master::Master> core_;
  master::MasterOutbox out_;
  master::StepWatcher* watcher_ = nullptr;
  bool flush_planned_ = false;
  std::function<void()> pause_;
  Trouble trouble_ = Trouble::kNone;
  bool powered_ = true;
  std::optional<Duration> commit_time_;
  std::function<void()> on_failed_;
  std::set<AgentId> admitted_;  // by the registry, when it was looked at last
  std::function<void(const AgentId&)> on_removed_;
  std::function<void(const proto::HistoryRecord&)> on_history_;
  uint64_t calls_ = 0;
  std::map<uint64_t, std::function<void(const Result<std::string>&)>> answers_;
};

}  // namespace proffer::sim
