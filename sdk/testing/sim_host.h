#pragma once

// A scheduler's process in a SimCluster, over all its lives: the host of the Scheduler, in place of
// an event loop, and a record of its notifications.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sdk/scheduler.h"
#include "sdk/shell/scheduler_host.h"
#include "sim/journal.h"
#include "sim/network.h"
#include "sim/world.h"

namespace proffer::sdk {

// The time that run_aside() takes in a simulated process. Its work is done between two instants.
inline constexpr Duration kSimulatedWork = milliseconds(1);

class SimHost final : public sim::Node, public sim::Caller, public SchedulerHost {
 public:
  SimHost(sim::World& world, sim::Network& network, sim::Journal& journal, sim::Place master,
          SchedulerOptions options, std::function<void(Scheduler&)> install);
  ~SimHost() override;

  // --- for the cluster ---------------------------------------------------------------------------
  // Has no effect if the process is already up, or already down.
  void start();
  void kill();
  void deliver_signal(int signal);
  void break_connection();
  // Offers are declined before their author receives them.
  void offer_nothing_until(Time until) { nothing_until_ = until; }
  sim::Party party() const { return party_; }

  Scheduler& scheduler();
  std::optional<int> exit_code() const { return exit_code_; }
  const std::optional<Error>& refusal() const { return refusal_; }
  const FrameworkId& current_framework() const { return framework_; }
  // The ids of all lives.
  const std::set<FrameworkId>& frameworks() const { return frameworks_; }
  const std::map<sim::TaskKey, proto::TaskStatus>& told() const { return told_; }
  const std::set<sim::TaskKey>& accepted() const { return accepted_; }
  // This life launched it.
  bool launched(const sim::TaskKey& task) const { return is_up() && launched_.count(task) > 0; }
  // It was torn down, or no process will continue it.
  bool is_over(const FrameworkId& framework) const { return over_.count(framework) > 0; }
  size_t offers = 0;
  size_t rescinds = 0;
  size_t disconnects = 0;
  size_t sessions = 0;

  // --- sim::Node, sim::Caller --------------------------------------------------------------------
  std::optional<Time> next_deadline() const override { return deadline_; }
  void tick() override;
  std::vector<Violation> violations() const override;
  void on_line_connected() override;
  void on_line_frame(proto::Envelope envelope) override;
  void on_line_disconnected(const std::string& reason) override;

  // --- SchedulerHost -----------------------------------------------------------------------------
  void set_guest(Guest* guest) override { guest_ = guest; }
  FrameworkId framework() const override { return framework_; }
  Secret secret() const override { return secret_; }
  bool keeps_identity() const override { return !options_.session_file.empty(); }
  // Its framework outlives this process, for its next life or another scheduler.
  bool is_continued() const { return keeps_identity() || options_.stands_by; }
  void save_identity(const FrameworkId& framework, const Secret& secret) override;
  void forget_identity() override { forgotten_ = true; }
  Time now() const override { return Node::now(); }
  void arm(std::optional<Time> due) override;
  void after(Duration duration, std::function<void()> what) override;
  void defer(std::function<void()> what) override { after(Duration(), std::move(what)); }
  void work(std::function<void()> work, std::function<void()> done) override;
  void on_signal(int signal, std::function<void()> what) override;
  void post(std::function<void()> what) override { after(Duration(), std::move(what)); }
  Result<std::shared_ptr<void>> watch(int descriptor, WatchEvents wanted,
                                      std::function<void(WatchEvents)> what) override;
  void callback_begins(const char*) override {}
  void callback_ends() override {}
  void connect() override;
  bool send(const proto::Envelope& envelope) override;
  void reset(const std::string& reason) override;
  void happened(const TraceEvent& event) override { note(event); }
  void warn(std::string_view what) override;
  void refused(const Error& error, bool is_handled) override;
  void on_command(const Command& command) override;
  bool hears(const Notification& notification) override;
  void run() override {}
  void leave(int exit_code) override;

 private:
  // Calls into the scheduler. Its process must not be ended from outside during the call.
  template <class Call>
  void enter(const Call& call);
  void hang_up();

  sim::Network& network_;
  sim::Journal& journal_;
  sim::Place master_;
  sim::Party party_;
  SchedulerOptions options_;
  std::function<void(Scheduler&)> install_;
  Prng chance_;

  Secret secret_;
  FrameworkId framework_;
  bool forgotten_ = false;  // the next life is another framework

  // State of this life.
  Guest* guest_ = nullptr;
  std::optional<sim::Line> line_;
  std::optional<Time> deadline_;
  std::map<int, std::function<void()>> signals_;
  std::optional<int> exit_code_;
  std::optional<Error> refusal_;
  std::set<sim::TaskKey> launched_;
  int inside_ = 0;
  std::unique_ptr<Scheduler> scheduler_;

  Time nothing_until_;
  std::set<FrameworkId> frameworks_;
  std::set<FrameworkId> over_;
  std::set<sim::TaskKey> accepted_;
  std::map<sim::TaskKey, proto::TaskStatus> told_;
};

}  // namespace proffer::sdk
