// The author's object: turns frames, timers and calls into events of the driver's core and carries
// out what it says, in order: carry_out(). Calls take effect in the core at once; what they cause
// is told to the author later, never from within the call.

#include "sdk/scheduler.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <utility>

#include "common/roles.h"
#include "common/text.h"
#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "proto/codec/codec.h"
#include "sdk/core/driver.h"
#include "sdk/core/sendable.h"
#include "sdk/shell/complaints.h"
#include "sdk/shell/session_file.h"

namespace proffer::sdk {
namespace {

constexpr uint16_t kMasterPort = 5050;
// What was sent last, a teardown for one, may take so long to leave after run().
constexpr Duration kLinger = seconds(2);
// The same complaint is not repeated sooner.
constexpr Duration kComplainEvery = seconds(10);
// Of an ask's name in task ids; the rest numbers them.
constexpr size_t kTaskNameBytesMax = 96;

// Opens what the options name; ends the program if that cannot be.
std::optional<SessionFile> open_session_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  Result<SessionFile> file = SessionFile::open(path);
  if (!file) exit_with(file.error());
  // Saved before it is first used: if this process ends before the master's answer comes, the
  // secret alone finds the framework again.
  if (file->secret().empty()) {
    if (Result<void> saved = file->save({}, random_secret()); !saved) exit_with(saved.error());
  }
  return *std::move(file);
}

SchedulerOptions checked(SchedulerOptions options) {
  if (Result<void> name = check_name("a scheduler's name", options.name); !name) {
    exit_with(std::move(name).error().with_hint("SchedulerOptions::name, or --name=NAME"));
  }
  if (Result<RoleName> role = parse_role(options.role.str()); !role) {
    exit_with(std::move(role).error().with_hint("SchedulerOptions::role, or --role=ROLE"));
  }
  options.failover_timeout = std::clamp(options.failover_timeout, Duration(), hours(24 * 3650));
  options.user.resize(std::min(options.user.size(), kNameBytesMax));
  return options;
}

Dealer::Options dealer_options(const std::string& master) {
  Result<Address> address = parse_address("the master's address", master, kMasterPort);
  if (!address) exit_with(std::move(address).error().with_hint("as in 127.0.0.1:5050"));
  return {.endpoint = tcp_endpoint(*address), .seed = random_seed()};
}

// Milliseconds in letters and digits: names one life of a scheduler among those of its framework.
std::string life_name(Time now) {
  std::string name;
  for (int64_t rest = now.nanos() / 1'000'000; rest > 0; rest /= 36) {
    name.insert(name.begin(), "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36]);
  }
  return name;
}

}  // namespace

class Scheduler::Shell {
 public:
  explicit Shell(SchedulerOptions given)
      : options(checked(std::move(given))),
        session_file(open_session_file(options.session_file)),
        driver(DriverOptions{.name = options.name,
                             .role = options.role,
                             .mode = options.mode,
                             .user = options.user,
                             .secret = session_file ? session_file->secret() : random_secret(),
                             .framework = session_file ? session_file->framework() : FrameworkId(),
                             .failover_timeout = options.failover_timeout,
                             .session_file = options.session_file}),
        timer(loop, [this] { event(Tick{}); }),
        dealer(loop, dealer_options(options.master),
               {.on_connected =
                    [this] {
                      was_told_unreachable = false;
                      event(MasterConnected{});
                    },
                .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
                .on_disconnected =
                    [this](const std::string& reason) { event(MasterDisconnected{reason}); },
                .on_failed = [this](const std::string& reason) { on_failed(reason); }}),
        task_suffix(session_file ? text('-', life_name(loop.now()), '-') : "-") {}

  // --- events in, actions out ------------------------------------------------------------------

  // Something happened: the whole consequence is carried out now.
  void event(const DriverEvent& what) {
    if (is_leaving) return;
    step(what);
    carry_out_all();
  }

