#pragma once

// A whole cluster in one process, under virtual time, for the tests of a framework: the real
// master, its allocator and agents, and your own scheduler and executor code, unchanged. An hour
// takes milliseconds, faults are scripted, and the same seed gives the same run.
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
// Real are the master's core with its registry, the allocator, the agents' cores with their
// checkpoints, the executors' driver, the SDK, and now and then the codec. Simulated are time, the
// network, disks, machines, and the effects of commands, which you script with on_task().
//
// Your own executor runs unchanged if on_executor() names its program:
//
//     cluster.on_executor("prime_executor", install_executor);   // void(proffer::sdk::Executor&)
//
// Each of its processes has its own Executor and callbacks. Its after() and run_aside() take
// virtual time (the work of run_aside(): 1 ms), and the states that it reports are the states of
// its tasks. Without on_executor() its tasks follow the script, and messages to it are not
// answered.
//
// After each step all invariants of all cores are checked, and the updates that schedulers received
// are compared with the tasks that ran. If one is broken, time stops: violations() returns the
// violations, they are printed with the seed, and every matcher fails.
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

// The behaviour of a task, in place of its command.
struct TaskScript {
  Duration runs = seconds(1);
  int32_t exit_code = 0;
  int32_t signal = 0;           // not 0: the task ends by this signal instead
  bool ignores_kill = false;    // it ends only when its kill grace is over
  std::string data = {};        // TaskStatus::data of its terminal update
  std::string first_data = {};  // of its update `running`; empty: as the command executor sends it
  // The result of its health check, if it has one, from this time after its start on.
  struct Health {
    Duration after = {};
    bool healthy = true;
  };
  std::vector<Health> health = {};

  // Runs until it is killed.
  static TaskScript forever() { return {.runs = hours(24 * 365)}; }
};
// The task that starts, and its agent.
struct TaskStart : proto::RunTask {
  AgentId agent = {};
};
using TaskScripts = std::function<TaskScript(const TaskStart& task)>;

struct SimClusterOptions {
  // Seed of all random choices. $PROFFER_SIM_SEED replaces it if it is set.
  uint64_t seed = 1;
  // Number of agents: agent-1, agent-2 …, each with these resources and attributes. Ports are 31000
  // to 31999 unless `resources` names others. For agents of other kinds call add_agent().
  size_t agents = 1;
  std::string resources = "cpus:4;mem:4096";
  std::string attributes = {};
  std::string weights = {};  // weights of roles, as in "ads=2,batch=0.5"
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
  // The process runs: it was not killed and has not left run().
  bool is_up() const;
  // The value that run() returned in this life; none while the process is up, or if it was killed.
  std::optional<int> exit_code() const;
  // The object that `install` received in this life. Requires a life: there is none between
  // SimCluster::kill_scheduler() and start_scheduler().
  Scheduler& scheduler();
  // Empty until subscribed.
  const FrameworkId& framework() const;
  // The master refused it permanently.
  const std::optional<Error>& refused() const;

  // --- notifications received, over all lives ----------------------------------------------------
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
  // All agents are registered when it returns. An invalid text in the options ends the program with
  // a message.
  explicit SimCluster(const SimClusterOptions& options = {});
  ~SimCluster();
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;

  // --- participants ----------------------------------------------------------------------------
  // Starts a scheduler: `install` sets the callbacks of a fresh Scheduler, as main() does before
  // run(), which must not be called here. It is called again for each life of the process, so keep
  // the state of one life inside it: captured by value, or in a std::shared_ptr that the callbacks
  // hold. options.master is ignored. With a session_file (any name; no file is written) a restarted
  // scheduler is the same framework, without one it is a new framework.
  SimScheduler& add(SchedulerOptions options, std::function<void(Scheduler&)> install);
  // Adds a machine. Its agent registers within the next second.
  void add_agent(const std::string& name, const std::string& resources,
                 const std::string& attributes = {});
  // Sets the behaviour of tasks. Called when a task starts; running tasks keep theirs. Default:
  // tasks end after a second with exit code 0.
  void on_task(TaskScripts scripts);
  // Sets the program of executors whose command line (TaskSpec::executor) contains `program` as a
  // file name; of several that match, the longest counts. `install` sets the callbacks of a fresh
  // Executor, as main() does before run(), which must not be called here. It is called again for
  // each process, on any agent, so keep the state of one process inside it: captured by value, or
  // in a std::shared_ptr that the callbacks hold. Running executors keep their program. There is no
  // environment, and the only signal is SIGKILL.
  void on_executor(std::string program, std::function<void(Executor&)> install);

  // --- time ------------------------------------------------------------------------------------
  Time now() const;
  void run_for(Duration duration);
  // Runs until `done` holds between two instants. False if it does not hold within `at_most`.
  bool run_until(const std::function<bool()>& done, Duration at_most = hours(1));
  // Calls `what` once, after this time: for faults during run_for().
  void after(Duration duration, std::function<void()> what);

