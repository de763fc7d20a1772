// The author's object: it turns frames, timers and calls into events of the driver's core, and
// carries out the core's actions in order: carry_out(). Calls take effect in the core at once;
// their results are reported to the author later, never from within the call. It runs on a
// SchedulerHost.

#include "sdk/scheduler.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "common/printable.h"
#include "common/roles.h"
#include "common/text.h"
#include "sdk/core/driver.h"
#include "sdk/core/sendable.h"
#include "sdk/shell/complaints.h"
#include "sdk/shell/loop_host.h"
#include "sdk/shell/posted_calls.h"

namespace proffer::sdk {
namespace {

// The part of an ask's name in task ids; the rest is a number.
constexpr size_t kTaskNameBytesMax = 96;

// Marks the ids of store() requests, as opposed to ids that an author chooses.
constexpr uint64_t kOwnStoreIds = uint64_t{1} << 63;

using StoreOutcomes = std::vector<proto::StoreResult::Outcome>;
using StoreCallback = std::function<void(const Result<StoreOutcomes>&)>;

SchedulerOptions checked(SchedulerOptions options) {
  if (Result<void> name = check_name("a scheduler's name", options.name); !name) {
    exit_with(std::move(name).error().with_hint("set SchedulerOptions::name, or --name=NAME"));
  }
  if (Result<RoleName> role = parse_role(options.role.str()); !role) {
    exit_with(std::move(role).error().with_hint("set SchedulerOptions::role, or --role=ROLE"));
  }
  if (options.stands_by && !options.session_file.empty()) {
    exit_with(
        Error::invalid_argument("a standby scheduler needs no session file")
            .with_hint(
                "its name and user identify its framework; leave one of the two options out"));
  }
  const bool may_come_back = options.stands_by || !options.session_file.empty();
  const Duration usual = may_come_back ? kFailoverTimeout : kAttachedFailoverTimeout;
  options.failover_timeout =
      std::clamp(options.failover_timeout.value_or(usual), Duration(), hours(24 * 3650));
  options.user.resize(std::min(options.user.size(), kNameBytesMax));
  return options;
}

// Milliseconds in letters and digits: they identify a life of a scheduler among those of its
// framework.
std::string life_name(Time now) {
  std::string name;
  for (int64_t rest = now.nanos() / 1'000'000; rest > 0; rest /= 36) {
    name.insert(name.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36]);
  }
  return name;
}

// An exception of the author's code cannot be passed on: between this function and main() there is
// a C loop.
template <class Function, class... Value>
void guarded(const char* name, const Function& function, const Value&... value) {
  const auto threw = [name](std::string_view what) {
    abort_with(Error::internal(text(name, " threw: ", what))
                   .with_hint("a callback must not throw: catch the exception there"));
  };
  try {
    function(value...);
  } catch (const std::exception& error) {
    threw(printable(error.what()));
  } catch (...) {
    threw("not a std::exception");
  }
}

}  // namespace

class Scheduler::Shell final : public SchedulerHost::Guest {
 public:
  // Uses its own host, or one that outlives it.
  explicit Shell(SchedulerOptions given)
      : options(checked(std::move(given))),
        own_host(std::make_unique<LoopHost>(options)),
        host(*own_host),
        driver(driver_options()),
        task_suffix(suffix()) {
    host.set_guest(this);
  }
  Shell(SchedulerHost& given_host, SchedulerOptions given)
      : options(checked(std::move(given))),
        host(given_host),
        driver(driver_options()),
        task_suffix(suffix()) {
    host.set_guest(this);
  }
  ~Shell() = default;
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  DriverOptions driver_options() const {
    return DriverOptions{.name = options.name,
                         .role = options.role,
                         .mode = options.mode,
                         .user = options.user,
                         .secret = host.secret(),
                         .framework = host.framework(),
                         .failover_timeout = *options.failover_timeout,
                         .session_file = options.session_file,
                         .serves_users = options.serves_users,
                         .remembers_tasks = options.remembers_tasks,
                         .stands_by = options.stands_by,
                         .acknowledges_ends = options.acknowledges_ends};
  }
  // Distinguishes its ids from those of other lives.
  std::string suffix() const {
    const bool has_other_lives = host.keeps_identity() || options.stands_by;
    return has_other_lives ? text('-', life_name(host.now()), '-') : "-";
  }

