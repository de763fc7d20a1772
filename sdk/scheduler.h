#pragma once

// For authors of schedulers: one object, a few callbacks, one event loop. Everything runs on the
// thread that calls run(); callbacks may call any member. Other threads may only call post(). Any
// other member ends the program with a message that names the member.
//
// A callback must not throw: an exception ends the program with a message that names the callback.
// A callback that blocks stops the whole scheduler, including its heartbeats to the master. A
// warning names the callback after 5 s, and again each time that its run time has doubled.
//
//   int main(int argc, char** argv) {
//     proffer::sdk::Scheduler hello(proffer::sdk::options_from(argc, argv, "hello"));
//     hello.ask("echo", "cpus:0.1;mem:32", 5);
//     hello.on_offer([&](const proffer::Offer& offer) { hello.launch(offer, "echo hello"); });
//     hello.on_update([&](const proffer::proto::TaskStatus& task) { … hello.stop(); });
//     return hello.run();
//   }
//
// Asks are declarative: declare the shape and the count once, and the master sends offers for them,
// shared fairly. With OfferMode::kOpen and no asks you get open offers. The SDK subscribes,
// reconnects, acknowledges and reconciles; it reports each update exactly once and in order.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/log.h"
#include "sdk/notifications.h"
#include "sdk/store.h"

namespace proffer::sdk {

struct SchedulerOptions {
  std::string name = {};
  RoleName role = RoleName("default");
  OfferMode mode = OfferMode::kAsks;
  // A socket's path, HOST:PORT, or a list of masters separated by commas. Empty: $PROFFER_MASTER,
  // else the cluster that was joined, else the master of this machine (/run/proffer/master.sock);
  // never the master of a `proffer dev`.
  std::string master = {};
  std::string user = {};
  // How long the tasks outlive the connection of this process. Zero: they end with it. Default: a
  // week with a session file or with stands_by, else 10 s, since no other process could take them
  // over. It is at least twice the master's silence timeout (30 s) if only the link is silent.
  std::optional<Duration> failover_timeout = {};
  // File for the framework's id and secret (mode 0600). A scheduler that is restarted with it finds
  // its tasks. Empty: a new framework each time.
  std::string session_file = {};
  // This is one of several processes, on one machine or more, that form one framework; its name and
  // user identify it. The process stands by while another of them is connected. It takes the
  // framework over, with its tasks and store, after the other has been away for 3 s. A process that
  // comes back too late is refused (on_refused) and should end; started again, it stands by.
  // Excludes a session file.
  bool stands_by = false;
  // All users of its role may send it requests, and a task may run as a user that sent one
  // (TaskSpec::user = FrameworkRequest::principal). Refused unless an operator runs this process.
  bool serves_users = false;
  // Each launch is written to the framework's store in the same step. So no launch is ever
  // forgotten, and no task id is used twice in the life of the framework. Entries are "tasks/ID":
  // "launched AGENT …", and after its end "finished AGENT" or another state. Erase entries that are
  // no longer needed: the store holds 4,096. Requires a failover timeout above zero.
  bool remembers_tasks = false;
  // The author acknowledges the end of each task (Scheduler::acknowledge) after it has kept the
  // result, for example in its store. Until then the end is reported again to each life of the
  // scheduler, before on_all_tasks_known. So a crash loses no result.
  bool acknowledges_ends = false;
};

// Parses --master=SOCKET or --master=HOST:PORT (default: as SchedulerOptions::master), --role=ROLE,
// --name=NAME and --session_file=PATH. `own_flags` are the author's flags, without dashes, as
// "count" for --count=7; they are skipped. Any other word that begins with "--" is refused, since
// it is probably a mistake. Words after a "--", and words without dashes, are left alone. On an
// error prints the reason and exits with 2.
SchedulerOptions options_from(int argc, char** argv, std::string_view name,
                              const std::vector<std::string_view>& own_flags = {});

// The events to watch a descriptor for, or the events that were found.
struct WatchEvents {
  bool readable = false;  // also true when the other end has closed, or on an error
  bool writable = false;
};

// A descriptor is watched as long as its Watch lives. Destroy it on the loop's thread, before the
// descriptor is closed. It may outlive the Scheduler.
class Watch {
 public:
  Watch() = default;  // watches nothing
  explicit Watch(std::shared_ptr<void> held) : held_(std::move(held)) {}
  Watch(Watch&&) = default;
  Watch& operator=(Watch&&) = default;

