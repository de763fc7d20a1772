// The reasons for which tasks waited, from the ledger: for a task, a framework or a role.

#include <algorithm>

#include "common/text.h"
#include "master/core/explain.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

constexpr size_t kAsksBlamedMax = 1'000;

const WaitSpan* longest(const WaitSpans& spans) {
  const auto most =
      std::max_element(spans.begin(), spans.end(),
                       [](const WaitSpan& a, const WaitSpan& b) { return a.spent < b.spent; });
  return most == spans.end() ? nullptr : &*most;
}

// In milliseconds, if it is longer than one.
std::string for_people(Duration spent) {
  return to_text(spent < milliseconds(1) ? spent : milliseconds(spent.millis()));
}

std::string answer_of_task(const proto::Blame& blame) {
  const bool waits = blame.state == proto::TaskState::kStaging;
  const WaitSpan* most = longest(blame.waited);
  if (most == nullptr) return waits ? "it is being started" : "it did not wait";
  const std::string whole = for_people(whole_of(blame.waited));
  const std::string_view verb = waits ? "it has waited for " : "it waited for ";
  if (blame.waited.size() == 1) return text(verb, whole, ": ", explained(most->reason));
  return text(verb, whole, ", mostly (", for_people(most->spent), ") because ",
              explained(most->reason));
}

// The reasons of present waits, or else those of past waits.
std::string answer_of_sums(const proto::Blame& blame) {
  int64_t waiting = 0;
  const WaitSum* most_tasks = nullptr;
  const WaitSum* most_time = nullptr;
  for (const WaitSum& sum : blame.sums) {
    waiting += sum.tasks;
    if (sum.tasks > 0 && (most_tasks == nullptr || sum.tasks > most_tasks->tasks)) {
      most_tasks = &sum;
    }
    if (most_time == nullptr || sum.millis > most_time->millis) most_time = &sum;
  }
  if (most_tasks != nullptr) {
    return text(
        waiting, waiting == 1 ? " task waits" : " tasks wait", " now, ", most_tasks->tasks,
        most_tasks->tasks == 1 ? " of them for this reason: " : " of them for this reason: ",
        to_text(most_tasks->reason));
  }
  if (most_time == nullptr) return "no task waits or has waited";
  return text("no task waits now; the tasks waited longest for this reason: ",
              to_text(most_time->reason));
}

void finish_asks(proto::Blame& blame) {
  std::stable_sort(
      blame.asks.begin(), blame.asks.end(),
      [](const proto::WaitingAsk& a, const proto::WaitingAsk& b) { return a.since < b.since; });
  blame.asks_all = static_cast<int64_t>(blame.asks.size());
  if (blame.asks.size() > kAsksBlamedMax) blame.asks.resize(kAsksBlamedMax);
}

}  // namespace

// The asks in the role and below it; without a role, all.
void Master::State::add_waiting_asks(const Framework& framework, const RoleName& within,
                                     proto::Blame& blame) const {
  for (const auto& [ask, entry] : framework.ledger) {
    if (!within.empty() && !is_within(entry.role, within)) continue;
    proto::WaitingAsk row{.framework = framework.id(),
                          .ask = ask,
                          .role = entry.role,
                          .lacking = entry.wait.lacking(),
                          .offered = entry.wait.offered(),
                          .since = *entry.wait.oldest()};
    if (row.lacking > 0) row.reason = entry.wait.reason();
    blame.asks.push_back(std::move(row));
  }
}

Result<proto::Blame> Master::State::blame_framework(std::string_view word) const {
  const Result<const Framework*> found = frameworks_.named(word);
  if (!found) return found.error();
  const Framework& framework = **found;
  proto::Blame blame{.now = now_, .framework = framework.id(), .role = framework.record.role};
  blame.since = options_.started_at;
  blame.sums = framework.wait_totals.sums(now_);
  blame.answer = answer_of_sums(blame);
  add_waiting_asks(framework, {}, blame);
  finish_asks(blame);
  return blame;
}

Result<proto::Blame> Master::State::blame_role(std::string_view path) const {
  // Only for its errors.
  const Result<proto::ExplainedRole> known = explain_role(path);
  if (!known) return known.error();
  const RoleName& role = known->fair.role;
  proto::Blame blame{.now = now_, .role = role};
  blame.since = options_.started_at;
  blame.sums = role_waits_.sums(role, now_);
  blame.answer = answer_of_sums(blame);
  for (const auto& [id, framework] : frameworks_.all()) add_waiting_asks(framework, role, blame);
  finish_asks(blame);
  return blame;
}

Result<proto::Blame> Master::State::blame_task(std::string_view name, const Principal* by) const {
  const Result<proto::ExplainedTask> found = explain_task(name, by);
  if (!found) return found.error();
  const proto::TaskRow& row = found->row;
  proto::Blame blame{.now = now_, .framework = row.framework, .task = row.task};
  if (!found->is_known) {
    blame.answer = found->answer;
    add_waiting_asks(*frameworks_.find(row.framework), {}, blame);
    finish_asks(blame);
    return blame;
  }
  blame.role = row.role;
  blame.ask = row.ask;
  blame.state = row.state;
  blame.launched_at = row.launched_at;
  blame.waited = row.waited;
  const Task* task = tasks_.find({row.framework, row.task});
  if (task != nullptr && task->is_starting) {
    blame.asked_at = row.launched_at - whole_of(blame.waited);
    if (now_ > row.launched_at) {
      blame.waited.insert(blame.waited.begin(), {WaitReason::kStart, now_ - row.launched_at});
    }
  } else if (!blame.waited.empty()) {
    Duration before = whole_of(blame.waited);
    if (blame.waited.front().reason == WaitReason::kStart) {
      before = before - blame.waited.front().spent;
    }
    blame.asked_at = row.launched_at - before;
  }
  blame.answer = answer_of_task(blame);
  return blame;
}

}  // namespace proffer::master
