#include "master/core/tasks.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::master {
namespace {

// Calls visit(entry) for the entries of an ordered table that match a TaskQuery::prefix and come
// after `after`, in order, until it returns false. Jumps from framework to framework, so entries
// that do not match are not visited.
template <class Table, class Visit>
void visit_matching(const Table& table, std::string_view prefix, const TaskKey& after,
                    Visit visit) {
  auto at = after.framework.empty() ? table.begin() : table.upper_bound(after);
  while (at != table.end()) {
    const FrameworkId& framework = at->first.framework;
    const bool whole =  // The prefix ends within "framework/".
        prefix.size() <= framework.str().size() + 1 && (framework.str() + "/").starts_with(prefix);
    if (whole) {
      if (!visit(*at)) return;
      ++at;
      continue;
    }
    // The prefix matches the task's id, either after "framework/" or alone; never both, since ids
    // have no '/'.
    std::string_view of_task = prefix;
    if (prefix.starts_with(framework.str() + "/"))
      of_task.remove_prefix(framework.str().size() + 1);
    const TaskKey first{framework, TaskId(std::string(of_task))};
    if (at->first < first) at = table.lower_bound(first);
    while (at != table.end() && at->first.framework == first.framework &&
           at->first.task.str().starts_with(of_task)) {
      if (!visit(*at)) return;
      ++at;
    }
    // Continue at the next framework. No id begins with a zero byte.
    if (at != table.end() && at->first.framework == first.framework) {
      at = table.lower_bound({FrameworkId(first.framework.str() + '\0'), {}});
    }
  }
}

// The maximum size of a shared spec, since a block may outlive its tasks.
constexpr size_t kSharedSpecBytesMax = 4 * 1'024;

// The size of the parts that may be large.
size_t bytes_of(const proto::TaskSpec& spec) {
  size_t bytes = spec.command.size() + spec.data.size() + spec.executor.size();
  if (spec.health) bytes += spec.health->command.size() + spec.health->path.size();
  for (const auto& file : spec.fetch) bytes += file.uri.size() + file.name.size();
  for (const auto& [name, value] : spec.environment) bytes += name.size() + value.size();
  for (const auto& [name, value] : spec.labels) bytes += name.size() + value.size();
  constexpr size_t kListedBytes = 128;
  return bytes + kListedBytes * (spec.fetch.size() + spec.secrets.size() + spec.port_names.size());
}

TaskKey parse_key(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {FrameworkId(std::string(text)), {}};
  return {FrameworkId(std::string(text.substr(0, slash))),
          TaskId(std::string(text.substr(slash + 1)))};
}

bool is_before(const Task* a, const Task* b) { return a->key() < b->key(); }

}  // namespace

std::string to_text(const TaskKey& key) { return key.framework.str() + "/" + key.task.str(); }

Task* Tasks::find(const TaskKey& key) {
  const auto found = live_.find(key);
  return found == live_.end() ? nullptr : &found->second;
}

const Task* Tasks::find(const TaskKey& key) const {
  const auto found = live_.find(key);
  return found == live_.end() ? nullptr : &found->second;
}

size_t TaskTextHash::operator()(const TaskText& text) const {
  return hashed(text.ask, text.executor, text.command, text.user, text.labels.size());
}

size_t TaskAllotmentHash::operator()(const TaskAllotment& allotment) const {
  const ResourceVector& amounts = allotment.resources.amounts;
  const std::vector<PortRange>& ports = allotment.resources.ports.ranges();
  const TaskClaim& claim = allotment.claim;
  return hashed(amounts[ResourceKind::kCpus], amounts[ResourceKind::kMem],
                amounts[ResourceKind::kDisk], amounts[ResourceKind::kGpus],
                ports.empty() ? uint16_t{0} : ports.front().first, claim.role, claim.priority,
                claim.gang, claim.slices.size());
}

size_t TaskSpecHash::operator()(const proto::TaskSpec& spec) const {
  return hashed(spec.ask, spec.executor, spec.executor_id, spec.command, spec.data,
                spec.environment.size());
}

Shared<proto::TaskSpec> Tasks::share(proto::TaskSpec spec) {
  spec.id = {};
  if (bytes_of(spec) > kSharedSpecBytesMax) return Shared<proto::TaskSpec>(std::move(spec));
  return specs_.share(std::move(spec));
}

