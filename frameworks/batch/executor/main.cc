// The executor of batch: one task, beside an event loop that keeps the session with the agent.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "proto/resource_variables.h"
#include "sdk/executor.h"

extern char** environ;  // NOLINT: POSIX

namespace proffer::batch {
namespace {

constexpr size_t kMessageBytesMax = 1'000;
constexpr Duration kShutdownGrace = seconds(2);

// The agent's variables, except those that only this executor may know.
std::map<std::string, std::string> given_environment() {
  constexpr std::array<std::string_view, 6> kSecrets = {
      "PROFFER_AGENT_SOCKET",   "PROFFER_EXECUTOR_ID", "PROFFER_EXECUTOR_RUN",
      "PROFFER_EXECUTOR_TOKEN", "PROFFER_AGENT_HTTP",  "PROFFER_AGENT_HTTPS"};
  std::map<std::string, std::string> environment;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view pair(*one);
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = pair.substr(0, equals);
    if (std::find(kSecrets.begin(), kSecrets.end(), name) != kSecrets.end()) continue;
    environment.emplace(name, pair.substr(equals + 1));
  }
  if (environment.count("PATH") == 0) environment["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  return environment;
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value != nullptr ? value : "";
}

class BatchExecutor {
 public:
  BatchExecutor() {
    // Writing to a command that reads no more is an error value, not a signal.
    ::signal(SIGPIPE, SIG_IGN);
    executor_.on_task([this](const proto::RunTask& task) { on_task(task); });
    executor_.on_kill(
        [this](const TaskId& task, std::optional<Duration> grace) { on_kill(task, grace); });
    executor_.on_shutdown([this] { on_shutdown(); });
    executor_.on_signal(SIGTERM, [this] { on_shutdown(); });
    executor_.on_signal(SIGINT, [this] { on_shutdown(); });
  }

  int run() { return executor_.run(); }

 private:
  void on_task(const proto::RunTask& task) {
    if (!task_.empty()) {
      executor_.failed(task.spec.id, "this executor runs one task only, and has already had it");
      return;
    }
    task_ = task.spec.id;
    grace_ = task.spec.kill_grace;
    Result<Work> work = decode_work(task.spec.data);
    if (!work) {
      executor_.failed(task_, work.error().message());
      executor_.finish();
      return;
    }
    work_ = *std::move(work);
    setting_.framework = task.framework.str();
    setting_.task = task_.str();
    setting_.sandbox = variable("PROFFER_SANDBOX");
    if (setting_.sandbox.empty()) setting_.sandbox = variable("HOME");
    setting_.agent = {.name = variable("PROFFER_AGENT"),
                      .http_address = variable("PROFFER_AGENT_HTTP"),
                      .serves_other_machines = !variable("PROFFER_AGENT_HTTPS").empty(),
                      .task = setting_.task};
    setting_.environment = given_environment();
    if (setting_.environment.contains("PROFFER_GPUS")) {
      for (const char* name :
           {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"}) {
        setting_.devices[name] = setting_.environment[name];
      }
    }
    for (auto& [name, value] : proto::resource_variables(task.assignment.resources.amounts)) {
      setting_.environment[name] = std::move(value);
    }
    for (const auto& [name, value] : task.spec.environment) setting_.environment[name] = value;
    setting_.stopped = &stopped_;
    setting_.group = &group_;
    setting_.grace = grace_;
    setting_.done = &done_;
    setting_.on_task_status = [this](const std::string& status) {
      const std::lock_guard lock(status_mutex_);
      status_ = status;
    };
    // A quarter of the task's memory; the rest is for the command.
    const int64_t mem_mib = task.assignment.resources.amounts[ResourceKind::kMem] / 1'000;
    if (mem_mib > 0) setting_.sort_bytes = std::clamp<int64_t>(mem_mib / 4, 8, 256) << 20;
    if (setting_.sandbox.empty() || ::chdir(setting_.sandbox.c_str()) != 0) {
      executor_.failed(task_, text("cannot enter the sandbox ", quoted(setting_.sandbox)));
      executor_.finish();
      return;
    }
    executor_.running(task_);
    executor_.run_aside([this] { outcome_ = run_task(work_, setting_); }, [this] { on_ended(); });
    busy_ = true;
    if (std::holds_alternative<MapWork>(work_) || std::holds_alternative<ReduceWork>(work_)) {
      tell_progress();
    }
  }

  void tell_progress() {
    executor_.after(kProgressEvery, [this] {
      if (!busy_) return;
      TaskProgress progress{.done = done_.load(std::memory_order_relaxed)};
      {
        const std::lock_guard lock(status_mutex_);
        if (status_ != told_status_) progress.status = told_status_ = status_;
      }
      executor_.message(encode_progress(progress));
      tell_progress();
    });
  }

  void on_ended() {
    busy_ = false;
    if (outcome_.range) {
      executor_.finished(task_, encode_range_result(*outcome_.range));
    } else if (outcome_.plan) {
      executor_.finished(task_, encode_plan_result(*outcome_.plan));
    } else if (outcome_.result) {
      executor_.finished(task_, encode_result(*outcome_.result));
    } else if (stopped_) {
      executor_.killed(task_);
    } else {
      executor_.failed(task_, printable_tail(outcome_.message, kMessageBytesMax),
                       encode_failure(outcome_.failure));
    }
    executor_.finish();
  }

  void on_kill(const TaskId& task, std::optional<Duration> grace) {
    if (task != task_ || !busy_) return;
    stop(grace.value_or(grace_));
  }

  // Ends all processes in our process group except this one, and the command of an array's element:
  // first SIGTERM, then SIGKILL.
  void stop(Duration grace) {
    stopped_ = true;
    signal_all(SIGTERM);
    executor_.after(grace, [this] {
      if (busy_) signal_all(SIGKILL);
    });
  }

  void signal_all(int signal) {
    signal_group(signal);
    group_.signal(signal);
  }

  void on_shutdown() {
    if (busy_)
      stop(kShutdownGrace);
    else
      executor_.finish();
    // If the end does not come by itself (an agent that does not acknowledge, a file system that
    // does not answer), it is forced.
    executor_.after(kShutdownGrace * 2, [this] {
      signal_all(SIGKILL);
      ::_exit(1);
    });
  }

  sdk::Executor executor_;
  TaskId task_;
  Duration grace_ = kKillGrace;
  std::atomic<bool> stopped_ = false;
  std::string told_status_;
  std::mutex status_mutex_;
  std::string status_;  // the last reported status; guarded by the mutex
  std::atomic<int64_t> done_ = 0;
  ElementGroup group_;
  bool busy_ = false;
  Work work_;
  TaskSetting setting_;
  TaskOutcome outcome_;
};

}  // namespace
}  // namespace proffer::batch

int main() {
  // Our children are found by their process group, so it has to be our own.
  if (::getpgrp() != ::getpid()) ::setpgid(0, 0);
  proffer::batch::BatchExecutor executor;
  return executor.run();
}