  void on_timer() override { event(Tick{}); }
  void on_connected() override { event(MasterConnected{}); }
  void on_frame(proto::Envelope envelope) override { event(MasterFrame{std::move(envelope)}); }
  void on_disconnected(const std::string& reason) override { event(MasterDisconnected{reason}); }
  std::vector<Violation> violations() const override { return driver.violations(); }

  // --- events in, actions out ------------------------------------------------------------------

  // An event: all its consequences are carried out now.
  void event(const DriverEvent& what) {
    if (is_leaving) return;
    step(what);
    carry_out_all();
  }

  // A command of the author: it is sent now, and answered after this call has returned.
  void command(Command what) {
    if (is_leaving) return;
    host.on_command(what);
    count(what);
    step(CommandGiven{std::move(what)});
    if (is_carrying_out) return;  // called from a callback; the caller carries out the rest
    while (!actions.empty() && !std::holds_alternative<Notify>(actions.front())) carry_out_next();
    if (!actions.empty() && !std::exchange(is_deferred, true)) {
      host.defer([this] {
        is_deferred = false;
        carry_out_all();
      });
    }
  }

  void step(const DriverEvent& what) {
    DriverOutbox out;
    driver.handle(what, host.now(), out);
    for (DriverAction& action : out.actions) actions.push_back(std::move(action));
    for (const TraceEvent& happened : out.trace) host.happened(happened);
    host.arm(driver.next_deadline());
  }

  void carry_out_all() {
    if (std::exchange(is_carrying_out, true)) return;
    while (!actions.empty()) carry_out_next();
    is_carrying_out = false;
  }

  void carry_out_next() {
    const DriverAction action = std::move(actions.front());
    actions.pop_front();
    std::visit([this](const auto& a) { carry_out(a); }, action);
  }

  void carry_out(const SendToMaster& action) {
    const bool was_sent = host.send(action.envelope);
    if (was_sent && std::holds_alternative<proto::Teardown>(*action.envelope.message)) {
      is_torn_down = true;
      host.forget_identity();
    }
  }

  void carry_out(const ResetMaster&) { host.reset("the session with the master ended"); }

  void carry_out(const SaveIdentity& action) {
    host.save_identity(action.framework, action.secret);
  }

  void carry_out(const Notify& action) {
    if (is_leaving || !host.hears(action.notification)) return;
    count(action.notification);
    call("on_notification", notification_callback, action.notification);
    std::visit([this](const auto& what) { tell(what); }, action.notification);
  }

  void carry_out(const Done&) {
    if (is_stopping && !is_torn_down && !driver.framework().empty()) {
      host.warn(text("the master did not learn that framework ", driver.framework().str(),
                     " has ended; its tasks end after its failover timeout, ",
                     to_text(*options.failover_timeout)));
    }
    leave();
  }

  void run_posted() {
    posted.take_turn([this](const std::function<void()>& fn) { call("post", fn); });
  }

  // --- the author's callbacks ------------------------------------------------------------------

  void tell(const proto::Subscribed& what) { call("on_subscribed", subscribed_callback, what); }
  void tell(const proto::Offers& what) {
    if (!offer_callback && !notification_callback && !std::exchange(has_told_of_offers, true)) {
      host.warn(
          "an offer came, but no callback takes it: call on_offer() before run(); until then no "
          "task starts, and each offer is lost when its lease ends");
    }
    for (const Offer& offer : what.offers) call("on_offer", offer_callback, offer);
  }
  void tell(const proto::Rescind& what) {
    for (const OfferId offer : what.offers) call("on_rescind", rescind_callback, offer);
  }
  void tell(const proto::TaskStatus& what) { call("on_update", update_callback, what); }
  void tell(const proto::FrameworkMessage& what) { call("on_message", message_callback, what); }
  void tell(const proto::AskReport& what) { call("on_ask_report", ask_report_callback, what); }
  void tell(const proto::Failure& what) { call("on_failure", failure_callback, what); }
  void tell(const proto::StoreResult& what) {
    const auto waiting = store_callbacks.find(what.id);
    if (waiting == store_callbacks.end()) return;  // sent with command()
    const StoreCallback callback = std::move(waiting->second);
    store_callbacks.erase(waiting);
    if (what.error) {
      call("store", callback,
           Result<StoreOutcomes>(
               Error(what.error->code, what.error->message).with_hint(what.error->hint)));
    } else {
      call("store", callback, Result<StoreOutcomes>(what.outcomes));
    }
  }
  void tell(const proto::FrameworkRequest& what) {
    call("on_request", request_callback, what);
    if (request_callback || notification_callback) return;
    respond(what.relay,
            Error::unsupported(text("framework ", driver.framework().str(), " takes no requests")));
  }
  void tell(const AllTasksKnown&) { call("on_all_tasks_known", all_tasks_known_callback); }
  void tell(const proto::RevokeNotice& what) { call("on_revoke", revoke_callback, what); }
  void tell(const proto::RevokeWithdrawn& what) {
    call("on_revoke_withdrawn", revoke_withdrawn_callback, what);
  }
  void tell(const Complaint& what) { call("on_error", error_callback, what.error); }
  void tell(const Disconnected& what) {
    call("on_disconnected", disconnected_callback, what.reason);
  }
  void tell(const Refused& what) {
    host.refused(what.error, refused_callback || notification_callback);
    call("on_refused", refused_callback, what.error);
    if (!exit_code) exit_code = 1;
  }

