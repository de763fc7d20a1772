// The rules that compare truth with reports. heard() has the main rule: which endings a terminal
// state may report.

#include "sim/journal.h"

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

using proto::TaskReason;
using proto::TaskState;

std::string_view to_text(Ending ending) {
  switch (ending) {
    case Ending::kRuns:
      return "runs";
    case Ending::kExited:
      return "exited";
    case Ending::kSignalled:
      return "signalled";
    case Ending::kKilled:
      return "killed";
    case Ending::kTakenDown:
      return "taken_down";
    case Ending::kReported:
      return "reported";
  }
  return "?";
}

}  // namespace

std::string to_text(const TaskKey& key) { return text(key.first.str(), "/", key.second.str()); }

std::vector<Violation> Journal::started(const TaskKey& task, const AgentId& machine,
                                        const Resources& resources, Time now) {
  std::vector<Violation> found;
  const std::string name = to_text(task);
  if (const auto before = entries_.find(task); before != entries_.end()) {
    found.push_back({text(name, " is started on ", machine.str(), ", and was started on ",
                          before->second.machine.str(), " before")});
    return found;
  }
  if (accepted_.count(task) == 0) {
    found.push_back({text(name, " is started without an accept that launches it")});
  }
  // An operator declared wrongly that the machine never comes back: the task was launched before,
  // and its agent could not be informed. A master that had no record of the task before does not
  // know it.
  const auto told = heard_.find(task);
  const bool operator_erred =
      told != heard_.end() && declared_gone_.contains(machine) &&
      (told->second.state == TaskState::kGone || told->second.reason == TaskReason::kTaskUnknown);
  if (told != heard_.end() && !operator_erred) {
    found.push_back({text(name, " is started after its scheduler heard that it is ",
                          proto::to_text(told->second.state))});
  }
  ResourceVector& used = used_[machine];
  used += resources.amounts;
  if (!used.fits_in(totals_[machine].amounts)) {
    found.push_back({text(machine.str(), " runs ", proffer::to_text(used), " but has ",
                          proffer::to_text(totals_[machine].amounts), " when ", name, " starts")});
  }
  PortSet& ports = ports_[machine];
  if (ports.intersects(resources.ports)) {
    found.push_back({text(name, " gets a port on ", machine.str(), " that another task has")});
  }
  ports += resources.ports;
  entries_[task] = JournalEntry{.machine = machine,
                                .resources = resources,
                                .started = now,
                                .losses = memory_losses_[machine]};
  running_.insert(task);
  return found;
}

void Journal::accepted(const TaskKey& task) {
  accepted_.insert_or_assign(task, times_given_up_);
  const auto heard = heard_.find(task);
  if (heard != heard_.end() && heard->second.state == TaskState::kRefused) heard_.erase(heard);
}

void Journal::ended(const TaskKey& task, Ending ending, int32_t exit_code, int32_t signal) {
  JournalEntry& entry = entries_.at(task);
  CHECK(running_.erase(task) == 1) << to_text(task) << " ends twice";
  entry.ending = ending;
  entry.exit_code = exit_code;
  entry.signal = signal;
  if (entry.forgotten) return;
  used_[entry.machine] -= entry.resources.amounts;
  ports_[entry.machine] -= entry.resources.ports;
}

void Journal::reported(const TaskKey& task, const proto::TaskStatus& status) {
  ended(task, Ending::kReported, status.exit_code.value_or(0), status.signal.value_or(0));
  entries_.at(task).reported = status.state;
}

void Journal::unwitnessed(const TaskKey& task) { entries_.at(task).witnessed = false; }

void Journal::memory_lost(const AgentId& machine) {
  ++memory_losses_[machine];
  for (auto& [task, entry] : entries_) {
    if (entry.machine != machine) continue;
    entry.witnessed = false;
  }
}

void Journal::forgotten(const TaskKey& task) {
  JournalEntry& entry = entries_.at(task);
  entry.witnessed = false;
  if (std::exchange(entry.forgotten, true) || entry.ending != Ending::kRuns) return;
  used_[entry.machine] -= entry.resources.amounts;
  ports_[entry.machine] -= entry.resources.ports;
}