  // The author wants something: it is sent now, and answered after this call has returned.
  void command(Command what) {
    if (is_leaving) return;
    step(CommandGiven{std::move(what)});
    if (is_carrying_out) return;  // called back by us; the rest follows there
    while (!actions.empty() && !std::holds_alternative<Notify>(actions.front())) carry_out_next();
    if (!actions.empty() && !std::exchange(is_deferred, true)) {
      loop.defer([this] {
        is_deferred = false;
        carry_out_all();
      });
    }
  }

  void step(const DriverEvent& what) {
    DriverOutbox out;
    driver.handle(what, loop.now(), out);
    for (DriverAction& action : out.actions) actions.push_back(std::move(action));
    for (const TraceEvent& happened : out.trace) complain(happened);
    timer.arm(driver.next_deadline());
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
    const Result<std::span<const std::byte>> frame = encoder.encode(action.envelope);
    if (!frame) {
      // Its number is used up, so this connection has a gap. What the message was about is found
      // out by reconciliation.
      print_warning(text("a message to the master was not sent: ", frame.error().message()));
      dealer.reset("a message could not be sent");
      return;
    }
    const bool was_sent = dealer.send(*frame);
    if (was_sent && std::holds_alternative<proto::Teardown>(action.envelope.message)) {
      is_torn_down = true;
      if (session_file) session_file->remove();
    }
  }

  void carry_out(const ResetMaster&) { dealer.reset("the session with the master ended"); }

  void carry_out(const SaveIdentity& action) {
    if (!session_file) return;
    if (Result<void> saved = session_file->save(action.framework, action.secret); !saved) {
      print_warning(text(saved.error().message(), "; the framework is still found by its secret"));
    }
  }

  void carry_out(const Notify& action) {
    if (is_leaving) return;
    if (notification_callback) notification_callback(action.notification);
    std::visit([this](const auto& what) { tell(what); }, action.notification);
  }

  void carry_out(const Done&) {
    if (is_stopping && !is_torn_down && !driver.framework().empty()) {
      print_warning(text("the master was not told that framework ", driver.framework().str(),
                         " has ended; its tasks end after its failover timeout, ",
                         to_text(options.failover_timeout)));
    }
    leave();
  }

  // --- what the author hears -------------------------------------------------------------------

  void tell(const proto::Subscribed& what) { call(subscribed_callback, what); }
  void tell(const proto::Offers& what) {
    for (const Offer& offer : what.offers) call(offer_callback, offer);
  }
  void tell(const proto::Rescind& what) {
    for (const OfferId offer : what.offers) call(rescind_callback, offer);
  }
  void tell(const proto::TaskStatus& what) { call(update_callback, what); }
  void tell(const proto::FrameworkMessage& what) { call(message_callback, what); }
  void tell(const proto::AskReport& what) { call(ask_report_callback, what); }
  void tell(const proto::Failure& what) { call(failure_callback, what); }
  void tell(const Disconnected& what) { call(disconnected_callback, what.reason); }
  void tell(const Refused& what) {
    if (refused_callback) {
      refused_callback(what.error);
    } else if (!notification_callback) {
      print_error(what.error);
    }
    if (!exit_code) exit_code = 1;
  }

  template <class Callback, class Value>
  void call(const Callback& callback, const Value& value) {
    if (callback && !is_leaving) callback(value);
  }

  // --- the network -----------------------------------------------------------------------------

  void on_frame(std::span<const std::byte> frame) {
    Result<proto::Envelope> envelope = proto::decode(frame);
    if (!envelope) {
      print_warning(text("a message from the master cannot be read: ", envelope.error().message()));
      dealer.reset("a message from the master cannot be read");
      return;
    }
    event(MasterFrame{*std::move(envelope)});
  }

  // Once for each time that the master is away.
  void on_failed(const std::string& reason) {
    if (std::exchange(was_told_unreachable, true)) return;
    print_warning(text("cannot reach the master at ", options.master, ": ", reason,
                       "; trying again until it answers"));
  }

  void complain(const TraceEvent& happened) {
    if (happened.level != TraceLevel::kMisbehaved && happened.level != TraceLevel::kOperator)
      return;
    const Time now = loop.now();
    const auto [last, is_first] = complained.try_emplace(happened.what, now);
    if (!is_first && now - last->second < kComplainEvery) return;
    last->second = now;
    print_warning(to_text(happened));
  }