  // Every call of the author's code goes through here; `name` is a literal for messages.
  template <class Callback, class... Value>
  void call(const char* name, const Callback& callback, const Value&... value) {
    if (!is_leaving) call_always(name, callback, value...);
  }
  template <class Callback, class... Value>
  void call_always(const char* name, const Callback& callback, const Value&... value) {
    if (!callback) return;
    host.callback_begins(name);
    guarded(name, callback, value...);
    host.callback_ends();
  }

  void count(const Notification& notification) {
    if (const auto* offers = std::get_if<proto::Offers>(&notification)) {
      figures.offers += offers->offers.size();
    } else if (const auto* rescind = std::get_if<proto::Rescind>(&notification)) {
      figures.rescinded += rescind->offers.size();
    } else if (const auto* status = std::get_if<proto::TaskStatus>(&notification)) {
      ++figures.updates;
      if (status->state == proto::TaskState::kRefused) ++figures.refused;
    } else if (std::holds_alternative<proto::Subscribed>(notification)) {
      if (std::exchange(was_subscribed, true)) ++figures.reconnects;
    }
  }
  void count(const Command& what) {
    if (const auto* accept = std::get_if<proto::Accept>(&what)) {
      figures.accepted += accept->offers.size();
      for (const proto::Operation& operation : accept->operations) {
        figures.launches += proto::launched_by(operation).size();
      }
    } else if (const auto* decline = std::get_if<proto::Decline>(&what)) {
      figures.declined += decline->offers.size();
    }
  }

  // --- the end ---------------------------------------------------------------------------------

  void leave() {
    is_leaving = true;
    posted.close();
    host.leave(exit_code.value_or(0));
  }

  void stop(int code) {
    if (is_leaving) return;
    if (!exit_code) exit_code = code;
    is_stopping = true;
    command(proto::Teardown{});
  }

  void detach(int code) {
    if (is_leaving || is_detaching) return;
    exit_code = code;
    is_detaching = true;
    // The last messages of this turn leave first, above all the acknowledgement of an update.
    host.defer([this] { leave(); });
  }

  // A second signal does not wait for the master.
  void on_end_signal(int signal) {
    if (is_stopping) return leave();
    stop(128 + signal);
  }

  void ask(Ask ask) {
    std::vector<Ask> asks = driver.asks();
    const auto same = std::find_if(asks.begin(), asks.end(),
                                   [&](const Ask& other) { return other.name == ask.name; });
    if (same == asks.end()) {
      asks.push_back(std::move(ask));
    } else {
      *same = std::move(ask);
    }
    command(proto::DeclareAsks{.asks = std::move(asks)});
  }

  void store(std::vector<proto::StoreOperation> operations, StoreCallback done) {
    const uint64_t id = kOwnStoreIds + ++stores;
    store_callbacks.emplace(id, std::move(done));
    command(proto::StoreRequest{.id = id, .operations = std::move(operations)});
  }

  void respond(uint64_t relay, Result<std::string> answer) {
    proto::FrameworkResponse response{.relay = relay};
    if (answer) {
      response.data = *std::move(answer);
    } else {
      const Error& error = answer.error();
      response.error = proto::ErrorMessage{
          .code = error.code(), .message = error.message(), .hint = error.hint()};
    }
    command(std::move(response));
  }

