#pragma once

// A whole cluster in one process, under virtual time, for the tests of a framework: the real
// master, its allocator and agents, and your own scheduler and executor code, unchanged. An hour
// takes milliseconds, whatever goes wrong is scripted, and the same seed does the same again.
//
//   // Used by main() and by the test alike.
//   void install(proffer::sdk::Scheduler& hello) {
//     hello.ask("echo", "cpus:0.1;mem:32", 5);
//     hello.on_offer([&](const proffer::Offer& offer) { hello.launch(offer, "echo hello"); });
//     hello.on_update([&, left = 5](const proffer::proto::TaskStatus& task) mutable {
//       if (task.state == proffer::proto::TaskState::kFinished && --left == 0) hello.stop();
//     });
//   }
//
//   TEST(Hello, SaysItFiveTimesAlthoughTheMasterFailsOver) {
//     SimCluster cluster({.seed = 7, .agents = 3});
//     SimScheduler& hello = cluster.add({.name = "hello"}, install);
//     cluster.after(seconds(1), [&] { cluster.fail_over_master(); });
//     cluster.run_for(minutes(1));
//     EXPECT_THAT(cluster, finished("hello", 5));     // sdk/testing/matchers.h
//     EXPECT_THAT(cluster, no_task_lost());
//     EXPECT_EQ(hello.exit_code(), 0);
//   }
//
// What is real: the master's core with its registry, the allocator, the agents' cores with their
// checkpoints, the executors' driver, the SDK, and now and then the codec. What is simulated: time,
// the network, disks, machines, and what commands do, which you script: on_task().
//
// An executor of your own runs as it is, if on_executor() names its program:
//
//     cluster.on_executor("prime_executor", install_executor);   // void(proffer::sdk::Executor&)
//
// Each process of it has an Executor and callbacks of its own, its after() and run_aside() take
// virtual time (the work of run_aside() itself: 1 ms), and what it says of its tasks is what became
// of them. Without on_executor() its tasks do what the script says, and messages to it are not
// answered.
//
// After each step all invariants of all cores are looked at, and what schedulers are told is
// compared with what ran. If anything is broken, time stands still: violations() says what, it is
// printed with the seed, and every matcher fails.
//
// Programs link proffer_sdk_testing. Everything runs on the calling thread.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/roles.h"
#include "sdk/executor.h"
#include "sdk/scheduler.h"

namespace proffer::sdk {

// What a task does instead of its command.
struct TaskScript {
  Duration runs = seconds(1);
  int32_t exit_code = 0;
  int32_t signal = 0;           // not 0: it dies of this one instead
  bool ignores_kill = false;    // it ends only when its kill grace is over
  std::string data = {};        // TaskStatus::data of its terminal update
  std::string first_data = {};  // of its update `running`; empty: what the command executor says
  // What its health check finds, if it has one: healthy or not, from that long after its start.
  struct Health {
    Duration after = {};
    bool healthy = true;
  };
  std::vector<Health> health = {};

  // Until it is killed.
  static TaskScript forever() { return {.runs = hours(24 * 365)}; }
};
// The task that starts, and where.
struct TaskStart : proto::RunTask {
  AgentId agent = {};
};
using TaskScripts = std::function<TaskScript(const TaskStart& task)>;

struct SimClusterOptions {
  // Of everything that is left to chance. $PROFFER_SIM_SEED, if set, is used instead.
  uint64_t seed = 1;
  // agent-1, agent-2 …, each with these resources and attributes; ports 31000 to 31999 unless
  // others are named. More of other kinds: add_agent().
  size_t agents = 1;
  std::string resources = "cpus:4;mem:4096";
  std::string attributes = {};
  std::string weights = {};  // of roles, as in "ads=2,batch=0.5"
  // As the master's flags of the same names.
  Duration agent_timeout = kAgentTimeout;
  Duration reregistration_timeout = kReregistrationTimeout;
  Duration offer_timeout = kOfferTimeout;
  // Every event is written there as it happens. $PROFFER_SIM_TRACE=1: to standard error.
  std::ostream* trace = nullptr;
};

// One scheduler in a SimCluster, over all lives of its process.
class SimScheduler {
 public:
  ~SimScheduler();
  SimScheduler(const SimScheduler&) = delete;
  SimScheduler& operator=(const SimScheduler&) = delete;