  // --- the end ---------------------------------------------------------------------------------

  void leave() {
    is_leaving = true;
    dealer.close_gracefully(kLinger);
    timer.arm(std::nullopt);
    loop.stop();
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
    // What this turn still says, the acknowledgement of an update above all, leaves first.
    loop.defer([this] { leave(); });
  }

  // The second signal of a kind of impatience does not wait for the master.
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

  TaskId next_task_id(std::string_view name) {
    return TaskId(text(name.substr(0, kTaskNameBytesMax), task_suffix, ++tasks_named));
  }

  SchedulerOptions options;
  std::optional<SessionFile> session_file;
  Loop loop;
  Driver driver;
  proto::Encoder encoder;
  Timer timer;
  Dealer dealer;
  std::list<std::unique_ptr<Timer>> timers;  // of after()

  std::deque<DriverAction> actions;  // not yet carried out
  bool is_carrying_out = false;
  bool is_deferred = false;
  bool is_stopping = false;
  bool is_detaching = false;
  bool is_torn_down = false;
  bool is_leaving = false;
  std::optional<int> exit_code;

  bool was_told_unreachable = false;
  std::map<std::string_view, Time> complained;
  std::set<int> signals;  // that the author handles

  std::string task_suffix;
  uint64_t tasks_named = 0;