  TaskId next_task_id(std::string_view name) {
    return TaskId(text(name.substr(0, kTaskNameBytesMax), task_suffix, ++tasks_named));
  }

  SchedulerOptions options;
  // The thread that may call members, checked in each: the creator's, then that of run().
  std::atomic<std::thread::id> owner = std::this_thread::get_id();
  SchedulerFigures figures = {};
  bool was_subscribed = false;
  std::unique_ptr<SchedulerHost> own_host;
  SchedulerHost& host;
  Driver driver;

  PostedCalls posted{[this] { host.post([this] { run_posted(); }); }};
  std::deque<DriverAction> actions;  // not yet carried out
  bool is_carrying_out = false;
  bool is_deferred = false;
  bool is_stopping = false;
  bool is_detaching = false;
  bool is_torn_down = false;
  bool is_leaving = false;
  std::optional<int> exit_code;

  std::set<int> signals;  // with a handler of the author

  std::string task_suffix;
  uint64_t tasks_named = 0;
  bool has_told_of_offers = false;  // that no callback takes them

  uint64_t stores = 0;
  std::map<uint64_t, StoreCallback> store_callbacks;

  std::function<void(const proto::Subscribed&)> subscribed_callback;
  std::function<void(const Offer&)> offer_callback;
  std::function<void(OfferId)> rescind_callback;
  std::function<void(const proto::TaskStatus&)> update_callback;
  std::function<void(const proto::FrameworkMessage&)> message_callback;
  std::function<void(const proto::AskReport&)> ask_report_callback;
  std::function<void(const proto::Failure&)> failure_callback;
  std::function<void(const proto::RevokeNotice&)> revoke_callback;
  std::function<void(const proto::RevokeWithdrawn&)> revoke_withdrawn_callback;
  std::function<void()> all_tasks_known_callback;
  std::function<void(const Error&)> error_callback;
  std::function<void(const std::string&)> disconnected_callback;
  std::function<void(const Error&)> refused_callback;
  std::function<void(const proto::FrameworkRequest&)> request_callback;
  std::function<void(const Notification&)> notification_callback;
};

Scheduler::Scheduler(SchedulerOptions options)
    : shell_(std::make_unique<Shell>(std::move(options))) {}
Scheduler::Scheduler(SchedulerHost& host, SchedulerOptions options)
    : shell_(std::make_unique<Shell>(host, std::move(options))) {}
Scheduler::~Scheduler() = default;

Scheduler::Shell& Scheduler::shell(const char* member) const {
  if (std::this_thread::get_id() != shell_->owner.load()) {
    abort_with(
        Error::failed_precondition(
            text("Scheduler::", member,
                 "() was called on the wrong thread: call it on the thread of run(), or before "
                 "run() on the one that made the Scheduler"))
            .with_hint(text("to call it from another thread: scheduler.post([&] { scheduler.",
                            member, "(...); })")));
  }
  return *shell_;
}

void Scheduler::on_subscribed(std::function<void(const proto::Subscribed&)> callback) {
  shell("on_subscribed").subscribed_callback = std::move(callback);
}
void Scheduler::on_offer(std::function<void(const Offer&)> callback) {
  shell("on_offer").offer_callback = std::move(callback);
}
void Scheduler::on_rescind(std::function<void(OfferId)> callback) {
  shell("on_rescind").rescind_callback = std::move(callback);
}
void Scheduler::on_update(std::function<void(const proto::TaskStatus&)> callback) {
  shell("on_update").update_callback = std::move(callback);
}
void Scheduler::on_message(std::function<void(const proto::FrameworkMessage&)> callback) {
  shell("on_message").message_callback = std::move(callback);
}
void Scheduler::on_ask_report(std::function<void(const proto::AskReport&)> callback) {
  shell("on_ask_report").ask_report_callback = std::move(callback);
}
void Scheduler::on_failure(std::function<void(const proto::Failure&)> callback) {
  shell("on_failure").failure_callback = std::move(callback);
}
void Scheduler::on_all_tasks_known(std::function<void()> callback) {
  shell("on_all_tasks_known").all_tasks_known_callback = std::move(callback);
}
void Scheduler::on_revoke(std::function<void(const proto::RevokeNotice&)> callback) {
  shell("on_revoke").revoke_callback = std::move(callback);
}
void Scheduler::on_revoke_withdrawn(std::function<void(const proto::RevokeWithdrawn&)> callback) {
  shell("on_revoke_withdrawn").revoke_withdrawn_callback = std::move(callback);
}
void Scheduler::on_error(std::function<void(const Error&)> callback) {
  shell("on_error").error_callback = std::move(callback);
}
void Scheduler::on_disconnected(std::function<void(const std::string&)> callback) {
  shell("on_disconnected").disconnected_callback = std::move(callback);
}
void Scheduler::on_refused(std::function<void(const Error&)> callback) {
  shell("on_refused").refused_callback = std::move(callback);
}
void Scheduler::on_request(std::function<void(const proto::FrameworkRequest&)> callback) {
  shell("on_request").request_callback = std::move(callback);
}
void Scheduler::on_notification(std::function<void(const Notification&)> callback) {
  shell("on_notification").notification_callback = std::move(callback);
}

