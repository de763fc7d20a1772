// The executor's object: it turns frames, timers and calls into events of the executor driver's
// core, and carries out the core's actions. As in scheduler.cc, results of a call are reported
// later, never from within it. It runs on an ExecutorHost.

#include "sdk/executor.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/limits.h"
#include "common/text.h"
#include "sdk/core/executor_driver.h"
#include "sdk/shell/loop_executor_host.h"

namespace proffer::sdk {

class Executor::Shell final : public DriverHost::Guest {
 public:
  // Uses its own host, or one that outlives it.
  Shell() : own_host(std::make_unique<LoopExecutorHost>()), host(*own_host), driver(options()) {
    begin();
  }
  explicit Shell(ExecutorHost& given_host) : host(given_host), driver(options()) { begin(); }
  ~Shell() = default;
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  ExecutorDriverOptions options() const {
    return {.framework = host.framework(),
            .executor = host.executor(),
            .token = host.token(),
            .run = host.first_run()};
  }
  void begin() {
    host.set_guest(this);
    host.arm(driver.next_deadline());
  }

  void on_timer() override { event(ExecutorTick{}); }
  void on_connected() override { event(AgentConnected{}); }
  void on_frame(proto::Envelope envelope) override { event(AgentFrame{std::move(envelope)}); }
  void on_disconnected(const std::string&) override { event(AgentDisconnected{}); }
  std::vector<Violation> violations() const override { return driver.violations(); }

  void event(const ExecutorDriverEvent& what) {
    if (is_leaving) return;
    step(what);
    carry_out_all();
  }

  // A command of the author: sent now; callbacks come later.
  void tell(ExecutorDriverEvent what) {
    if (is_leaving) return;
    if (const auto* update = std::get_if<TellUpdate>(&what)) host.says(update->status);
    step(what);
    if (is_carrying_out) return;
    while (!actions.empty() && (std::holds_alternative<SendToAgent>(actions.front()) ||
                                std::holds_alternative<ResetAgent>(actions.front()))) {
      carry_out_next();
    }
    if (!actions.empty() && !std::exchange(is_deferred, true)) {
      host.defer([this] {
        is_deferred = false;
        carry_out_all();
      });
    }
  }

  void step(const ExecutorDriverEvent& what) {
    ExecutorDriverOutbox out;
    driver.handle(what, host.now(), out);
    for (ExecutorDriverAction& action : out.actions) actions.push_back(std::move(action));
    host.arm(driver.next_deadline());
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

  void carry_out(const SendToAgent& action) { host.send(action.envelope); }

  void carry_out(const ResetAgent&) { host.reset("the session with the agent ended"); }

  void carry_out(const StartTask& action) {
    if (!host.starts(action.run)) return;
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

  void leave() {
    is_leaving = true;
    host.leave(exit_code, driver.is_all_acknowledged());
  }

  std::unique_ptr<ExecutorHost> own_host;  // none: the host belongs to the caller
  ExecutorHost& host;
  ExecutorDriver driver;

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
Executor::Executor(ExecutorHost& host) : shell_(std::make_unique<Shell>(host)) {}
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
  status.at = shell_->host.now();
  // a larger text would make the agent end the session
  status.data.resize(std::min(status.data.size(), kUpdateDataBytesMax));
  shell_->tell(TellUpdate{std::move(status)});
}
void Executor::message(std::string data) {
  // the agent would end the session
  if (data.size() > kPayloadBytesMax) {
    return shell_->host.warn(text("dropped a message of ", data.size(),
                                  " bytes to the scheduler; at most ", kPayloadBytesMax,
                                  " bytes are allowed"));
  }
  shell_->tell(TellMessage{std::move(data)});
}

FrameworkId Executor::framework() const { return shell_->host.framework(); }
ExecutorId Executor::id() const { return shell_->host.executor(); }

Time Executor::now() const { return shell_->host.now(); }

void Executor::after(Duration duration, std::function<void()> callback) {
  shell_->host.after(duration, [shell = shell_.get(), fn = std::move(callback)] {
    if (!shell->is_leaving) fn();
  });
}

void Executor::on_signal(int signal, std::function<void()> callback) {
  shell_->host.on_signal(signal, std::move(callback));
}
void Executor::run_aside(std::function<void()> work, std::function<void()> done) {
  shell_->host.work(std::move(work), std::move(done));
}

int Executor::run() {
  if (!shell_->is_leaving) shell_->host.connect();
  shell_->host.run();
  return shell_->exit_code;
}

void Executor::finish(int exit_code) {
  shell_->exit_code = exit_code;
  shell_->tell(FinishWhenAcknowledged{});
}

}  // namespace proffer::sdk