void TaskList::insert(Task& task) {
  const auto at = std::lower_bound(tasks_.begin(), tasks_.end(), &task, is_before);
  CHECK(at == tasks_.end() || *at != &task) << to_text(task.key()) << " is listed already";
  tasks_.insert(at, &task);
}

void TaskList::erase(const Task& task) {
  const auto at = std::lower_bound(tasks_.begin(), tasks_.end(), &task, is_before);
  if (at != tasks_.end() && *at == &task) tasks_.erase(at);
}

bool TaskList::contains(const Task& task) const {
  const auto at = std::lower_bound(tasks_.begin(), tasks_.end(), &task, is_before);
  return at != tasks_.end() && *at == &task;
}

bool TaskList::has_of(const FrameworkId& framework) const {
  auto at = std::lower_bound(
      tasks_.begin(), tasks_.end(), framework,
      [](const Task* task, const FrameworkId& id) { return task->key().framework < id; });
  while (at != tasks_.end() && (*at)->key().framework == framework && (*at)->hidden) ++at;
  return at != tasks_.end() && (*at)->key().framework == framework;
}

Task& Tasks::add(const TaskKey& key, Task task) {
  forget_ended(key);
  const auto [added, is_new] = live_.try_emplace(key, std::move(task));
  CHECK(is_new) << "task " << to_text(key) << " is there already";
  ++counts_[static_cast<size_t>(added->second.state)];
  Task& there = added->second;
  there.key_ = &added->first;
  if (there.ended()) ++ended_in_all_;
  const uint64_t gang = there.claim().gang;
  const bool has_run = there.state != proto::TaskState::kStaging;
  if (gang != 0 && !there.ended() && gangs_.add(key.framework, gang, key.task, has_run)) {
    of_failed_gangs_.push_back(key);
  }
  return there;
}

bool Tasks::move(Task& task, proto::TaskEvent event, Time now) {
  const std::optional<proto::TaskState> next = proto::next_state(task.state, event);
  if (!next) return false;
  --counts_[static_cast<size_t>(task.state)];
  task.state = *next;
  task.changed_at = now;
  ++counts_[static_cast<size_t>(task.state)];
  if (task.is_starting && task.state != proto::TaskState::kStaging) {
    task.is_starting = false;
    task.waited = task.waited.with_start(now - task.launched_at);
    if (on_started_) on_started_(task, now);
  }
  if (task.ended()) ++ended_in_all_;
  const uint64_t gang = task.claim().gang;
  if (gang == 0) return true;
  const FrameworkId& framework = task.key().framework;
  if (task.state == proto::TaskState::kRunning) gangs_.ran(framework, gang, task.key().task);
  if (!task.ended()) return true;
  for (TaskId& rest : gangs_.end(framework, gang, task.key().task)) {
    of_failed_gangs_.push_back({framework, std::move(rest)});
  }
  return true;
}

void Tasks::end(const Task& task) {
  CHECK(task.ended() && !task.held) << to_text(task.key());
  --counts_[static_cast<size_t>(task.state)];
  proto::TaskRow row = row_of(task);
  live_.erase(TaskKey(task.key()));  // A copy, since the key is destroyed with the task.
  keep(std::move(row));
}

void Tasks::forget(const Task& task) {
  CHECK(!task.held) << to_text(task.key());
  --counts_[static_cast<size_t>(task.state)];
  if (task.ended()) --ended_in_all_;
  live_.erase(TaskKey(task.key()));
}

void Tasks::add_refused(proto::TaskRow row) { keep(std::move(row)); }

// O(log ended tasks).
void Tasks::keep(proto::TaskRow row) {
  const TaskKey key{row.framework, row.task};
  forget_ended(key);
  const uint64_t number = ++ended_numbers_;
  ended_.insert_or_assign(key, Ended{std::move(row), number});
  EndedOrder& order = ended_order_[key.framework];
  order.emplace(number, key.task);
  note_kept(key.framework, order.size() - 1, order.size());
  if (ended_.size() <= ended_max_) return;
  const FrameworkId most = most_ended_.rbegin()->second;
  forget_ended({most, ended_order_.at(most).begin()->second});
}

void Tasks::forget_ended(const TaskKey& key) {
  const auto found = ended_.find(key);
  if (found == ended_.end()) return;
  const auto order = ended_order_.find(key.framework);
  order->second.erase(found->second.number);
  note_kept(key.framework, order->second.size() + 1, order->second.size());
  if (order->second.empty()) ended_order_.erase(order);
  ended_.erase(found);
}