  const std::string& name() const;
  // The process runs: it was neither killed nor has left run().
  bool is_up() const;
  // What run() returned in this life; none while it is up, or if it was killed.
  std::optional<int> exit_code() const;
  // The object that `install` was given in this life. Needs a life that was begun: between
  // SimCluster::kill_scheduler() and start_scheduler() there is none.
  Scheduler& scheduler();
  // Empty until subscribed.
  const FrameworkId& framework() const;
  // Refused by the master for good.
  const std::optional<Error>& refused() const;

  // --- what it has heard, over all lives -------------------------------------------------------
  size_t offers() const;
  size_t rescinds() const;
  size_t disconnects() const;
  size_t sessions() const;  // times subscribed
  std::optional<proto::TaskStatus> last_told(const TaskId& task) const;

 private:
  friend class SimCluster;
  class State;
  explicit SimScheduler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class SimCluster {
 public:
  // All agents are registered when it returns. A wrong text in the options ends the program with a
  // clear message.
  explicit SimCluster(const SimClusterOptions& options = {});
  ~SimCluster();
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;

  // --- participants ----------------------------------------------------------------------------
  // Starts a scheduler: `install` sets the callbacks of a fresh Scheduler, as main() does before
  // run(), which must not be called here. It is called again for each life of the process, so what
  // one life remembers belongs into it: captured by value, or in a std::shared_ptr that the
  // callbacks hold. options.master is not looked at. With a session_file (any name; no file is
  // written) a scheduler that is started again is the same framework; without, a new one.
  SimScheduler& add(SchedulerOptions options, std::function<void(Scheduler&)> install);
  // A further machine. Its agent registers within the next second.
  void add_agent(const std::string& name, const std::string& resources,
                 const std::string& attributes = {});
  // What tasks do. Called when one starts; tasks that run go on as they began. Unless set: they
  // end after a second with exit code 0.
  void on_task(TaskScripts scripts);
  // The program of executors whose command line (TaskSpec::executor) contains `program`, as the
  // name of its file; of several that match, the longest counts. `install` sets the callbacks of a
  // fresh Executor, as main() does before run(), which must not be called here. It is called again
  // for each process, on any agent, so what one process remembers belongs into it: captured by
  // value, or in a std::shared_ptr that the callbacks hold. Executors that run go on as they began.
  // There is no environment, and nobody sends them signals but SIGKILL.
  void on_executor(std::string program, std::function<void(Executor&)> install);

  // --- time ------------------------------------------------------------------------------------
  Time now() const;
  void run_for(Duration duration);
  // Until `done` holds between two instants; false if it does not within `at_most`.
  bool run_until(const std::function<bool()>& done, Duration at_most = hours(1));
  // Calls `what` once, so long from now: for faults amid run_for().
  void after(Duration duration, std::function<void()> what);

  // A user's request to the framework of this scheduler, as `proffer service` makes them: it comes
  // to on_request, and what that answers to `answered`, or why nothing did. Needs a master that is
  // up.
  void request(const SimScheduler& scheduler, std::string data,
               std::function<void(const Result<std::string>&)> answered,
               Duration timeout = seconds(30));

  // --- what operators do -----------------------------------------------------------------------
  // As `proffer drain`: nothing more is offered of the agent, its tasks are told (on_revoke) and
  // killed after the grace; and `proffer undrain`. Needs a master that is up.
  void drain_agent(std::string_view agent, Duration grace = kRevokeGrace);
  void undrain_agent(std::string_view agent);
  // As `proffer role set`. What the rules of roles do not allow ends the program with a message.
  void set_role(const RoleName& role, const RoleSettings& settings);

  // --- what goes wrong -------------------------------------------------------------------------
  // The machine loses its power: its tasks end, and nobody is told. The master notices by silence
  // and gives its tasks up after reregistration_timeout.
  void lose_agent(std::string_view agent);
  // It boots again, with its disk.
  void bring_back_agent(std::string_view agent);
  // kill -9 of the agent's process, which is started again after `down`. Its tasks run on.
  void restart_agent(std::string_view agent, Duration down = seconds(1));
  // One executor of those on this agent crashes, with its tasks; nothing if there is none. With an
  // id: that one, of each framework that has one of this id.
  void crash_executor(std::string_view agent);
  void crash_executor(std::string_view agent, const ExecutorId& executor);
  // kill -9 of the master, which is started again with its registry after `down`.
  void fail_over_master(Duration down = seconds(1));
  // kill -9 of the scheduler's process; and its start in a new life.
  void kill_scheduler(SimScheduler& scheduler);
  void start_scheduler(SimScheduler& scheduler);
  // Both.
  void restart_scheduler(SimScheduler& scheduler);
  // SIGTERM and the like: its handler, or what run() does by default.
  void signal(SimScheduler& scheduler, int signal);
  // Of all messages between everybody so many are lost, per hundred, from now on for so long.
  // Each loss is found out as a gap, and a new session is made.
  void drop_messages(Duration duration, int percent = 100);
  // Nothing passes between it and the master for so long; then what waited comes, or the connection
  // breaks.
  void cut_off_agent(std::string_view agent, Duration duration);
  void cut_off_scheduler(SimScheduler& scheduler, Duration duration);
  // The connection breaks and is made again: offers are void, updates that were not acknowledged
  // come again.
  void break_connection(SimScheduler& scheduler);
  // From now on, no scheduler hears of an offer for so long, as if others had everything: each is
  // declined in its name until then, before its author hears of it. Offers made before stay.
  void offer_nothing_for(Duration duration);
  // Some of all of these, by chance, about every ten seconds for so long; at the end everything is
  // up and whole again. Schedulers without a session file are not killed.
  void storm(Duration duration);

  // --- what became of it -----------------------------------------------------------------------
  // By the scheduler's name; 0 if there is none of that name. `launched`: tasks that really
  // started. `running`: that really run. `finished`: that the scheduler was told are finished.
  size_t launched(std::string_view scheduler) const;
  size_t running(std::string_view scheduler) const;
  size_t finished(std::string_view scheduler) const { return told(scheduler, kFinished); }
  // The processes of executors on this agent, in the order of their starts. An
  // executor of a command has the name of its task.
  std::vector<ExecutorId> executors(std::string_view agent) const;
  // Tasks whose last state that it was told is this.
  size_t told(std::string_view scheduler, proto::TaskState state) const;
  // Tasks that ran, or were launched by the present life of their scheduler, and do not run, and of
  // whose end the scheduler was not told, in whichever life; but for frameworks that are over. News
  // takes its time: first run_for() a little; after lose_agent(), longer than agent_timeout and
  // reregistration_timeout.
  std::vector<std::string> lost_tasks() const;

  struct FrameworkShare {
    std::string scheduler = {};
    RoleName role = {};
    // Of what is allocated and offered to it; and to its role, divided by the role's weight.
    int64_t dominant_share_millionths = 0;
    int64_t role_share_millionths = 0;
    bool wants_more = false;  // asks that are not met, or takes open offers
  };
  // By the master's books; none while it is down.
  std::vector<FrameworkShare> shares() const;
  size_t agents_active() const;

  // --- when it fails ---------------------------------------------------------------------------
  // What was broken, in the order in which it was found; then time stands still.
  const std::vector<Violation>& violations() const;
  // "PROFFER_SIM_SEED=7": set in the environment it does the same again. For SCOPED_TRACE.
  std::string replay() const;
  // "12.034512 agent-2 task starts task=web-1", oldest first, at most 50.
  std::vector<std::string> last_events() const;
  // Of everything that happened: same options, same code, same hash.
  uint64_t trace_hash() const;

 private:
  static constexpr proto::TaskState kFinished = proto::TaskState::kFinished;
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace proffer::sdk
