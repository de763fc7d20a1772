#include "allocator/rules/prospect.h"

#include <algorithm>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

// A task that has run for more times as long as is usual is not expected to end soon.
constexpr int64_t kLongRun = 2;

ResourceVector free_for(const AskEntry& ask, const Agent& a, const Books& books) {
  if (books.parts.empty()) {
    return ask.claims(a) ? books.free_and_kept().amounts : books.free.amounts;
  }
  ResourceVector sum;
  for (const Slice& slice : books.usable(ask.leaf->role->name)) sum += slice.resources.amounts;
  return sum;
}

}  // namespace

Outlook outlook_of(const Task& task, Time now) {
  if (task.ends_by || task.lent) return Outlook::kEnds;
  const auto ask = task.leaf->owner->asks.find(task.ask);
  const bool is_declared = ask != task.leaf->owner->asks.end();
  const Duration declared = is_declared ? ask->second->ask.duration : Duration();
  if (declared == kDurationMax) return Outlook::kNever;
  const Duration usual = declared > Duration() ? declared : task.leaf->longest_run;
  const bool is_usual = usual > Duration() && now - task.since <= usual * kLongRun;
  return is_usual ? Outlook::kEnds : Outlook::kUnknown;
}

Prospect prospect(const AskEntry& ask, const Agent& a, Time now) {
  const int64_t most = capacity(ask, a);
  // Whether devices fit, and what may be used of a reservation, only the books can say.
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
      to_come += task.resources.amounts;
      if (!by_amounts) then.end_allocated(task);
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

}  // namespace proffer::fair
