// Read kItems first, at the end. The witness finds what is wrong under every fault; the items check
// what their fault demands.

#include "cli/conformance_items.h"

#include <algorithm>
#include <csignal>

#include "common/text.h"

namespace proffer::cli {
namespace {

using To = ConformanceProxy::To;

constexpr Duration kFailoverTestedMax = minutes(1);
constexpr Duration kSubscribeTimeout = seconds(15);
// This many failures are not a coincidence.
constexpr size_t kEnoughFailures = 10;

bool is_update(To to, const proto::Message& message) {
  const auto* update = std::get_if<proto::Update>(&message);
  return to == To::kScheduler && update != nullptr && update->status.sequence > 0;
}

bool is_running(To to, const proto::Message& message) {
  const auto* update = std::get_if<proto::Update>(&message);
  return to == To::kScheduler && update != nullptr &&
         update->status.state == proto::TaskState::kRunning;
}

Outcome not_tested(std::string why) {
  return {.verdict = Verdict::kNotTested, .seen = std::move(why)};
}
Outcome no_work() { return not_tested("it launched no task that could be interrupted"); }

// Holds everything from the first status update of a running task on; empty if no task runs.
std::optional<proto::TaskStatus> hold_at_running_task(Trial& trial) {
  std::optional<proto::TaskStatus> running;
  trial.hold_after([&](To to, const proto::Message& message) {
    if (!is_running(to, message)) return false;
    running = std::get<proto::Update>(message).status;
    return true;
  });
  return running;
}

// "1 task", "2 tasks".
std::string count_of(size_t count, std::string_view noun) {
  return text(count, " ", noun, count == 1 ? "" : "s");
}

// --- tasks that end and are not replaced ---------------------------------------------------------

// The scheduler's counts at the time of a fault.
struct Before {
  size_t launches = 0;
  size_t bad_ends = 0;
  explicit Before(const ConformanceWitness& witness)
      : launches(witness.launches()), bad_ends(witness.bad_ends()) {}
};

// After bad ends of its tasks, a scheduler must launch other tasks, declare other asks, or end. A
// scheduler whose tasks are remembered may have decided not to start them again.
std::vector<std::string> unanswered_ends(Trial& trial, const Before& before,
                                         const std::string& fault) {
  const ConformanceWitness& witness = trial.witness();
  const size_t ends = witness.bad_ends() - before.bad_ends;
  if (ends == 0 || trial.has_ended() || witness.torn_down()) return {};
  if (witness.launches() > before.launches || witness.wanted() > 0) return {};
  // It may wait for its running tasks.
  if (!witness.open_tasks().empty()) return {};
  if (witness.remembers_tasks() || trial.options().tasks_may_fail) return {};
  return {text(
      fault, "; then ", count_of(ends, "task"),
      " ended, and it did not react: it launched none, asked for none, has none and did not end")};
}

// --- the items -----------------------------------------------------------------------------------

// The number of failed tasks if they are the majority; else 0.
size_t most_that_failed(const ConformanceWitness& witness) {
  const size_t failed = witness.told(proto::TaskState::kFailed);
  const size_t good = witness.told(proto::TaskState::kFinished) + witness.open_tasks().size();
  return failed > good ? failed : 0;
}

std::vector<std::string> failures(const Trial& trial) {
  const ConformanceWitness& witness = trial.witness();
  const size_t failed = most_that_failed(witness);
  if (failed == 0 || trial.options().tasks_may_fail) return {};
  return {text(failed, " of its ", witness.tasks(), " tasks failed (", witness.last_failure(),
               "); if its tasks may fail, add --tasks-may-fail")};
}

std::vector<std::string> idleness(Trial& trial) {
  const ConformanceWitness& witness = trial.witness();
  if (witness.launches() > 0 || witness.sessions() == 0 || trial.options().may_stay_idle) return {};
  if (!witness.never_fits().empty()) {
    return {text("it launched nothing: ", witness.never_fits(),
                 "; make agents larger with --resources")};
  }
  return {text("it launched nothing, although it received ", witness.offers(),
               " offers. If it waits for requests, send one with --work \"CMD\", or allow this "
               "with --may-stay-idle")};
}

Outcome baseline(Trial& trial) {
  trial.await_work();
  // Waits longer than a lease: a scheduler that never answers an offer is quiet until the lease
  // ends. A scheduler whose tasks fail again and again is never quiet.
  trial.settle(trial.times().lease + seconds(1),
               [&] { return most_that_failed(trial.witness()) >= kEnoughFailures; });
  std::vector<std::string> wrong = idleness(trial);
  for (std::string& one : failures(trial)) wrong.push_back(std::move(one));
  if (trial.how() && trial.how()->starts_with("exit") && *trial.how() != "exit code 0") {
    wrong.push_back(text("it ended with ", *trial.how()));
  }
  return trial.judge("", std::move(wrong));
}

Outcome agent_lost(Trial& trial) {
  const std::optional<proto::TaskStatus> running = hold_at_running_task(trial);
  if (!running) return no_work();
  const std::string agent = running->agent.str();
  const Before before(trial.witness());
  trial.cluster().kill(agent);
  trial.proxy().go_on();
  trial.settle(trial.times().agent_timeout + trial.times().reregistration + seconds(4));
  const size_t lost =
      trial.witness().told(proto::TaskState::kLost) + trial.witness().told(proto::TaskState::kGone);
  return trial.judge(text(agent, " never came back, ", count_of(lost, "task"), " lost or gone"),
                     unanswered_ends(trial, before, text(agent, " never came back")));
}

Outcome agent_drained(Trial& trial) {
  const std::optional<proto::TaskStatus> running = hold_at_running_task(trial);
  if (!running) return no_work();
  const Before before(trial.witness());
  if (Result<void> drained = trial.drain(running->agent); !drained) {
    return not_tested(drained.error().message());
  }
  trial.proxy().go_on();
  trial.settle(trial.times().revoke_grace + seconds(2));
  const std::string agent = running->agent.str();
  Outcome outcome =
      trial.judge(text(agent, " was drained, ", count_of(trial.witness().notices(), "notice")),
                  unanswered_ends(trial, before, text(agent, " was drained")));
  if (outcome.verdict == Verdict::kPassed && trial.witness().notices() == 0) {
    return not_tested("its tasks had ended before the agent was drained");
  }
  return outcome;
}

Outcome revoked(Trial& trial) {
  if (!hold_at_running_task(trial)) return no_work();
  trial.proxy().go_on();
  const Before before(trial.witness());
  if (Result<void> started = trial.start_rival(); !started) {
    return not_tested(started.error().message());
  }
  trial.wait(seconds(8), [&] { return trial.witness().notices() > 0 || trial.has_ended(); });
  if (trial.witness().notices() > 0) trial.settle(trial.times().revoke_grace + seconds(2));
  Outcome outcome = trial.judge(
      text("another role reclaimed its guarantee, ", count_of(trial.witness().notices(), "notice")),
      unanswered_ends(trial, before, "another role reclaimed its guarantee"));
  if (outcome.verdict == Verdict::kPassed && trial.witness().notices() == 0) {
    return not_tested("it had no resources that another role could reclaim");
  }
  return outcome;
}

Outcome executor_killed(Trial& trial) {
  const std::optional<proto::TaskStatus> running = hold_at_running_task(trial);
  if (!running) return no_work();
  const Before before(trial.witness());
  const bool is_killed = trial.kill_executor(running->task);
  trial.proxy().go_on();
  if (!is_killed) return not_tested("the executor of its first task had already ended");
  trial.settle(seconds(4));
  Outcome outcome = trial.judge(
      text("an executor was killed with SIGKILL, ",
           count_of(trial.witness().bad_ends() - before.bad_ends, "task"), " ended with it"),
      unanswered_ends(trial, before, "an executor was killed"));
  if (outcome.verdict == Verdict::kPassed && trial.witness().bad_ends() == before.bad_ends) {
    return not_tested("its tasks had ended before their executor was killed");
  }
  return outcome;
}

Outcome offer_rescinded(Trial& trial) {
  trial.proxy().hold_offers_until_rescinded();
  if (!trial.wait(seconds(20), [&] { return trial.proxy().rescinded() || trial.has_ended(); }) ||
      !trial.proxy().rescinded()) {
    return not_tested("it received no offer that could be rescinded");
  }
  trial.settle(kDeclineFilter + seconds(1));
  std::vector<std::string> wrong;
  // Launches on offers that were rescinded too late for the scheduler to know were refused.
  const ConformanceWitness& witness = trial.witness();
  if (witness.wanted() > 0 && !trial.has_ended() &&
      witness.told(proto::TaskState::kRefused) == witness.launches()) {
    wrong.push_back("after an offer was rescinded it launched nothing on later offers");
  }
  return trial.judge("offers arrived together with their rescinds", std::move(wrong));
}

Outcome update_duplicated(Trial& trial) {
  if (!trial.hold_after(is_update)) return no_work();
  trial.proxy().lose_acknowledgement();
  trial.proxy().go_on();
  trial.wait(seconds(3), [&] { return trial.proxy().lost() > 0 || trial.has_ended(); });
  trial.proxy().cut();
  trial.settle(seconds(4));
  Outcome outcome =
      trial.judge(text(count_of(trial.witness().heard_twice(), "update"), " arrived twice"));
  if (outcome.verdict == Verdict::kPassed && trial.witness().heard_twice() == 0) {
    return not_tested("it ended before an update arrived twice");
  }
  return outcome;
}

Outcome connection_broken(Trial& trial) {
  const bool had_work = trial.hold_after([](To to, const proto::Message& message) {
    return to == To::kMaster && std::holds_alternative<proto::Accept>(message);
  });
  if (trial.has_ended()) return no_work();
  trial.proxy().cut();
  trial.settle(seconds(4));
  return trial.judge(had_work ? "disconnected after an accept" : "disconnected while idle");
}

Outcome network_slow(Trial& trial) {
  trial.await_work();
  trial.settle(seconds(4));
  if (trial.witness().launches() == 0 && !trial.witness().is_wrong()) return no_work();
  return trial.judge(
      text("each message was delayed by ", to_text(trial.times().delay), " in each direction"),
      failures(trial));
}

Outcome master_restarted(Trial& trial) {
  trial.hold_after(is_update);
  if (trial.has_ended()) return no_work();
  const size_t sessions = trial.witness().sessions();
  trial.cluster().kill("master");
  trial.proxy().cut();
  if (Result<void> started = trial.cluster().start_master_again(); !started) {
    return not_tested(started.error().message());
  }
  const bool is_back = trial.wait(kSubscribeTimeout, [&] {
    return trial.witness().sessions() > sessions || trial.has_ended();
  });
  if (!is_back) {
    return trial.failed(text("it did not subscribe again within ", to_text(kSubscribeTimeout)));
  }
  trial.settle(trial.times().reregistration + seconds(2));
  return trial.judge("the master was killed with SIGKILL and restarted on the same registry");
}

// Restarts the scheduler with --restart-with after its end. Returns what is wrong with its return.
std::optional<std::string> come_back(Trial& trial, const FrameworkId& framework) {
  const size_t sessions = trial.witness().sessions();
  if (Result<void> started = trial.start_scheduler_again(); !started) {
    return started.error().message();
  }
  trial.wait(kSubscribeTimeout,
             [&] { return trial.witness().sessions() > sessions || trial.has_ended(); });
  if (trial.witness().sessions() == sessions) {
    return text("after its restart it did not subscribe",
                trial.how() ? ": it ended with " + *trial.how() : "");
  }
  if (trial.witness().framework() != framework) {
    return text("after its restart it is ", trial.witness().framework().str(), ", not ",
                framework.str(), ": it has lost its tasks");
  }
  return std::nullopt;
}

Outcome scheduler_killed(Trial& trial) {
  const bool had_work = trial.hold_after(is_update);
  if (trial.has_ended()) return no_work();
  const FrameworkId framework = trial.witness().framework();
  const Duration failover = trial.witness().failover_timeout();
  trial.end_scheduler(SIGKILL);
  trial.proxy().cut();
  if (!trial.options().restart_with.empty()) {
    if (std::optional<std::string> wrong = come_back(trial, framework)) {
      return trial.failed(*std::move(wrong));
    }
    trial.settle(seconds(4));
    return trial.judge(text("came back as ", framework.str()));
  }
  if (failover > kFailoverTestedMax || framework.empty()) {
    return not_tested(text("its tasks outlive it for ", to_text(failover),
                           "; give the command that restarts it: --restart-with \"CMD\""));
  }
  const bool is_gone = trial.wait(failover + seconds(15), [&] {
    const std::optional<std::vector<TaskId>> living = trial.living_tasks();
    return living && living->empty();
  });
  if (!is_gone) return trial.failed("its tasks did not end after its failover timeout");
  return {.seen = text(had_work ? "its tasks" : "it", " ended after its failover timeout, ",
                       to_text(failover))};
}

// The scheduler registers with the new master before the agents do: it must not take tasks that the
// master does not know yet for lost.
Outcome master_and_scheduler_killed(Trial& trial) {
  if (trial.options().restart_with.empty()) {
    return not_tested("give the command that restarts it: --restart-with \"CMD\"");
  }
  if (!hold_at_running_task(trial)) return no_work();
  trial.proxy().go_on();
  trial.wait(seconds(3), [&] { return trial.has_ended() || trial.witness().wanted() == 0; });
  if (trial.has_ended()) return no_work();
  const FrameworkId framework = trial.witness().framework();
  const std::optional<int64_t> most = trial.witness().most_wanted();
  trial.end_scheduler(SIGKILL);
  trial.cluster().pause_agents();
  trial.cluster().kill("master");
  trial.proxy().cut();
  if (Result<void> started = trial.cluster().start_master_again(); !started) {
    return not_tested(started.error().message());
  }
  std::optional<std::string> lost = come_back(trial, framework);
  if (!lost) trial.wait(seconds(2), [&] { return trial.has_ended(); });
  trial.cluster().resume_agents();
  if (lost) return trial.failed(*std::move(lost));
  trial.settle(seconds(6));
  std::vector<std::string> wrong;
  const std::optional<std::vector<TaskId>> living = trial.living_tasks();
  if (most && living && std::ssize(*living) > *most) {
    wrong.push_back(text("it has ", living->size(), " tasks, but never wanted more than ", *most,
                         ": it launched tasks again that were already running"));
  }
  return trial.judge(text("came back as ", framework.str(), " before the agents did"),
                     std::move(wrong));
}

constexpr ConformanceItem kItems[] = {
    {"baseline", "without a fault, the scheduler does its work", baseline, {}},
    {"agent_lost", "the agent of its first running task is lost for good", agent_lost, {}},
    {"agent_drained", "the agent of its first running task is drained", agent_drained, {}},
    {"revoked", "another role reclaims its guarantee, the whole cluster", revoked, {}},
    {"executor_killed", "the executor of its first running task dies", executor_killed, {}},
    {"offer_rescinded",
     "an offer is rescinded before the answer arrives",
     offer_rescinded,
     {.lease = seconds(2)}},
    {"update_duplicated",
     "an acknowledgement is lost, so an update arrives again",
     update_duplicated,
     {}},
    {"connection_broken", "the connection breaks after its first accept", connection_broken, {}},
    {"network_slow",
     "each message is delayed in each direction",
     network_slow,
     {.delay = milliseconds(200)}},
    {"master_restarted",
     "the master is killed and restarted while tasks run",
     master_restarted,
     {}},
    {"scheduler_killed", "the scheduler is killed", scheduler_killed, {}},
    {"both_killed",
     "scheduler and master are killed, and the agents come back last",
     master_and_scheduler_killed,
     {.reregistration = seconds(30)}},
};

}  // namespace

std::span<const ConformanceItem> conformance_items() { return kItems; }

}  // namespace proffer::cli