  std::function<void(const proto::Subscribed&)> subscribed_callback;
  std::function<void(const Offer&)> offer_callback;
  std::function<void(OfferId)> rescind_callback;
  std::function<void(const proto::TaskStatus&)> update_callback;
  std::function<void(const proto::FrameworkMessage&)> message_callback;
  std::function<void(const proto::AskReport&)> ask_report_callback;
  std::function<void(const proto::Failure&)> failure_callback;
  std::function<void(const std::string&)> disconnected_callback;
  std::function<void(const Error&)> refused_callback;
  std::function<void(const Notification&)> notification_callback;
};

Scheduler::Scheduler(SchedulerOptions options)
    : shell_(std::make_unique<Shell>(std::move(options))) {}
Scheduler::~Scheduler() = default;

void Scheduler::on_subscribed(std::function<void(const proto::Subscribed&)> callback) {
  shell_->subscribed_callback = std::move(callback);
}
void Scheduler::on_offer(std::function<void(const Offer&)> callback) {
  shell_->offer_callback = std::move(callback);
}
void Scheduler::on_rescind(std::function<void(OfferId)> callback) {
  shell_->rescind_callback = std::move(callback);
}
void Scheduler::on_update(std::function<void(const proto::TaskStatus&)> callback) {
  shell_->update_callback = std::move(callback);
}
void Scheduler::on_message(std::function<void(const proto::FrameworkMessage&)> callback) {
  shell_->message_callback = std::move(callback);
}
void Scheduler::on_ask_report(std::function<void(const proto::AskReport&)> callback) {
  shell_->ask_report_callback = std::move(callback);
}
void Scheduler::on_failure(std::function<void(const proto::Failure&)> callback) {
  shell_->failure_callback = std::move(callback);
}
void Scheduler::on_disconnected(std::function<void(const std::string&)> callback) {
  shell_->disconnected_callback = std::move(callback);
}
void Scheduler::on_refused(std::function<void(const Error&)> callback) {
  shell_->refused_callback = std::move(callback);
}
void Scheduler::on_notification(std::function<void(const Notification&)> callback) {
  shell_->notification_callback = std::move(callback);
}

void Scheduler::ask(std::string_view name, std::string_view resources, int64_t count) {
  Result<ResourceVector> shape = parse_shape(resources);
  if (!shape) {
    exit_with(std::move(shape)
                  .error()
                  .in(text("resources of ask ", quoted(name)))
                  .with_hint("as in \"cpus:1;mem:512\""));
  }
  Ask ask{.name = AskName(std::string(name)), .shape = *shape, .count = count};
  if (Result<void> checked = check_ask(ask); !checked) {
    exit_with(std::move(checked).error().in(text("ask ", quoted(name))));
  }
  shell_->ask(std::move(ask));
}
void Scheduler::ask(Ask ask) { shell_->ask(std::move(ask)); }
void Scheduler::withdraw(const AskName& name) {
  std::vector<Ask> asks = shell_->driver.asks();
  std::erase_if(asks, [&](const Ask& ask) { return ask.name == name; });
  ask_all(std::move(asks));
}
void Scheduler::ask_all(std::vector<Ask> asks) {
  shell_->command(proto::DeclareAsks{.asks = std::move(asks)});
}

void Scheduler::accept(const Offer& offer, std::vector<proto::TaskSpec> tasks,
                       Duration refuse_for) {
  shell_->command(
      proto::Accept{.offers = {offer.id},
                    .operations = {proto::Launch{.agent = offer.agent, .tasks = std::move(tasks)}},
                    .refusal = {.refuse_for = refuse_for}});
}

std::vector<TaskId> Scheduler::launch(const Offer& offer, std::string_view command) {
  std::vector<proto::TaskSpec> tasks;
  const auto add = [&](std::string_view name, const Ask& ask) {
    proto::TaskSpec task{.id = shell_->next_task_id(name),
                         .ask = ask.name,
                         .shape = ask.shape,
                         .command = std::string(command)};
    for (int64_t port = 0; port < ask.ports; ++port) task.port_names.push_back(text(port));
    tasks.push_back(std::move(task));
  };
  for (const AskFill& fill : offer.fills) {
    // Not more than is still wanted: the author may have asked for less since.
    for (const Ask& ask : shell_->driver.asks()) {
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
  shell_->command(proto::Decline{.offers = {offer.id}, .refusal = std::move(refusal)});
}
void Scheduler::kill(const TaskId& task, std::optional<Duration> grace) {
  shell_->command(proto::KillTask{.task = task, .grace = grace});
}
void Scheduler::message(const AgentId& agent, const ExecutorId& executor, std::string data) {
  shell_->command(
      proto::FrameworkMessage{.agent = agent, .executor = executor, .data = std::move(data)});
}
void Scheduler::reconcile(std::vector<TaskId> tasks) {
  shell_->command(proto::Reconcile{.tasks = std::move(tasks)});
}
void Scheduler::suppress() { shell_->command(proto::Suppress{}); }
void Scheduler::revive() { shell_->command(proto::Revive{}); }
void Scheduler::command(Command command) { shell_->command(std::move(command)); }

const FrameworkId& Scheduler::framework() const { return shell_->driver.framework(); }
std::vector<TaskId> Scheduler::live_tasks() const { return shell_->driver.live_tasks(); }

Time Scheduler::now() const { return shell_->loop.now(); }

void Scheduler::after(Duration duration, std::function<void()> callback) {
  Shell& shell = *shell_;
  const auto place = shell.timers.emplace(shell.timers.end());
  *place = std::make_unique<Timer>(shell.loop, [&shell, place, fn = std::move(callback)] {
    const std::unique_ptr<Timer> self = std::move(*place);  // lives until the end of this call
    shell.timers.erase(place);
    if (!shell.is_leaving) fn();
  });
  (*place)->arm(shell.loop.now() + duration);
}

void Scheduler::on_signal(int signal, std::function<void()> callback) {
  shell_->signals.insert(signal);
  shell_->loop.on_signal(signal, std::move(callback));
}

void Scheduler::run_aside(std::function<void()> work, std::function<void()> done) {
  shell_->loop.work(std::move(work), std::move(done));
}

int Scheduler::run() {
  Shell& shell = *shell_;
  for (const int signal : {SIGINT, SIGTERM}) {
    if (shell.signals.count(signal) > 0) continue;
    shell.loop.on_signal(signal, [&shell, signal] { shell.on_end_signal(signal); });
  }
  if (!shell.is_leaving) shell.dealer.connect();
  shell.loop.run();
  return shell.exit_code.value_or(0);
}

void Scheduler::stop(int exit_code) { shell_->stop(exit_code); }
void Scheduler::detach(int exit_code) { shell_->detach(exit_code); }

}  // namespace proffer::sdk
