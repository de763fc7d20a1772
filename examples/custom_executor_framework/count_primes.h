#pragma once

// Counts the primes below a million in twenty tasks of its own executor (prime_executor.h): on each
// agent one process runs all of them. A task's input is in TaskSpec::data, its result in
// TaskStatus::data; at the end the executors report their work in messages. It is separate from
// main() so that tests/sdk_testing/primes_test.cc can run it in a SimCluster.

#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/scheduler.h"

namespace examples {

class CountPrimes {
 public:
  // `command` starts the executor.
  CountPrimes(proffer::sdk::Scheduler& self, std::string command, std::ostream& out)
      : self_(self), command_(std::move(command)), out_(out) {
    for (int i = 0; i < kTasks; ++i) todo_.push_back(i * kWidth);
    self_.ask("range", kShape, kTasks);
    self_.on_offer([this](const proffer::Offer& offer) { launch(offer); });
    self_.on_update([this](const proffer::proto::TaskStatus& task) { hear(task); });
    self_.on_message([this](const proffer::proto::FrameworkMessage& message) {
      out_ << message.agent.str() << ": " << message.data << std::endl;
      agents_.erase(message.agent);
      if (agents_.empty() && finished_ == kTasks) self_.stop();
    });
  }

 private:
  static constexpr int kTasks = 20;
  static constexpr int kWidth = 1'000'000 / kTasks;
  static constexpr const char* kShape = "cpus:0.1;mem:16";

  void launch(const proffer::Offer& offer) {
    std::vector<proffer::proto::TaskSpec> tasks;
    for (const proffer::AskFill& fill : offer.fills) {
      for (int64_t i = 0; i < fill.count && !todo_.empty(); ++i) {
        const proffer::TaskId id("range-" + std::to_string(++named_));
        const int from = ranges_[id] = todo_.back();
        todo_.pop_back();
        tasks.push_back({.id = id,
                         .ask = fill.ask,
                         .shape = *proffer::parse_shape(kShape),
                         .executor = command_,
                         .executor_id = executor_,  // the same for all, so they share a process
                         .data = std::to_string(from) + " " + std::to_string(from + kWidth)});
      }
    }
    self_.accept(offer, std::move(tasks));
  }

  void hear(const proffer::proto::TaskStatus& task) {
    using enum proffer::proto::TaskState;
    if (!is_terminal(task.state)) return;
    if (task.state == kFinished) {
      primes_ += std::stoll(task.data);
      agents_.insert(task.agent);
      if (++finished_ == kTasks) ask_executors();
      return;
    }
    if (task.state == kFailed && task.reason != proffer::proto::TaskReason::kExecutorEnded) {
      out_ << task.task.str() << " is " << to_text(task.state) << ": " << task.message << std::endl;
      return self_.stop(1);
    }
    // It never ran, or its executor or agent is gone: another task counts its range. The ask of a
    // refused task wants it again by itself.
    todo_.push_back(ranges_.at(task.task));
    if (task.state != kRefused) self_.ask("range", kShape, std::ssize(todo_));
  }

  void ask_executors() {
    out_ << primes_ << " primes below a million" << std::endl;
    for (const proffer::AgentId& agent : agents_) {
      self_.message(agent, executor_, "what did you do?");
    }
    // Messages are best effort, unlike updates, so the wait for them has a limit.
    self_.after(proffer::seconds(30), [this] { self_.stop(); });
  }

  proffer::sdk::Scheduler& self_;
  std::string command_;
  std::ostream& out_;
  const proffer::ExecutorId executor_{"primes"};
  std::map<proffer::TaskId, int> ranges_;  // by task: where its range begins
  std::vector<int> todo_;                  // beginnings of ranges without a task
  int named_ = 0;
  int finished_ = 0;
  int64_t primes_ = 0;
  std::set<proffer::AgentId> agents_;  // agents whose executors have not reported their work
};

}  // namespace examples