void Scheduler::ask(std::string_view name, std::string_view resources, int64_t count) {
  Result<ResourceVector> shape = parse_shape(resources);
  if (!shape) {
    Error error = std::move(shape).error().in(text("resources of ask ", quoted(name)));
    const std::string hint = error.hint();
    exit_with(std::move(error).with_hint(
        text(hint, hint.empty() ? "" : " ", "for example \"cpus:1;mem:512\"")));
  }
  Ask ask{.name = AskName(std::string(name)), .shape = *shape, .count = count};
  if (Result<void> checked = check_ask(ask); !checked) {
    exit_with(std::move(checked).error().in(text("ask ", quoted(name))));
  }
  shell("ask").ask(std::move(ask));
}
void Scheduler::ask(Ask ask) { shell("ask").ask(std::move(ask)); }
void Scheduler::withdraw(const AskName& name) {
  std::vector<Ask> asks = shell("withdraw").driver.asks();
  std::erase_if(asks, [&](const Ask& ask) { return ask.name == name; });
  ask_all(std::move(asks));
}
void Scheduler::ask_all(std::vector<Ask> asks) {
  shell("ask_all").command(proto::DeclareAsks{.asks = std::move(asks)});
}

void Scheduler::accept(const std::vector<Offer>& offers, std::vector<proto::Operation> operations,
                       Refusal refusal) {
  proto::Accept accept{.operations = std::move(operations), .refusal = std::move(refusal)};
  for (const Offer& offer : offers) accept.offers.push_back(offer.id);
  shell("accept").command(std::move(accept));
}
void Scheduler::accept(const Offer& offer, std::vector<proto::TaskSpec> tasks,
                       Duration refuse_for) {
  shell("accept").command(
      proto::Accept{.offers = {offer.id},
                    .operations = {proto::Launch{.agent = offer.agent, .tasks = std::move(tasks)}},
                    .refusal = {.refuse_for = refuse_for}});
}

std::vector<TaskId> Scheduler::launch(const Offer& offer, std::string_view command) {
  Shell& shell = this->shell("launch");
  std::vector<proto::TaskSpec> tasks;
  const auto add = [&](std::string_view name, const Ask& ask) {
    proto::TaskSpec task{.id = shell.next_task_id(name),
                         .ask = ask.name,
                         .shape = ask.shape,
                         .command = std::string(command)};
    for (int64_t port = 0; port < ask.ports; ++port) task.port_names.push_back(text(port));
    tasks.push_back(std::move(task));
  };
  for (const AskFill& fill : offer.fills) {
    // Not more than is still wanted: the author may have reduced the ask since.
    for (const Ask& ask : shell.driver.asks()) {
      if (ask.name != fill.ask) continue;
      const int64_t count = std::min(fill.count, ask.count);
      for (int64_t i = 0; i < count; ++i) add(ask.name.str(), ask);
    }
  }
  if (offer.fills.empty()) add("task", Ask{.shape = offer.total().amounts});

  std::vector<TaskId> ids;
  for (const proto::TaskSpec& task : tasks) ids.push_back(task.id);
  accept(offer, std::move(tasks));
  return ids;
}