  // Sends a user's request to this scheduler's framework, as `proffer service` does. on_request
  // receives it; `answered` receives the answer, or the error if there is none. Requires a master
  // that is up.
  void request(const SimScheduler& scheduler, std::string data,
               std::function<void(const Result<std::string>&)> answered,
               Duration timeout = seconds(30));

  // --- operators ---------------------------------------------------------------------------------
  // As `proffer drain`: the agent is no longer offered, its tasks are revoked (on_revoke), and are
  // killed after the grace. undrain_agent() is `proffer undrain`. Require a master that is up.
  void drain_agent(std::string_view agent, Duration grace = kRevokeGrace);
  void undrain_agent(std::string_view agent);
  // As `proffer role set`. Settings that the rules of roles do not allow end the program with a
  // message.
  void set_role(const RoleName& role, const RoleSettings& settings);

  // --- faults ------------------------------------------------------------------------------------
  // The machine loses its power: its tasks end without an update. The master notices the missing
  // heartbeats, and gives the tasks up after reregistration_timeout.
  void lose_agent(std::string_view agent);
  // The machine boots again, with its disk.
  void bring_back_agent(std::string_view agent);
  // kill -9 of the agent's process, which is restarted after `down`. Its tasks continue.
  void restart_agent(std::string_view agent, Duration down = seconds(1));
  // One executor on this agent crashes, with its tasks; nothing happens if there is none. With an
  // id: each executor with this id, one for each framework that has it.
  void crash_executor(std::string_view agent);
  void crash_executor(std::string_view agent, const ExecutorId& executor);
  // kill -9 of the master, which is restarted with its registry after `down`.
  void fail_over_master(Duration down = seconds(1));
  // kill -9 of the scheduler's process; its start in a new life.
  void kill_scheduler(SimScheduler& scheduler);
  void start_scheduler(SimScheduler& scheduler);
  // Does both.
  void restart_scheduler(SimScheduler& scheduler);
  // SIGTERM and the like: calls its handler, or else does what run() does by default.
  void signal(SimScheduler& scheduler, int signal);
  // For this time, `percent` per hundred of all messages are lost. Each loss is detected as a gap,
  // and a new session is made.
  void drop_messages(Duration duration, int percent = 100);
  // For this time nothing passes between the agent and the master. Then the waiting messages
  // arrive, or the connection breaks.
  void cut_off_agent(std::string_view agent, Duration duration);
  void cut_off_scheduler(SimScheduler& scheduler, Duration duration);
  // The connection breaks and is made again: offers are void, and updates that were not
  // acknowledged are sent again.
  void break_connection(SimScheduler& scheduler);
  // For this time no scheduler receives an offer, as if other frameworks had all resources. Each
  // offer is declined in the scheduler's name until then. Earlier offers stay.
  void offer_nothing_for(Duration duration);
  // For this time some of these faults happen at random, about every ten seconds. At the end
  // everything is up and whole again. Schedulers without a session file are not killed.
  void storm(Duration duration);

  // --- results -----------------------------------------------------------------------------------
  // Counts by the scheduler's name; 0 if there is no such scheduler. `launched`: tasks that really
  // started. `running`: tasks that really run. `finished`: tasks that were reported to the
  // scheduler as finished.
  size_t launched(std::string_view scheduler) const;
  size_t running(std::string_view scheduler) const;
  size_t finished(std::string_view scheduler) const { return told(scheduler, kFinished); }
  // The executor processes on this agent, in the order of their starts. An executor of a command
  // has the name of its task.
  std::vector<ExecutorId> executors(std::string_view agent) const;
  // Tasks whose last reported state is this.
  size_t told(std::string_view scheduler, proto::TaskState state) const;
  // Tasks that ran, or that the present life of their scheduler launched, which do not run, and
  // whose end was never reported to their scheduler. Tasks of torn-down frameworks are left out.
  // Reports take time: call run_for() first for a moment; after lose_agent(), for longer than
  // agent_timeout and reregistration_timeout together.
  std::vector<std::string> lost_tasks() const;

  struct FrameworkShare {
    std::string scheduler = {};
    RoleName role = {};
    // Share of its allocated and offered resources. The other is the share of its role, divided by
    // the role's weight.
    int64_t dominant_share_millionths = 0;
    int64_t role_share_millionths = 0;
    bool wants_more = false;  // has asks that are not met, or takes open offers
  };
  // From the master's state; none while it is down.
  std::vector<FrameworkShare> shares() const;
  size_t agents_active() const;

  // --- failures ----------------------------------------------------------------------------------
  // The violations, in the order in which they were found; then time stops.
  const std::vector<Violation>& violations() const;
  // "PROFFER_SIM_SEED=7": set in the environment, it reproduces the run. For SCOPED_TRACE.
  std::string replay() const;
  // "12.034512 agent-2 task starts task=web-1", oldest first, at most 50.
  std::vector<std::string> last_events() const;
  // Hash of all events: the same options and code give the same hash.
  uint64_t trace_hash() const;

 private:
  static constexpr proto::TaskState kFinished = proto::TaskState::kFinished;
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace proffer::sdk
