#pragma once

// For authors of schedulers: one object, a few callbacks, one loop. Everything runs on the thread
// that calls run(); callbacks may call any member. Other threads call post() and nothing else: any
// other member ends the program there, with a message that names it.
//
// A callback must not throw: an exception out of one ends the program with a message that names the
// callback. One that blocks keeps the scheduler from everything else, also from telling the master
// that it lives; after 5 s, and each time that it has run twice as long, a warning names it.
//
//   int main(int argc, char** argv) {
//     proffer::sdk::Scheduler hello(proffer::sdk::options_from(argc, argv, "hello"));
//     hello.ask("echo", "cpus:0.1;mem:32", 5);
//     hello.on_offer([&](const proffer::Offer& offer) { hello.launch(offer, "echo hello"); });
//     hello.on_update([&](const proffer::proto::TaskStatus& task) { … hello.stop(); });
//     return hello.run();
//   }
//
// Asks are declarative: say once what you want and how often; offers come to that measure, fairly
// shared. With OfferMode::kOpen and no asks you get classic open offers. Subscription,
// reconnecting, acknowledgement and reconciliation are done for you; each update is heard exactly
// once, in order.

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
  // A socket's path or HOST:PORT, of several masters a list with commas; empty: $PROFFER_MASTER,
  // the one joined, or the one of this machine (/run/proffer/master.sock), never that of a
  // `proffer dev`.
  std::string master = {};
  std::string user = {};
  // How long the tasks outlive the connection of this process. Zero: they end with it. Unless set:
  // a week with a session file or if it stands by, else 10 s, since no other process could ever
  // come back for them.
  std::optional<Duration> failover_timeout = {};
  // Keeps the framework's id and secret (mode 0600): started again with it, the scheduler finds its
  // tasks. Empty: a new framework each time.
  std::string session_file = {};
  // One of several processes, on one machine or more, that are one framework by its name and user.
  // While another of them is connected it stands by; it takes the framework over, with its tasks,
  // store and all, once that one has been away for 3 s. One that comes back too late is refused
  // (on_refused) and should end; started again, it stands by. Without a session file.
  bool stands_by = false;
  // Everybody that may use its role may send it requests, and a task may run as a user that sent
  // one (TaskSpec::user = FrameworkRequest::principal). Refused unless an operator runs this
  // process.
  bool serves_users = false;
  // Each task that is launched is written to the framework's store first, in the same step: no
  // launch is ever forgotten, and no task id is used twice in the life of the framework. Entries
  // are "tasks/ID": "launched AGENT …", and after its end "finished AGENT" or another state; erase
  // those that are not needed any more, the store takes 4,096. Needs a failover timeout above zero.
  bool remembers_tasks = false;
  // The author acknowledges the end of each task (Scheduler::acknowledge) once it has kept what it
  // needs of it, in its store for example. Until then the end is told again to each life of the
  // scheduler, before on_all_tasks_known: nothing that a task has done is forgotten by a crash.
  bool acknowledges_ends = false;
};

// --master=SOCKET or --master=HOST:PORT (else $PROFFER_MASTER, the one joined, or this machine's),
// --role=ROLE, --name=NAME, --session_file=PATH. `own_flags` are the names of the author's, without
// dashes, as "count" of --count=7; they are not looked at. Any other word that begins with "--" is
// refused, as most likely a mistake; words after a "--", and words that do not begin so, are left
// alone. Prints what is wrong and exits with 2.
SchedulerOptions options_from(int argc, char** argv, std::string_view name,
                              const std::vector<std::string_view>& own_flags = {});

// What a descriptor is watched for, and what was found.
struct WatchEvents {
  bool readable = false;  // also when the other end has closed, or on an error
  bool writable = false;
};

// A descriptor is watched as long as this lives. Destroy it on the loop's thread, before the
// descriptor is closed. It may outlive the Scheduler.
class Watch {
 public:
  Watch() = default;  // of nothing
  explicit Watch(std::shared_ptr<void> held) : held_(std::move(held)) {}
  Watch(Watch&&) = default;
  Watch& operator=(Watch&&) = default;

 private:
  std::shared_ptr<void> held_;
};

// What a scheduler did and heard, counted since it was made. The master counts offers to launches
// and refusals under the same names: proffer_framework_offers_total in its /metrics, and so on.
struct SchedulerFigures {
  uint64_t offers = 0;  // heard
  uint64_t accepted = 0;
  uint64_t declined = 0;
  uint64_t rescinded = 0;
  uint64_t launches = 0;  // tasks in accepts
  uint64_t refused = 0;   // launches that were refused, here or in the master or by an agent
  uint64_t updates = 0;   // of tasks, refusals among them
  uint64_t reconnects = 0;
  bool operator==(const SchedulerFigures&) const = default;
};

