// The executor's object: frames, timers and calls become events of the executor driver's core, what
// it says is carried out. As in scheduler.cc, calls answer later, never from within themselves.

#include "sdk/executor.h"

#include <cstdlib>
#include <deque>
#include <list>
#include <set>
#include <utility>

#include "common/text.h"
#include "net/local_client.h"
#include "net/loop.h"
#include "net/randomness.h"
#include "proto/codec/codec.h"
#include "sdk/core/executor_driver.h"
#include "sdk/shell/complaints.h"

namespace proffer::sdk {
namespace {

constexpr Duration kGoodbyeLinger = seconds(1);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    exit_with(Error::invalid_argument(text("$", name, " is not set"))
                  .with_hint("an executor is started by an agent, for a task that names it; it is "
                             "not run by hand"));
  }
  return value;
}

ExecutorDriverOptions driver_options() {
  ExecutorDriverOptions options{.framework = FrameworkId(environment("PROFFER_FRAMEWORK_ID")),
                                .executor = ExecutorId(environment("PROFFER_EXECUTOR_ID")),
                                .token = Secret(environment("PROFFER_EXECUTOR_TOKEN"))};
  const auto check = [](std::string_view what, const std::string& value) {
    if (Result<void> checked = check_name(what, value); !checked) exit_with(checked.error());
  };
  check("$PROFFER_FRAMEWORK_ID", options.framework.str());
  check("$PROFFER_EXECUTOR_ID", options.executor.str());
  if (!is_valid_secret(options.token.str())) {
    exit_with(Error::invalid_argument("$PROFFER_EXECUTOR_TOKEN must be 32 of 0-9 a-f"));
  }
  return options;
}

}  // namespace

class Executor::Shell {
 public:
  Shell()
      : driver(driver_options()),
        timer(loop, [this] { event(ExecutorTick{}); }),
        agent(loop, {.path = environment("PROFFER_AGENT_SOCKET"), .seed = random_seed()},
              {.on_connected = [this] { event(AgentConnected{}); },
               .on_frame = [this](std::span<const std::byte> frame) { on_frame(frame); },
               .on_disconnected = [this](const std::string&) { event(AgentDisconnected{}); },
               .on_failed = {}}) {
    timer.arm(driver.next_deadline());
  }

  void event(const ExecutorDriverEvent& what) {
    if (is_leaving) return;
    step(what);
    carry_out_all();
  }

  // From the author: sent now; whatever calls back does so later.
  void tell(ExecutorDriverEvent what) {
    if (is_leaving) return;
    step(what);
    if (is_carrying_out) return;
    while (!actions.empty() && (std::holds_alternative<SendToAgent>(actions.front()) ||
                                std::holds_alternative<ResetAgent>(actions.front()))) {
      carry_out_next();
    }
    if (!actions.empty() && !std::exchange(is_deferred, true)) {
      loop.defer([this] {
        is_deferred = false;
        carry_out_all();
      });
    }
  }

  void step(const ExecutorDriverEvent& what) {
    ExecutorDriverOutbox out;
    driver.handle(what, loop.now(), out);
    for (ExecutorDriverAction& action : out.actions) actions.push_back(std::move(action));
    timer.arm(driver.next_deadline());
  }

  void carry_out_all() {
    if (std::exchange(is_carrying_out, true)) return;
    while (!actions.empty()) carry_out_next();
    is_carrying_out = false;
  }

  void carry_out_next() {
    const ExecutorDriverAction action = std::move(actions.front());
    actions.pop_front();
    if (!is_leaving) std::visit([this](const auto& a) { carry_out(a); }, action);
  }

  void carry_out(const SendToAgent& action) {
    const Result<std::span<const std::byte>> frame = encoder.encode(action.envelope);
    if (frame) {
      agent.send(*frame);
    } else {
      print_warning(text("a message to the agent was not sent: ", frame.error().message()));
      agent.reset("a message could not be sent");
    }
  }

  void carry_out(const ResetAgent&) { agent.reset("the session with the agent ended"); }

  void carry_out(const StartTask& action) {
    if (task_callback) return task_callback(action.run);
    tell(TellUpdate{{.task = action.run.spec.id,
                     .state = proto::TaskState::kFailed,
                     .reason = proto::TaskReason::kLaunchFailed,
                     .message = "the executor has no on_task"}});
  }

