// The life of a simulated task: arrive, launch, started, stopped, hear; and from there again if it
// did not finish.

#include "sim/task_book.h"

#include <algorithm>
#include <charconv>

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {

std::string to_text(const TaskRef& ref) {
  return text(ref.framework, ".", ref.group, ".", ref.number, ".", ref.attempt);
}

TaskRef parse_task_ref(std::string_view text) {
  TaskRef ref;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (uint32_t* part : {&ref.framework, &ref.group, &ref.number, &ref.attempt}) {
    const auto [next, error] = std::from_chars(at, end, *part);
    CHECK(error == std::errc()) << text;
    at = next == end ? end : next + 1;
  }
  CHECK(at == end) << text;
  return ref;
}

void TimeIntegral::set(const ResourceVector& amounts, Time now) {
  now = std::max(now, since_);  // Events before the beginning count from the beginning.
  for (const ResourceKind kind : kResourceKinds) sums_[static_cast<size_t>(kind)] = sum(kind, now);
  since_ = now;
  amounts_ = amounts;
}

TimeIntegral::Sum TimeIntegral::sum(ResourceKind kind, Time now) const {
  return sums_[static_cast<size_t>(kind)] + Sum{amounts_[kind]} * (now - since_).nanos();
}

int64_t TimeIntegral::thousandths_of(const TimeIntegral& whole, ResourceKind kind, Time now) const {
  const Sum all = whole.sum(kind, now);
  if (all <= 0) return 0;
  return static_cast<int64_t>((sum(kind, now) * 2'000 + all) / (all * 2));
}

TaskBook::TaskBook(const Scenario& scenario, Time zero)
    : scenario_(scenario), zero_(zero), books_(scenario.frameworks.size()) {
  running_.begin(zero);
  total_.begin(zero);
  for (size_t f = 0; f < scenario.frameworks.size(); ++f) {
    for (const ScenarioTasks& tasks : scenario.frameworks[f].tasks) {
      Group& group = books_[f].groups.emplace_back();
      group.items.resize(static_cast<size_t>(tasks.count));
      group.fresh = static_cast<uint32_t>(tasks.running_count());
      group.arrived = group.fresh;
      for (uint32_t i = 0; i < group.fresh; ++i) {
        group.items[i] =
            Item{.wanted = zero, .attempt = 1, .state = State::kLaunched, .waited = true};
      }
      if (group.fresh > 0) first_wanted_ = zero;
      books_[f].counts.wanted += group.fresh;
      open_ += tasks.count;
    }
  }
}

// --- demands of a tenant -------------------------------------------------------------------------

Time TaskBook::arrival(uint32_t framework, uint32_t group, uint32_t number) const {
  const ScenarioFramework& of = scenario_.frameworks[framework];
  const Duration after = std::max(of.joins, of.tasks[group].arrival(number));
  return zero_ + (after == Duration() && arrivals_ ? arrivals_(framework, group) : after);
}

std::optional<Time> TaskBook::next_arrival(uint32_t framework) const {
  std::optional<Time> next;
  const std::vector<Group>& groups = books_[framework].groups;
  for (uint32_t g = 0; g < groups.size(); ++g) {
    if (groups[g].arrived == groups[g].items.size()) continue;
    const Time at = arrival(framework, g, groups[g].arrived);
    if (!next || at < *next) next = at;
  }
  return next;
}

void TaskBook::arrive(uint32_t framework, Time at) {
  Book& book = books_[framework];
  for (uint32_t g = 0; g < book.groups.size(); ++g) {
    Group& group = book.groups[g];
    while (group.arrived < group.items.size()) {
      const Time wanted = arrival(framework, g, group.arrived);
      if (wanted > at) break;
      Item& arrived = group.items[group.arrived++];
      if (arrived.state != State::kLater) continue;  // cancelled
      arrived.wanted = wanted;
      arrived.state = State::kPending;
      ++book.counts.wanted;
      if (!first_wanted_ || wanted < *first_wanted_) first_wanted_ = wanted;
    }
  }
}

TaskBook::Pending TaskBook::pending(uint32_t framework, uint32_t g) const {
  const Group& group = books_[framework].groups[g];
  const auto gang = static_cast<uint32_t>(scenario_.frameworks[framework].tasks[g].ask.gang);
  const int64_t fresh = group.arrived > group.fresh ? group.arrived - group.fresh : 0;
  if (gang == 1) return {.whole = fresh + static_cast<int64_t>(group.again.size()), .members = 0};
  std::map<uint32_t, uint32_t> again;  // by gang
  for (const uint32_t number : group.again) ++again[number / gang];
  Pending pending{.whole = fresh / gang * gang};
  for (const auto& [number, members] : again) {
    (members == gang ? pending.whole : pending.members) += members;
  }
  return pending;
}

TaskRef TaskBook::launch_one(uint32_t framework, uint32_t group, uint32_t number) {
  Item& launched = books_[framework].groups[group].items[number];
  CHECK(launched.state == State::kPending);
  launched.state = State::kLaunched;
  return TaskRef{framework, group, number, ++launched.attempt};
}

std::vector<TaskRef> TaskBook::launch(uint32_t framework, uint32_t g, int64_t count) {
  Group& group = books_[framework].groups[g];
  const auto gang = static_cast<uint32_t>(scenario_.frameworks[framework].tasks[g].ask.gang);
  std::vector<uint32_t> numbers;
  // Tasks that ran before come first: the first gang that is whole again.
  for (auto at = group.again.begin(); at != group.again.end(); ++at) {
    if (gang > 1 && !numbers.empty() && *at / gang != numbers.front() / gang) numbers.clear();
    numbers.push_back(*at);
    if (numbers.size() == static_cast<size_t>(count)) break;
  }
  if (gang > 1 && numbers.size() != gang) numbers.clear();
  for (const uint32_t number : numbers) group.again.erase(number);
  const uint32_t fresh = group.arrived - group.fresh;
  if (gang == 1 || (numbers.empty() && fresh >= gang)) {
    while (numbers.size() < static_cast<size_t>(count) && group.fresh < group.arrived) {
      numbers.push_back(group.fresh++);
    }
  }
  std::vector<TaskRef> launched;
  for (const uint32_t number : numbers) launched.push_back(launch_one(framework, g, number));
  return launched;
}

std::vector<TaskRef> TaskBook::launch_members(uint32_t framework, uint32_t g, int64_t count) {
  Group& group = books_[framework].groups[g];
  std::vector<TaskRef> launched;
  while (launched.size() < static_cast<size_t>(count) && !group.again.empty()) {
    launched.push_back(launch_one(framework, g, *group.again.begin()));
    group.again.erase(group.again.begin());
  }
  return launched;
}

void TaskBook::cancel(uint32_t framework) {
  Book& book = books_[framework];
  for (Group& group : book.groups) {
    group.again.clear();
    group.fresh = group.arrived = static_cast<uint32_t>(group.items.size());
    for (Item& one : group.items) {
      if (one.state == State::kFinished || one.state == State::kCancelled) continue;
      if (one.state != State::kLater) --book.counts.wanted;
      if (one.state == State::kRunning) --book.counts.running;
      one.state = State::kCancelled;
      --open_;
    }
  }
}

// --- events that a tenant receives ---------------------------------------------------------------

bool TaskBook::is_current(const TaskRef& ref) const {
  const Item& one = item(ref);
  return one.attempt == ref.attempt &&
         (one.state == State::kLaunched || one.state == State::kRunning);
}

void TaskBook::told_to_end(const TaskRef& ref, RevokeReason reason, const RoleName& beneficiary) {
  if (!is_current(ref)) return;
  const RoleName& role = scenario_.frameworks[ref.framework].role;
  const Cause cause{ref.framework, tasks(ref).role_in(role), reason, beneficiary};
  if (notices_.emplace(ref, cause).second) ++revoked_[cause].told;
}

bool TaskBook::hear(const TaskRef& ref, Outcome outcome, Time now) {
  if (!is_current(ref)) return false;
  Book& book = books_[ref.framework];
  Item& one = item(ref);
  if (const auto notice = notices_.extract(ref);
      notice && (outcome == Outcome::kPreempted || outcome == Outcome::kDrained)) {
    ++revoked_[notice.mapped()].ended;
  }
  if (one.state == State::kRunning) --book.counts.running;
  switch (outcome) {
    case Outcome::kFinished:
      one.state = State::kFinished;
      ++book.counts.finished;
      --book.counts.wanted;
      --open_;
      last_finished_ = now;
      return true;
    case Outcome::kFailed:
      ++book.counts.failed;
      break;
    case Outcome::kLost:
      ++book.counts.lost;
      break;
    case Outcome::kPreempted:
      ++book.counts.preempted;
      ++preempted_;
      break;
    case Outcome::kDrained:
    case Outcome::kRefused:
      break;
  }
  one.state = State::kPending;
  book.groups[ref.group].again.insert(ref.number);
  return true;
}

// --- events on a machine -------------------------------------------------------------------------

void TaskBook::started(const TaskRef& ref, Time now) {
  running_.set(running_.amounts() + tasks(ref).resources, now);
  if (!is_current(ref)) return;
  Book& book = books_[ref.framework];
  Item& one = item(ref);
  if (one.state == State::kLaunched) ++book.counts.running;
  one.state = State::kRunning;
  if (std::exchange(one.waited, true)) return;
  book.waits.push_back(now - one.wanted);
  book.groups[ref.group].starts.push_back(now);
  ++started_;
}

void TaskBook::ended(const TaskRef& ref, Time now) {
  running_.set(running_.amounts() - tasks(ref).resources, now);
}

void TaskBook::taken_down(const TaskRef& ref, Time now) {
  ended(ref, now);
  Item& one = item(ref);
  if (one.attempt != ref.attempt || one.state != State::kRunning) return;
  one.state = State::kLaunched;
  --books_[ref.framework].counts.running;
}

// --- for reports ---------------------------------------------------------------------------------

Duration TaskBook::makespan() const {
  if (!first_wanted_ || !last_finished_) return {};
  return *last_finished_ - *first_wanted_;
}

std::string TaskBook::name_of(const TaskRef& ref) const {
  return text(scenario_.frameworks[ref.framework].name, "/", tasks(ref).name, "-", ref.number);
}

TaskId TaskBook::id_of(const TaskRef& ref) const {
  const std::string id = text(tasks(ref).name, "-", ref.number);
  return TaskId(ref.attempt == 1 ? id : text(id, ".", ref.attempt));
}

std::optional<TaskRef> TaskBook::find(uint32_t framework, const TaskId& id) const {
  const std::string_view whole = id.str();
  const size_t dash = whole.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view name = whole.substr(0, dash);
  const std::vector<ScenarioTasks>& groups = scenario_.frameworks[framework].tasks;
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const ScenarioTasks& one) { return one.name == name; });
  if (group == groups.end()) return std::nullopt;
  TaskRef ref{framework, static_cast<uint32_t>(group - groups.begin()), 0, 1};
  const char* at = whole.data() + dash + 1;
  const char* const end = whole.data() + whole.size();
  const auto [next, error] = std::from_chars(at, end, ref.number);
  if (error != std::errc() || ref.number >= group->count) return std::nullopt;
  if (next != end && *next == '.') std::from_chars(next + 1, end, ref.attempt);
  return ref;
}

}  // namespace proffer::sim