void Scheduler::decline(const Offer& offer, Duration refuse_for) {
  decline(offer, Refusal{.refuse_for = refuse_for});
}
void Scheduler::decline(const Offer& offer, Refusal refusal) {
  shell("decline").command(proto::Decline{.offers = {offer.id}, .refusal = std::move(refusal)});
}
void Scheduler::kill(const TaskId& task, std::optional<Duration> grace) {
  shell("kill").command(proto::KillTask{.task = task, .grace = grace});
}
void Scheduler::acknowledge(const TaskId& task) {
  shell("acknowledge").command(AcknowledgeEnd{task});
}
void Scheduler::message(const AgentId& agent, const ExecutorId& executor, std::string data) {
  shell("message").command(
      proto::FrameworkMessage{.agent = agent, .executor = executor, .data = std::move(data)});
}
void Scheduler::release_files(std::vector<std::string> begins, std::vector<AgentId> agents) {
  shell("release_files")
      .command(proto::ReleaseFiles{
          .framework = {}, .begins = std::move(begins), .agents = std::move(agents)});
}
void Scheduler::reconcile(std::vector<TaskId> tasks) {
  shell("reconcile").command(proto::Reconcile{.tasks = std::move(tasks)});
}
void Scheduler::suppress() { shell("suppress").command(proto::Suppress{}); }
void Scheduler::revive() { shell("revive").command(proto::Revive{}); }
void Scheduler::store(std::vector<proto::StoreOperation> operations,
                      std::function<void(const Result<StoreOutcomes>&)> done) {
  shell("store").store(std::move(operations), std::move(done));
}
void Scheduler::respond(uint64_t relay, Result<std::string> answer) {
  shell("respond").respond(relay, std::move(answer));
}
void Scheduler::command(Command command) { shell("command").command(std::move(command)); }

const FrameworkId& Scheduler::framework() const { return shell("framework").driver.framework(); }
std::vector<TaskId> Scheduler::live_tasks() const {
  return shell("live_tasks").driver.live_tasks();
}
bool Scheduler::all_tasks_known() const {
  return shell("all_tasks_known").driver.all_tasks_known();
}
SchedulerFigures Scheduler::figures() const { return shell("figures").figures; }

Time Scheduler::now() const { return shell("now").host.now(); }

void Scheduler::after(Duration duration, std::function<void()> callback) {
  Shell& shell = this->shell("after");
  shell.host.after(duration, [&shell, fn = std::move(callback)] { shell.call("after", fn); });
}

void Scheduler::on_signal(int signal, std::function<void()> callback) {
  Shell& shell = this->shell("on_signal");
  shell.signals.insert(signal);
  if (!callback) return shell.host.on_signal(signal, {});
  shell.host.on_signal(signal,
                       [&shell, fn = std::move(callback)] { shell.call_always("on_signal", fn); });
}

bool Scheduler::post(std::function<void()> callback) {
  return shell_->posted.add(std::move(callback));
}

Result<Watch> Scheduler::watch(int descriptor, WatchEvents wanted,
                               std::function<void(WatchEvents)> callback) {
  Shell& shell = this->shell("watch");
  Result<std::shared_ptr<void>> held = shell.host.watch(
      descriptor, wanted,
      [&shell, fn = std::move(callback)](WatchEvents found) { shell.call("watch", fn, found); });
  if (!held) return std::move(held).error();
  return Watch(*std::move(held));
}

void Scheduler::run_aside(std::function<void()> work, std::function<void()> done) {
  Shell& shell = this->shell("run_aside");
  shell.host.work([fn = std::move(work)] { guarded("the work of run_aside", fn); },
                  [&shell, fn = std::move(done)] { shell.call_always("run_aside", fn); });
}

int Scheduler::run() {
  Shell& shell = *shell_;
  shell.owner = std::this_thread::get_id();
  for (const int signal : {SIGINT, SIGTERM}) {
    if (shell.signals.count(signal) > 0) continue;
    shell.host.on_signal(signal, [&shell, signal] { shell.on_end_signal(signal); });
  }
  if (!shell.is_leaving) shell.host.connect();
  shell.host.run();
  return shell.exit_code.value_or(0);
}

void Scheduler::stop(int exit_code) { shell("stop").stop(exit_code); }
void Scheduler::detach(int exit_code) { shell("detach").detach(exit_code); }

}  // namespace proffer::sdk