void Tasks::note_kept(const FrameworkId& framework, size_t before, size_t now) {
  most_ended_.erase({before, framework});
  if (now > 0) most_ended_.emplace(now, framework);
}

const proto::TaskRow* Tasks::find_ended(const TaskKey& key) const {
  const auto found = ended_.find(key);
  return found == ended_.end() ? nullptr : &found->second.row;
}

bool Tasks::is_used(const TaskKey& key) const {
  if (live_.contains(key)) return true;
  const proto::TaskRow* row = find_ended(key);
  return row != nullptr && row->state != proto::TaskState::kRefused;
}

std::vector<Task*> Tasks::of(const FrameworkId& framework) {
  std::vector<Task*> tasks;
  for (auto at = live_.lower_bound({framework, {}});
       at != live_.end() && at->first.framework == framework; ++at) {
    tasks.push_back(&at->second);
  }
  return tasks;
}

std::vector<const Task*> Tasks::matching(std::string_view prefix, size_t limit) const {
  std::vector<const Task*> found;
  visit_matching(live_, prefix, {}, [&](const auto& entry) {
    if (!entry.second.ended()) found.push_back(&entry.second);
    return found.size() < limit;
  });
  return found;
}

std::vector<proto::TaskRow> Tasks::rows(const proto::TaskQuery& query) const {
  std::vector<proto::TaskRow> rows;
  if (query.limit == 0) return rows;
  const TaskKey after = parse_key(query.after);
  visit_matching(live_, query.prefix, after, [&](const auto& entry) {
    if (query.ended || !entry.second.ended()) rows.push_back(row_of(entry.second));
    return rows.size() < query.limit;
  });
  if (!query.ended) return rows;
  // The two tables have no common key, so both are merged in order.
  std::vector<proto::TaskRow> of_ended;
  visit_matching(ended_, query.prefix, after, [&](const auto& entry) {
    of_ended.push_back(entry.second.row);
    return of_ended.size() < query.limit;
  });
  std::vector<proto::TaskRow> both;
  both.reserve(rows.size() + of_ended.size());
  std::merge(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()),
             std::make_move_iterator(of_ended.begin()), std::make_move_iterator(of_ended.end()),
             std::back_inserter(both), [](const proto::TaskRow& a, const proto::TaskRow& b) {
               return std::tie(a.framework, a.task) < std::tie(b.framework, b.task);
             });
  if (both.size() > query.limit) both.resize(query.limit);
  return both;
}

KeptUpdate kept_of(uint64_t number, proto::TaskStatus status) {
  KeptUpdate kept{.number = number,
                  .sequence = status.sequence,
                  .at = status.at,
                  .state = status.state,
                  .reason = status.reason,
                  .source = status.source,
                  .healthy = status.healthy,
                  .ready = status.ready};
  kept.more.set({.report = {.message = std::move(status.message),
                            .exit_code = status.exit_code,
                            .signal = status.signal,
                            .usage = status.usage},
                 .data = std::move(status.data)});
  return kept;
}

proto::TaskStatus status_of(const KeptUpdate& update, const Task& task) {
  const TaskReport& report = update.more->report;
  return {.task = task.key().task,
          .agent = task.agent,
          .state = update.state,
          .reason = update.reason,
          .source = update.source,
          .sequence = update.sequence,
          .message = report.message,
          .data = update.more->data,
          .exit_code = report.exit_code,
          .signal = report.signal,
          .healthy = update.healthy,
          .at = update.at,
          .usage = report.usage,
          .ready = update.ready,
          .labels = task.text->labels};
}

proto::TaskRow row_of(const Task& task) {
  return {.framework = task.key().framework,
          .task = task.key().task,
          .agent = task.agent,
          .state = task.state,
          .reason = task.reason,
          .message = task.report->message,
          .command = task.text->command,
          .user = task.text->user,
          .role = task.claim().role,
          .ask = task.text->ask,
          .executor = task.text->executor,
          .labels = task.text->labels,
          .resources = task.allotment->resources,
          .ports = task.allotment->ports,
          .exit_code = task.report->exit_code,
          .signal = task.report->signal,
          .healthy = task.ended() ? std::nullopt : task.healthy,
          .ready = task.ended() ? std::nullopt : task.ready,
          .http_address = {},
          .https_address = {},
          .usage = task.report->usage,
          .waited = task.waited.spans(),
          .launched_at = task.launched_at,
          .changed_at = task.changed_at};
}

}  // namespace proffer::master