// True if the update agrees with the truth about a started task.
bool Journal::is_true(const TaskKey& task, const proto::TaskStatus& told,
                      const JournalEntry& entry) const {
  if (entry.ending == Ending::kReported && told.state == entry.reported &&
      told.exit_code.value_or(0) == entry.exit_code && told.signal.value_or(0) == entry.signal) {
    return true;
  }
  switch (told.state) {
    case TaskState::kFinished:
      return entry.ending == Ending::kExited && entry.exit_code == 0;
    case TaskState::kFailed:
      switch (told.reason) {
        case TaskReason::kCommandExited:
          return entry.ending == Ending::kExited && entry.exit_code != 0 &&
                 told.exit_code == entry.exit_code;
        case TaskReason::kCommandSignalled:
          return entry.ending == Ending::kSignalled && told.signal == entry.signal;
        // the executor ended without reporting the ends of its tasks
        default:
          return entry.ending != Ending::kRuns && !entry.witnessed;
      }
    // it may have ended by itself at the same moment, unseen
    case TaskState::kKilled:
      return entry.ending == Ending::kKilled || entry.ending == Ending::kTakenDown ||
             (entry.ending != Ending::kRuns && !entry.witnessed);
    // The agent's report: an executor that lives until its agent knows all keeps the ends across a
    // restart of the agent. For an absent agent the master can only report what it knows.
    case TaskState::kLost:
      if (entry.forgotten) return true;
      switch (told.reason) {
        case TaskReason::kExecutorEnded:
        case TaskReason::kExecutorTimeout:
        case TaskReason::kAgentRestarted:
          return entry.ending != Ending::kRuns && !entry.witnessed;
        // the master's answer to a question about an unknown task
        case TaskReason::kTaskUnknown:
          if (told.sequence == 0 && was_given_up_with(task, entry.machine)) return true;
          return entry.ending != Ending::kRuns;
        default:
          return entry.ending != Ending::kRuns;
      }
    case TaskState::kGone:
      return true;  // this cannot be known
    case TaskState::kRefused:
      return false;
    default:
      return false;
  }
}

bool Journal::was_given_up_with(const TaskKey& task, const AgentId& machine) const {
  const auto accepted = accepted_.find(task);
  const auto given_up = given_up_.find(machine);
  return accepted != accepted_.end() && given_up != given_up_.end() &&
         given_up->second > accepted->second;
}

std::vector<Violation> Journal::heard(const FrameworkId& framework,
                                      const proto::TaskStatus& status) {
  if (!proto::is_terminal(status.state)) return {};
  const TaskKey task(framework, status.task);
  std::vector<Violation> found;
  const std::string name = text(to_text(task), " is reported as ", proto::to_text(status.state),
                                " (", proto::to_text(status.reason), ")");
  const auto before = heard_.find(task);
  const auto entry = entries_.find(task);
  const auto is_forgotten = [&](const proto::TaskStatus& first) {
    // Its agent has lost the end of a task that never began, and gives its id back.
    if (status.state == TaskState::kRefused && first.state != TaskState::kFinished) {
      return entry == entries_.end() && memory_losses_[first.agent] > 0;
    }
    if (status.state != TaskState::kLost) return false;
    // A scheduler that was killed before it stored an end asks about it again, and the restarted
    // master has forgotten it.
    if (status.reason == proto::TaskReason::kTaskUnknown && status.sequence == 0) return true;
    return entry == entries_.end() ? memory_losses_[first.agent] > 0
                                   : memory_losses_[entry->second.machine] > entry->second.losses;
  };
  if (before != heard_.end() && before->second.state != status.state &&
      !is_forgotten(before->second)) {
    found.push_back({text(name, ", and was ", proto::to_text(before->second.state), " (",
                          proto::to_text(before->second.reason), ") before")});
  }
  heard_.emplace(task, status);
  if (entry == entries_.end()) {
    if (status.state == TaskState::kFinished || status.reason == TaskReason::kCommandExited ||
        status.reason == TaskReason::kCommandSignalled) {
      found.push_back({text(name, ", but was never started")});
    }
  } else if (!is_true(task, status, entry->second)) {
    found.push_back(
        {text(name, ", but on ", entry->second.machine.str(), " it ", to_text(entry->second.ending),
              " exit=", entry->second.exit_code, " signal=", entry->second.signal,
              " witnessed=", entry->second.witnessed ? "yes" : "no")});
  }
  return found;
}

bool Journal::may_be_forgotten(const TaskKey& task) const {
  const auto entry = entries_.find(task);
  if (entry == entries_.end()) return false;
  const auto losses = memory_losses_.find(entry->second.machine);
  return losses != memory_losses_.end() && losses->second > entry->second.losses;
}

std::vector<Violation> Journal::unsettled() const {
  std::vector<Violation> found;
  for (const TaskKey& task : running_) {
    found.push_back({text(to_text(task), " still runs on ", entries_.at(task).machine.str())});
  }
  for (const auto& [task, given_up_before] : accepted_) {
    if (torn_down_.count(task.first) == 0 && heard_.count(task) == 0) {
      found.push_back({text(to_text(task), " was launched, but its end was not reported")});
    }
  }
  return found;
}

}  // namespace proffer::sim