  void carry_out(const EndTask& action) {
    if (kill_callback) return kill_callback(action.task, action.grace);
    tell(TellUpdate{{.task = action.task,
                     .state = proto::TaskState::kKilled,
                     .reason = proto::TaskReason::kKilledByScheduler}});
  }

  void carry_out(const HearMessage& action) {
    if (message_callback) message_callback(action.data);
  }

  void carry_out(const EndAll&) {
    if (shutdown_callback) return shutdown_callback();
    leave();
  }

  void carry_out(const Finished&) { leave(); }

  void on_frame(std::span<const std::byte> frame) {
    Result<proto::Envelope> envelope = proto::decode(frame);
    if (!envelope) {
      print_warning(text("a message from the agent cannot be read: ", envelope.error().message()));
      agent.reset("a message from the agent cannot be read");
      return;
    }
    event(AgentFrame{*std::move(envelope)});
  }

  void leave() {
    is_leaving = true;
    agent.close_gracefully(kGoodbyeLinger);
    timer.arm(std::nullopt);
    loop.stop();
  }

  Loop loop;
  ExecutorDriver driver;
  proto::Encoder encoder;
  Timer timer;
  LocalClient agent;
  std::list<std::unique_ptr<Timer>> timers;  // of after()

  std::deque<ExecutorDriverAction> actions;  // not yet carried out
  bool is_carrying_out = false;
  bool is_deferred = false;
  bool is_leaving = false;
  int exit_code = 0;

  std::function<void(const proto::RunTask&)> task_callback;
  std::function<void(const TaskId&, std::optional<Duration>)> kill_callback;
  std::function<void(const std::string&)> message_callback;
  std::function<void()> shutdown_callback;
};

Executor::Executor() : shell_(std::make_unique<Shell>()) {}
Executor::~Executor() = default;

void Executor::on_task(std::function<void(const proto::RunTask&)> callback) {
  shell_->task_callback = std::move(callback);
}
void Executor::on_kill(std::function<void(const TaskId&, std::optional<Duration>)> callback) {
  shell_->kill_callback = std::move(callback);
}
void Executor::on_message(std::function<void(const std::string&)> callback) {
  shell_->message_callback = std::move(callback);
}
void Executor::on_shutdown(std::function<void()> callback) {
  shell_->shutdown_callback = std::move(callback);
}

void Executor::running(const TaskId& task, std::string data) {
  update({.task = task, .state = proto::TaskState::kRunning, .data = std::move(data)});
}
void Executor::finished(const TaskId& task, std::string data) {
  update({.task = task, .state = proto::TaskState::kFinished, .data = std::move(data)});
}
void Executor::failed(const TaskId& task, std::string message, std::string data) {
  update({.task = task,
          .state = proto::TaskState::kFailed,
          .message = std::move(message),
          .data = std::move(data)});
}
void Executor::killed(const TaskId& task, std::string message) {
  update({.task = task,
          .state = proto::TaskState::kKilled,
          .reason = proto::TaskReason::kKilledByScheduler,
          .message = std::move(message)});
}
void Executor::update(proto::TaskStatus status) {
  status.at = shell_->loop.now();
  // More would make the agent end the session, for a text.
  status.data.resize(std::min(status.data.size(), kUpdateDataBytesMax));
  shell_->tell(TellUpdate{std::move(status)});
}
void Executor::message(std::string data) { shell_->tell(TellMessage{std::move(data)}); }

Time Executor::now() const { return shell_->loop.now(); }

void Executor::after(Duration duration, std::function<void()> callback) {
  Shell& shell = *shell_;
  const auto place = shell.timers.emplace(shell.timers.end());
  *place = std::make_unique<Timer>(shell.loop, [&shell, place, fn = std::move(callback)] {
    const std::unique_ptr<Timer> self = std::move(*place);  // lives until the end of this call
    shell.timers.erase(place);
    if (!shell.is_leaving) fn();
  });
  (*place)->arm(shell.loop.now() + duration);
}

void Executor::on_signal(int signal, std::function<void()> callback) {
  shell_->loop.on_signal(signal, std::move(callback));
}
void Executor::run_aside(std::function<void()> work, std::function<void()> done) {
  shell_->loop.work(std::move(work), std::move(done));
}

int Executor::run() {
  if (!shell_->is_leaving) shell_->agent.connect();
  shell_->loop.run();
  return shell_->exit_code;
}

void Executor::finish(int exit_code) {
  shell_->exit_code = exit_code;
  shell_->tell(FinishWhenAcknowledged{});
}

}  // namespace proffer::sdk
