// proffer batch history.

#include "sdk/shell/history.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "common/text.h"
#include "frameworks/batch/core/jobs.h"
#include "frameworks/batch/shell/calls.h"

namespace proffer::batch {
namespace {

// Seconds with one decimal.
std::string tenths(Duration duration) {
  return text(duration.millis() / 1'000, ".", duration.millis() % 1'000 / 100);
}

std::string cpu_text(const proto::BatchJob& job) {
  if (!job.map.cpu && !job.reduce.cpu) return "-";
  return tenths(job.map.cpu.value_or(Duration()) + job.reduce.cpu.value_or(Duration()));
}

}  // namespace

int history(int64_t limit, const CommandOptions& options) {
  if (limit < 1) {
    return print_error(Error::invalid_argument(text("--limit must be at least 1, not ", limit)),
                       options.json);
  }
  Result<std::vector<proto::BatchJob>> jobs = ask_for_list(options, true);
  if (!jobs) return print_answer(jobs.error(), options.json);
  std::erase_if(*jobs, [](const proto::BatchJob& job) { return !proto::has_ended(job.phase); });
  std::stable_sort(
      jobs->begin(), jobs->end(),
      [](const proto::BatchJob& a, const proto::BatchJob& b) { return a.ended_at > b.ended_at; });
  const size_t all = jobs->size();
  jobs->resize(std::min(all, static_cast<size_t>(limit)));
  if (options.json) {
    print_json(proto::batch_page_json({.jobs = *std::move(jobs)}));
    return 0;
  }
  constexpr const char* kRow = "{:<20} {:<12} {:<20} {:<10} {:<19} {:<19} {:>9} {:>9}";
  print_line(
      fmt::format(kRow, "JOB", "OWNER", "ROLE", "PHASE", "SUBMITTED", "ENDED", "TOOK_S", "CPU_S"));
  for (const proto::BatchJob& job : *jobs) {
    print_line(fmt::format(kRow, job.job, job.owner, job.role.str(), to_text(job.phase),
                           sdk::local_time(job.submitted_at), sdk::local_time(job.ended_at),
                           tenths(job.ended_at - job.submitted_at), cpu_text(job)));
  }
  if (all > jobs->size()) {
    print_note_text(text(all - jobs->size(), " more; raise --limit to see them"));
  }
  return 0;
}

}  // namespace proffer::batch
