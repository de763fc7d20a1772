#pragma once

// The master as a simulated process: the production core, a registry in memory whose commits take
// time, and messages that leave only when their step is durable. Several masters share an Ensemble;
// a master that waits to be elected is not up.

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
  // `options` without the values that differ for each life: epoch and start.
  MasterNode(World& world, Network& network, master::MasterOptions options);
  // One of several masters, with the number `which`, from 1.
  MasterNode(World& world, Network& network, master::MasterOptions options, Ensemble& ensemble,
             size_t which);

  Place place() const { return place_; }
  Party party() const { return party_; }
  bool may_crash() const { return true; }
  // Has no effect if it is already up (or down), or if its disk fails.
  void start();
  // Requires is_up().
  LeaderEpoch leader() const { return options_.leader; }
  // Freezes the master in its next step that sends messages, after it has checked that it leads.
  // The messages of this step are sent when it is awake again. `stop` freezes it.
  void arm_pause(std::function<void()> stop) { pause_ = std::move(stop); }
  // kill -9: uncommitted data is lost, and so are the messages that waited for it.
  void crash();
  // Its machine goes down without a message. It does not start before power_on().
  void power_off();
  void power_on();
  // The state of its registry's disk, from now on.
  //   kFull    writes fail
  //   kBroken  writes succeed but cannot be flushed, so their result is unknown
  enum class Trouble : uint8_t { kNone, kFull, kBroken };
  void set_trouble(Trouble trouble) { trouble_ = trouble; }
  // Call it before the first start(). The watcher receives each step of each life; it must outlive
  // this object.
  void set_watcher(master::StepWatcher* watcher) { watcher_ = watcher; }
  // Call it before the first start(): the rows that an earlier life wrote.
  void restore(const std::vector<proto::RegistryRow>& rows);
  // The time of a commit; default: a random time up to 20 ms.
  void set_commit_time(Duration time) { commit_time_ = time; }
  // `on_failed` is called when the master ended because its registry could not be written.
  void set_on_failed(std::function<void()> on_failed) { on_failed_ = std::move(on_failed); }
  // The registry was written.
  void compare_admitted();
  // Called when an agent is removed from its registry.
  void set_on_removed(std::function<void(const AgentId&)> on_removed) {
    on_removed_ = std::move(on_removed);
  }
  // Called with each entry for the history.
  void set_on_history(std::function<void(const proto::HistoryRecord&)> on_history) {
    on_history_ = std::move(on_history);
  }
  // An operator's kill of a task, as FRAMEWORK/TASK.
  void operator_kill(const std::string& task);
  // Any operation of an operator: master::DrainAgent, UndrainAgent, SetRole, ReserveForRole. Has no
  // effect if the master is down; a refusal is passed to `refused`.
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
  // A user's request to a framework; `call` is completed here. Requests that wait when the master
  // ends get no answer.
  void call(master::FrameworkCall call, std::function<void(const Result<std::string>&)> answered);
  // Requires is_up().
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
  // `upto`: it crashes after this many actions.
  void deliver(std::vector<master::MasterAction>& actions, std::optional<size_t> upto);
  void tell(std::vector<master::MasterAction>& actions, std::optional<size_t> upto);
  void flush();
  void check_brake(const std::vector<TraceEvent>& trace);
  void gained(LeaderEpoch leader, const std::vector<StoreRecord>& rows);
  bool may_serve() const { return core_ != nullptr && leadership_->may_serve(now()); }
  void fail(const std::string& why);

  // All events here are of one user, who runs the master.
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
  MemoryStore* store_ = nullptr;  // of a single master
  std::unique_ptr<master::Master> core_;
  master::MasterOutbox out_;
  master::StepWatcher* watcher_ = nullptr;
  bool flush_planned_ = false;
  std::function<void()> pause_;
  Trouble trouble_ = Trouble::kNone;
  bool powered_ = true;
  std::optional<Duration> commit_time_;
  std::function<void()> on_failed_;
  std::set<AgentId> admitted_;  // from the registry, when it was last read
  std::function<void(const AgentId&)> on_removed_;
  std::function<void(const proto::HistoryRecord&)> on_history_;
  uint64_t calls_ = 0;
  std::map<uint64_t, std::function<void(const Result<std::string>&)>> answers_;
};

}  // namespace proffer::sim
