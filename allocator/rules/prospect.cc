#include "allocator/rules/prospect.h"

#include <algorithm>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

// A task that has run for more than this multiple of the usual time is not expected to end soon.
constexpr int64_t kLongRun = 2;

ResourceVector free_for(const AskEntry& ask, const Agent& a, const Books& books) {
  if (books.parts.empty()) {
    const ResourceVector free = ask.claims(a) ? books.free_and_kept().amounts : books.free.amounts;
    if (a.withheld.empty()) return free;
    return (free - withheld_from(ask, a.withheld)).max(ResourceVector());
  }
  ResourceVector sum;
  for (const Slice& slice : books.usable(ask.leaf->role->name)) sum += slice.resources.amounts;
  return sum;
}

// The duration that the ask declared when the task began, or declares now; zero: neither.
Duration expected_of(const Task& task) {
  if (task.expected() > Duration()) return task.expected();
  const auto ask = task.leaf->owner->asks.find(task.ask());
  return ask == task.leaf->owner->asks.end() ? Duration() : ask->second->ask.duration;
}

}  // namespace

Outlook outlook_of(const Task& task, Time now) {
  if (task.ends_by() || task.is_lent()) return Outlook::kEnds;
  const auto ask = task.leaf->owner->asks.find(task.ask());
  const bool is_declared = ask != task.leaf->owner->asks.end();
  const Duration declared = is_declared ? ask->second->ask.duration : Duration();
  if (task.claim().max_run_time > Duration()) return Outlook::kEnds;
  if (declared == kDurationMax) return Outlook::kNever;
  const Duration usual = declared > Duration() ? declared : task.leaf->longest_run;
  const bool is_usual = usual > Duration() && now - task.since <= usual * kLongRun;
  return is_usual ? Outlook::kEnds : Outlook::kUnknown;
}

Prospect prospect(const AskEntry& ask, const Agent& a, Time now) {
  const int64_t most = capacity(ask, a);
  // Only the books know whether devices fit, and which reserved resources are usable.
  const bool by_amounts = a.parts.empty() && ask.ask.shape[ResourceKind::kGpus] == 0;
  Prospect found{.free = free_for(ask, a, a)};
  ResourceVector to_come = found.free + a.counted_offered();
  Books then;
  if (!by_amounts) {
    then = a;
    then.offered = {};
    for (Part& part : then.parts) part.offered = {};
    if (ask.claims(a)) then.keep = {};
  }
  const auto end_all = [&](Outlook outlook) {
    for (const auto& [ref, task] : a.tasks) {
      if (outlook_of(task, now) != outlook) continue;
      to_come += task.amounts();
      if (!by_amounts) then.end_allocated(task.booked());
    }
  };
  const auto room = [&] {
    if (by_amounts) return count_that_fits(ask.ask.shape, {.amounts = to_come}, most);
    then.compute_free();
    return count_that_fits(ask.ask.shape, then, ask.leaf->role->name, most);
  };
  end_all(Outlook::kEnds);
  found.to_be_freed = to_come - found.free;
  found.expected = room();
  if (found.expected < most) {
    end_all(Outlook::kUnknown);
    found.possible = room();
  } else {
    found.possible = most;
  }
  return found;
}

std::optional<Time> may_end_at(const Task& task, Time now) {
  const Duration limit = task.claim().max_run_time;
  const Duration expected = expected_of(task);
  if (limit == Duration() && expected == kDurationMax) return std::nullopt;
  const bool is_limit_all = expected == Duration() || expected == kDurationMax;
  const Duration lasts = is_limit_all          ? limit
                         : limit == Duration() ? expected
                                               : std::min(limit, expected);
  return std::max(now, later(task.since, lasts));
}

std::optional<Time> usually_ends_at(const Task& task, Time now) {
  const Duration limit = task.claim().max_run_time;
  const Duration expected = expected_of(task);
  const Duration usual = expected > Duration() ? expected : task.leaf->longest_run;
  if (limit == Duration() && (usual == Duration() || usual == kDurationMax)) return std::nullopt;
  const bool is_limited = limit > Duration() && (usual == Duration() || limit < usual);
  const Time at = later(task.since, is_limited ? limit : usual);
  return at < now ? std::nullopt : std::optional(at);
}

Duration expected_run(const AskEntry& ask) {
  const Duration limit = ask.ask.max_run_time > Duration() ? ask.ask.max_run_time : kDurationMax;
  if (ask.ask.duration > Duration()) return std::min(ask.ask.duration, limit);
  if (ask.leaf->longest_run == Duration()) return limit;
  return std::min(std::max(ask.leaf->longest_run, ask.leaf->longest_cut), limit);
}

Duration expected_run(const Task& task, Time now) {
  const Duration limit = task.claim().max_run_time;
  const Duration bound = limit > Duration() ? limit : kDurationMax;
  const Duration expected = expected_of(task);
  if (expected > Duration()) return std::min(expected, bound);
  const Duration longest = task.leaf->longest_run;
  const bool is_known = longest > Duration() && now - task.since <= longest;
  return is_known ? std::min(longest, bound) : bound;
}

std::optional<Time> would_fit_at(const AskEntry& ask, const Agent& a, int64_t tasks, Time now) {
  Books then = a;
  then.keep = {};
  then.offered = {};
  for (Part& part : then.parts) part.offered = {};
  std::vector<std::pair<Time, const Task*>> ends;
  for (const auto& [ref, task] : a.tasks) {
    const std::optional<Time> at = task.is_lent() || task.ends_by() ? now : may_end_at(task, now);
    if (at) ends.emplace_back(*at, &task);
  }
  // Tasks that end at one instant may come in any order.
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  Time at = now;
  for (size_t next = 0;; at = ends[next].first) {
    for (; next < ends.size() && ends[next].first <= at; ++next) {
      then.end_allocated(ends[next].second->booked());
    }
    then.compute_free();
    if (count_that_fits(ask.ask.shape, then, ask.leaf->role->name, tasks) == tasks) return at;
    if (next == ends.size()) return std::nullopt;
  }
}

}  // namespace proffer::fair