 private:
  std::shared_ptr<void> held_;
};

// Counts of a scheduler since it was made. The master counts offers to refusals under the same
// names: proffer_framework_offers_total in its /metrics, and so on.
struct SchedulerFigures {
  uint64_t offers = 0;  // received
  uint64_t accepted = 0;
  uint64_t declined = 0;
  uint64_t rescinded = 0;
  uint64_t launches = 0;  // tasks in accepts
  uint64_t refused = 0;   // launches refused by the SDK, the master or an agent
  uint64_t updates = 0;   // task updates, including refusals
  uint64_t reconnects = 0;
  bool operator==(const SchedulerFigures&) const = default;
};

class SchedulerHost;

class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options);
  // Runs on the given host instead of an event loop and a network. For sdk/testing/sim_cluster.h.
  Scheduler(SchedulerHost& host, SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- callbacks ---------------------------------------------------------------------------------
  void on_subscribed(std::function<void(const proto::Subscribed&)> callback);
  // Called once for each offer. If the callback neither accepts nor declines it, the offer stays
  // valid until its lease ends.
  void on_offer(std::function<void(const Offer&)> callback);
  void on_rescind(std::function<void(OfferId)> callback);
  // Also called when a running task becomes ready (TaskSpec::readiness), unhealthy, or healthy
  // again (TaskSpec::health). An unhealthy task runs on unless the scheduler kills it.
  void on_update(std::function<void(const proto::TaskStatus&)> callback);
  void on_message(std::function<void(const proto::FrameworkMessage&)> callback);
  void on_ask_report(std::function<void(const proto::AskReport&)> callback);
  void on_failure(std::function<void(const proto::Failure&)> callback);
  // Tasks that must end: resources that a role borrowed are preempted, or their agent is drained.
  // Tasks that have not ended after the grace are killed (reasons revoked and drained), so the
  // callback may do nothing. Repeated after a reconnect.
  void on_revoke(std::function<void(const proto::RevokeNotice&)> callback);
  // Tasks that need not end any more: the drain of their agent was cancelled. If it was cancelled
  // while there was no session, on_revoke does not name these tasks again before
  // on_all_tasks_known.
  void on_revoke_withdrawn(std::function<void(const proto::RevokeWithdrawn&)> callback);
  // The master refused a part of an accept that gets no other answer: a reservation.
  void on_error(std::function<void(const Error&)> callback);
  void on_disconnected(std::function<void(const std::string& reason)> callback);
  // A request of a user to this framework, relayed by the master. Answer it now or later with
  // respond() and its `relay`. A retry with the same id gets the same answer without a second call.
  // Without this callback (and without on_notification) a request is answered with kUnsupported.
  void on_request(std::function<void(const proto::FrameworkRequest&)> callback);
  // All tasks that earlier lives of this framework launched, and that have not ended, are now in
  // live_tasks() and were reported to on_update. Called once in each session: at once, or, after a
  // restart of the master, when its agents have reregistered or are given up (default: after 10
  // minutes). Launch tasks that must not run twice only after it.
  void on_all_tasks_known(std::function<void()> callback);
  // The framework is refused permanently. Without a callback, run() prints the error and returns 1.
  void on_refused(std::function<void(const Error&)> callback);
  // All notifications, for a framework with its own core. Called before the callbacks above.
  void on_notification(std::function<void(const Notification&)> callback);

  // --- calls -------------------------------------------------------------------------------------
  // Declares one ask beside the others. It replaces an ask of the same name. `resources` as in
  // "cpus:1;mem:512". An invalid text ends the program with a message (use the Ask form to handle
  // it).
  void ask(std::string_view name, std::string_view resources, int64_t count);
  // An ask that cannot be declared is reported to on_ask_report as one that no agent could ever
  // meet. The others are declared.
  void ask(Ask ask);
  void withdraw(const AskName& name);
  // Declares exactly these asks.
  void ask_all(std::vector<Ask> asks);

  // Uses the offer for these tasks. The rest of the offer is declined for `refuse_for`. Each task
  // that the SDK or the master refuses gets a terminal update `refused` with the reason, and counts
  // again in its ask.
  void accept(const Offer& offer, std::vector<proto::TaskSpec> tasks,
              Duration refuse_for = Duration());
  // Uses these offers for operations on their agents: launches, and reservations for the
  // framework's role or one below it. Reserved resources are offered to that role only, until they
  // are unreserved. A reservation that is refused is reported to on_error.
  void accept(const std::vector<Offer>& offers, std::vector<proto::Operation> operations,
              Refusal refusal = {});
  // Launches one command for each task that the offer was made for and that is still wanted. On an
  // open offer it launches one command that uses the whole offer. Returns the task ids, which are
  // made from the ask's name.
  std::vector<TaskId> launch(const Offer& offer, std::string_view command);
  // The agent is not offered for this time. An agent that is declined for less than 1 s again and
  // again is offered less and less often, in the end every 5 s.
  void decline(const Offer& offer, Duration refuse_for = kDeclineFilter);
  void decline(const Offer& offer, Refusal refusal);
  // Sent again after each reconnect until the task has ended. `grace` replaces the task's own.
  void kill(const TaskId& task, std::optional<Duration> grace = std::nullopt);
  // For acknowledges_ends: the end of this task is not reported again. Has no effect if the end
  // was not reported, or was acknowledged before.
  void acknowledge(const TaskId& task);
  // The files of tasks whose ids begin with one of `begins` are no longer needed ("words-7." for
  // all tasks of a job), and no such task will be launched again. Each agent removes their
  // sandboxes when all of these tasks on it have ended and their ends are acknowledged. The last 1
  // MiB of stdout and stderr of a failed task stays for `proffer logs` until the sandbox age is
  // over. Without this call sandboxes stay that long (--sandbox_age of the agent). `agents`: where
  // the tasks were launched; empty: all agents. Best effort; invalid prefixes are ignored. An
  // executor that several tasks share has its sandbox under its own id.
  void release_files(std::vector<std::string> begins, std::vector<AgentId> agents = {});
  void message(const AgentId& agent, const ExecutorId& executor, std::string data);
  // Asks for the current states of these tasks, or of all. on_update receives those that differ
  // from the last report. The SDK does this after each reconnect.
  void reconcile(std::vector<TaskId> tasks = {});
  void suppress();
  void revive();
  // Calls the framework's store: see sdk/store.h. `done` is called later, once, never from within
  // this call, with an outcome for each operation. It is not called after stop(). Waits for a
  // session if there is none. Errors after which nothing was done: kInvalidArgument,
  // kFailedPrecondition (another version than expected; or failover_timeout is zero, so nothing of
  // the framework is durable), kResourceExhausted (the quota, or too many calls wait).
  // kUnavailable: the connection was lost before the answer to an operation with `expected`; read
  // the entry to see whether it was done.
  void store(std::vector<proto::StoreOperation> operations,
             std::function<void(const Result<std::vector<proto::StoreResult::Outcome>>&)> done);
  // Answers a request. The answer has at most 256 KiB, and is text if the caller is the CLI. A
  // second answer, or an answer to an unknown request, is ignored.
  void respond(uint64_t relay, Result<std::string> answer);
  // Any command, for a framework with its own core.
  void command(Command command);

  const FrameworkId& framework() const;  // empty until subscribed
  // Tasks that were launched and whose end was not reported. Complete if all_tasks_known().
  std::vector<TaskId> live_tasks() const;
  // True after on_all_tasks_known() of this session.
  bool all_tasks_known() const;
  SchedulerFigures figures() const;

  // --- the event loop ----------------------------------------------------------------------------
  Time now() const;
  // Calls `callback` once, after this time.
  void after(Duration duration, std::function<void()> callback);
  // Calls `callback` for SIGINT, SIGTERM …. It replaces the default of run(), which is stop(130)
  // and stop(143).
  void on_signal(int signal, std::function<void()> callback);
  // Calls `callback` on the loop's thread, in the order of these calls, once run() runs. Any thread
  // may call it. Returns false if `callback` will never be called: 65,536 calls wait already, or
  // the scheduler has left or is about to leave run(). Calls that still wait then are dropped. The
  // Scheduler must outlive the call.
  bool post(std::function<void()> callback);
  // Calls `callback` again and again while the descriptor (a pipe, a socket, an eventfd …) is in a
  // wanted state, until the Watch is destroyed. The callback may destroy it. A descriptor can have
  // one watch; the author keeps owning it. Errors: kInvalidArgument (nothing is wanted, or the
  // descriptor is not open), kAlreadyExists, kUnsupported (a file or folder, which is always ready:
  // read it with run_aside(); or a simulated cluster, which has no descriptors).
  Result<Watch> watch(int descriptor, WatchEvents wanted,
                      std::function<void(WatchEvents)> callback);
  // Runs `work` on another thread, then `done` on this one.
  void run_aside(std::function<void()> work, std::function<void()> done);
  // Runs until stop(). Returns its exit code.
  int run();
  // Tears the framework down, so its tasks end, and leaves run(). If the master is away, waits at
  // most 10 s for it and then prints that the teardown was not confirmed. Removes the session file.
  // Of several exit codes the first counts.
  void stop(int exit_code = 0);
  // Leaves run() but keeps the framework and its tasks. A later process finds them with the session
  // file.
  void detach(int exit_code = 0);

 private:
  class Shell;
  // Ends the program if the caller is not the loop's thread.
  Shell& shell(const char* member) const;

  std::unique_ptr<Shell> shell_;
};

}  // namespace proffer::sdk