class SchedulerHost;

class Scheduler {
 public:
  explicit Scheduler(SchedulerOptions options);
  // On a given host instead of a loop and a network: for sdk/testing/sim_cluster.h.
  Scheduler(SchedulerHost& host, SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- what happens ----------------------------------------------------------------------------
  void on_subscribed(std::function<void(const proto::Subscribed&)> callback);
  // Each offer once. One that is neither accepted nor declined when the callback returns stays the
  // scheduler's until its lease ends.
  void on_offer(std::function<void(const Offer&)> callback);
  void on_rescind(std::function<void(OfferId)> callback);
  // Also when a running task turns ready (TaskSpec::readiness), unhealthy, or healthy again
  // (TaskSpec::health): nobody but the scheduler ends it for that.
  void on_update(std::function<void(const proto::TaskStatus&)> callback);
  void on_message(std::function<void(const proto::FrameworkMessage&)> callback);
  void on_ask_report(std::function<void(const proto::AskReport&)> callback);
  void on_failure(std::function<void(const proto::Failure&)> callback);
  // Tasks that are to end: what a role above its share borrowed goes back, or their agent is being
  // drained. Those that have not ended when the grace is over are killed (reasons revoked and
  // drained), so that doing nothing is allowed; told again after a reconnect.
  void on_revoke(std::function<void(const proto::RevokeNotice&)> callback);
  // Tasks that need not end any more: the drain of their agent was taken back. If that happened
  // while there was no session, on_revoke does not tell of them again before on_all_tasks_known.
  void on_revoke_withdrawn(std::function<void(const proto::RevokeWithdrawn&)> callback);
  // The master refused something that has no other answer: a reservation in an accept.
  void on_error(std::function<void(const Error&)> callback);
  void on_disconnected(std::function<void(const std::string& reason)> callback);
  // A request of a user to this framework, relayed by the master: to be answered, now or later, by
  // respond() with its `relay`. A caller that tries again with the same id is given the same answer
  // and not heard of again. Without this callback (and without on_notification) a request is
  // answered with kUnsupported.
  void on_request(std::function<void(const proto::FrameworkRequest&)> callback);
  // All that this framework's earlier lives launched, and that has not ended, is now in
  // live_tasks() and was told to on_update. Once in each session, at once or when the agents of a
  // restarted master are back (or given up: after 10 minutes, unless an operator set another time).
  // What must not run twice is launched after it.
  void on_all_tasks_known(std::function<void()> callback);
  // Refused for good. Without a callback, run() prints the error and returns 1.
  void on_refused(std::function<void(const Error&)> callback);
  // Everything, for a framework with a core of its own; called before the callbacks above.
  void on_notification(std::function<void(const Notification&)> callback);

  // --- what to do ------------------------------------------------------------------------------
  // Declares one ask beside the others; one of the same name is replaced. `resources` as in
  // "cpus:1;mem:512". A wrong text ends the program with a clear message (use the Ask form to
  // handle it).
  void ask(std::string_view name, std::string_view resources, int64_t count);
  // One that cannot be declared is told to on_ask_report, as what no agent could ever meet; the
  // others are declared.
  void ask(Ask ask);
  void withdraw(const AskName& name);
  // Declares exactly these.
  void ask_all(std::vector<Ask> asks);

  // Uses the offer for these tasks; what is left of it is declined for `refuse_for`. Each task that
  // cannot be launched, here or in the master, gets a terminal update `refused` that says why; its
  // ask counts it as wanted again.
  void accept(const Offer& offer, std::vector<proto::TaskSpec> tasks,
              Duration refuse_for = Duration());
  // Uses these offers for operations on their agents: launches, and reservations of what they hold
  // for the framework's role or one below it (what is reserved comes in offers to that role only,
  // until it is unreserved; a reservation that cannot be made is told to on_error).
  void accept(const std::vector<Offer>& offers, std::vector<proto::Operation> operations,
              Refusal refusal = {});
  // One command for each task that the offer was made for and that is still wanted (an open offer:
  // one that takes all of it), with ids made from the ask's name. Returns their ids.
  std::vector<TaskId> launch(const Offer& offer, std::string_view command);
  // The agent is not offered for so long. One that is declined for less than 1 s again and again
  // is offered less and less often, each 5 s at last.
  void decline(const Offer& offer, Duration refuse_for = kDeclineFilter);
  void decline(const Offer& offer, Refusal refusal);
  // Said again after each reconnect until the task has ended. `grace`: instead of the task's own.
  void kill(const TaskId& task, std::optional<Duration> grace = std::nullopt);
  // With acknowledges_ends: the end of this task need not be told again. Of a task whose end was
  // not told, or that was acknowledged before, nothing happens.
  void acknowledge(const TaskId& task);
  // The files of tasks whose ids begin with one of `begins` are needed no more ("words-7." for all
  // tasks of a job), and no further such task will be launched. Each agent removes their sandboxes
  // when all of them there have ended and their ends are acknowledged; the last 1 MiB of stdout and
  // stderr of a failed task stays for `proffer logs` until it is old. Without this call sandboxes
  // stay until they are old (--sandbox_age of the agent). `agents`: where the tasks were launched;
  // none: all agents. Best effort; what is no name is left out. An executor that several tasks
  // share has its sandbox under its own id.
  void release_files(std::vector<std::string> begins, std::vector<AgentId> agents = {});
  void message(const AgentId& agent, const ExecutorId& executor, std::string data);
  // The truth about these tasks, or all: told to on_update where it differs from what was told
  // last. Done by itself after each reconnect.
  void reconcile(std::vector<TaskId> tasks = {});
  void suppress();
  void revive();
  // The framework's store: see sdk/store.h. `done` is called later, once, never from within this
  // call, with an outcome for each operation; not at all after stop(). Waits for a session if there
  // is none. Errors, nothing was done: kInvalidArgument, kFailedPrecondition (another version than
  // expected; or failover_timeout is zero: nothing of such a framework is durable),
  // kResourceExhausted (the quota, or too many calls wait). kUnavailable: the connection was lost
  // before the answer to an operation with `expected`; read the entry to see whether it was done.
  void store(std::vector<proto::StoreOperation> operations,
             std::function<void(const Result<std::vector<proto::StoreResult::Outcome>>&)> done);
  // Answers a request; at most 256 KiB, and text if its caller is the CLI. A second answer, or one
  // to a request that nobody knows any more, is ignored.
  void respond(uint64_t relay, Result<std::string> answer);
  // Any command, for a framework with a core of its own.
  void command(Command command);

  const FrameworkId& framework() const;  // empty until subscribed
  // Launched, and not told to have ended; complete if all_tasks_known().
  std::vector<TaskId> live_tasks() const;
  // Since on_all_tasks_known() of this session.
  bool all_tasks_known() const;
  SchedulerFigures figures() const;

  // --- the loop --------------------------------------------------------------------------------
  Time now() const;
  // Calls once, after the given time.
  void after(Duration duration, std::function<void()> callback);
  // SIGINT, SIGTERM …; replaces what run() does by default, which is stop(130) and stop(143).
  void on_signal(int signal, std::function<void()> callback);
  // Any thread: `callback` is called on the loop's, in the order of these calls, once run() runs.
  // False, and it never is: 65,536 wait already, or the scheduler has left run(), or is about to.
  // Calls that still wait then are dropped. The Scheduler must outlive the call.
  bool post(std::function<void()> callback);
  // Calls again and again while the descriptor (a pipe, a socket, an eventfd …) is as wanted, until
  // the Watch is destroyed, which may happen in the callback. One watch for each descriptor; it
  // stays the author's. Errors: kInvalidArgument (nothing is wanted, or it is not open),
  // kAlreadyExists, kUnsupported (a file or folder, which is always ready: read it with
  // run_aside(); or a simulated cluster, which has no descriptors).
  Result<Watch> watch(int descriptor, WatchEvents wanted,
                      std::function<void(WatchEvents)> callback);
  // Runs `work` on another thread and `done` on this one.
  void run_aside(std::function<void()> work, std::function<void()> done);
  // Until stop(), whose exit code it returns.
  int run();
  // Tears the framework down, so its tasks end, and leaves run(); waits at most 10 s for a master
  // that is away, and says so if that was in vain. Removes the session file. Of several exit codes
  // the first counts.
  void stop(int exit_code = 0);
  // Leaves run() with the framework and its tasks in place, to be found by its session file.
  void detach(int exit_code = 0);

 private:
  class Shell;
  // Ends the program if this is not the loop's thread.
  Shell& shell(const char* member) const;

  std::unique_ptr<Shell> shell_;
};

}  // namespace proffer::sdk
