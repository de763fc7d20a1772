#pragma once

// Runs each of some commands exactly once over all lives of its scheduler and of the master. It is
// separate from main() so that tests/sdk_testing/examples_test.cc can run it in a SimCluster.
//
// The id of a task identifies its command, and the framework remembers its tasks
// (SchedulerOptions::remembers_tasks). So a life needs no file: it waits until all tasks are known,
// lists the commands that were begun, and asks for the others. If a message is lost, and with it
// the knowledge that a command was begun, the master refuses to begin it again.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/scheduler.h"

namespace examples {

class RunOnce {
 public:
  RunOnce(proffer::sdk::Scheduler& self, std::vector<std::string> commands, std::ostream& out)
      : self_(self), commands_(std::move(commands)), out_(out) {
    self_.on_all_tasks_known([this] { is_listed_ ? look() : list(""); });
    self_.on_offer([this](const proffer::Offer& offer) { launch(offer); });
    self_.on_update([this](const proffer::proto::TaskStatus& task) { hear(task); });
  }

 private:
  static proffer::TaskId id_of(size_t command) {
    return proffer::TaskId("command-" + std::to_string(command));
  }

  // Lists the commands that this and earlier lives began, from pages of the framework's store.
  void list(const std::string& after) {
    using Outcomes = proffer::Result<std::vector<proffer::proto::StoreResult::Outcome>>;
    self_.store({proffer::sdk::list("tasks/", after)}, [this](const Outcomes& got) {
      if (!got) return fail(got.error().message());
      for (const auto& entry : got->front().entries) {
        begun_.insert(proffer::TaskId(entry.key.substr(std::string("tasks/").size())));
      }
      if (got->front().more) return list(got->front().entries.back().key);
      is_listed_ = true;
      out_ << begun_.size() << " of " << commands_.size() << " commands had already been started"
           << std::endl;
      look();
    });
  }

  void look() {
    if (!is_listed_) return;
    const int64_t wanted = std::ssize(commands_) - std::ssize(begun_);
    self_.ask("once", "cpus:0.1;mem:32", wanted);
    if (wanted > 0 || !self_.all_tasks_known() || !self_.live_tasks().empty()) return;
    out_ << "all " << commands_.size() << " commands have ended" << std::endl;
    self_.stop();
  }

  // The tasks continue to run; a later life resumes.
  void fail(const std::string& why) {
    out_ << why << std::endl;
    self_.detach(1);
  }

  void launch(const proffer::Offer& offer) {
    int64_t room = 0;
    for (const proffer::AskFill& fill : offer.fills) room += fill.count;
    std::vector<proffer::proto::TaskSpec> tasks;
    for (size_t i = 0; i < commands_.size() && std::ssize(tasks) < room; ++i) {
      if (!begun_.insert(id_of(i)).second) continue;
      tasks.push_back({.id = id_of(i),
                       .ask = proffer::AskName("once"),
                       .shape = *proffer::parse_shape("cpus:0.1;mem:32"),
                       .command = commands_[i]});
    }
    if (tasks.empty()) return self_.decline(offer);
    self_.accept(offer, std::move(tasks));
  }

  // Only after `refused` may a command be begun again, since it was not begun. The progress of a
  // lost command is unknown, so a person must decide. An invalid one would be refused forever.
  void hear(const proffer::proto::TaskStatus& task) {
    if (task.reason == proffer::proto::TaskReason::kTaskInvalid) {
      return fail(task.task.str() + " cannot be started: " + task.message);
    }
    if (task.state == proffer::proto::TaskState::kRefused) {
      begun_.erase(task.task);
    } else {
      begun_.insert(task.task);
    }
    if (!is_terminal(task.state)) return;
    out_ << task.task.str() << " is " << to_text(task.state) << (task.message.empty() ? "" : ": ")
         << task.message << std::endl;
    look();
  }

  proffer::sdk::Scheduler& self_;
  const std::vector<std::string> commands_;
  std::ostream& out_;
  bool is_listed_ = false;
  std::set<proffer::TaskId> begun_;
};

}  // namespace examples
