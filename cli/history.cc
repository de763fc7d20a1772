// proffer history: ended tasks, and the hourly use of roles.

#include "cli/history.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/json/history_json.h"
#include "proto/json/masters_json.h"

namespace proffer::cli {
namespace {

constexpr int64_t kNanosPerHour = hours(1).nanos();
constexpr int64_t kRowsMax = 1'000'000;  // of one answer, which is held in memory

std::string outcome_of(const proto::TaskStatus& status) {
  if (status.exit_code) return text("exit ", *status.exit_code);
  if (status.signal) return text("signal ", *status.signal);
  if (status.reason == proto::TaskReason::kNone) return "-";
  return std::string(to_text(status.reason));
}

std::string dash_if_empty(const std::string& words) { return words.empty() ? "-" : words; }

std::string gap_words(const proto::HistoryGap& gap) {
  return text("gap of ", age(gap.until - gap.from), ": ",
              gap.lost > 0 ? text(gap.lost, " entries are lost") : "the last entries may be lost");
}

// Converts milli-units times seconds to units times hours, with up to three decimals.
std::string hours_text(int64_t milli_seconds) { return print_milli(milli_seconds / 3600); }

}  // namespace

std::string bytes_text(const std::optional<int64_t>& bytes) {
  if (!bytes) return "-";
  // In thousandths of a MiB, so that sizes above one MiB get one decimal.
  const int64_t milli = *bytes / 1024 * 1000 / 1024;
  return mebibytes(milli < 1000 ? milli : milli / 100 * 100);
}

std::string nanos_text(const std::optional<int64_t>& nanos) {
  if (!nanos) return "-";
  return text(print_milli(*nanos / 1'000'000), " s");
}

Result<Time> time_ago(std::string_view text) {
  const Result<Duration> span = parse_duration(text);
  if (!span) return span.error();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return Time::from_nanos(std::max<int64_t>(0, nanos - span->nanos()));
}

std::string missing_words(const proto::MasterRow& master) {
  return text("the master ", master.name, " led ",
              master.led_since ? text("from ", local_time(*master.led_since), " ") : "",
              master.led_until ? text("to ", local_time(*master.led_until), " ") : "",
              master.role == proto::MasterRole::kAway ? "and is away"
              : master.keeps_history                  ? "and does not answer"
                                                      : "and keeps no history",
              ": its part of the history is missing");
}

std::vector<RoleHour> by_hour(const std::vector<proto::RoleUse>& uses) {
  std::map<std::pair<Time, RoleName>, ResourceVector> sums;
  for (const proto::RoleUse& use : uses) {
    // A use span is at most a minute, and ends with its hour at the latest.
    const int64_t hour = use.from.nanos() / kNanosPerHour * kNanosPerHour;
    sums[{Time::from_nanos(hour), use.role}] += use.seconds;
  }
  std::vector<RoleHour> hours;
  for (const auto& [key, seconds] : sums) hours.push_back({key.first, key.second, seconds});
  return hours;
}

Table history_table(const proto::HistoryPage& page) {
  Table table({"ENDED", "TASK", "STATE", "OUTCOME", "ROLE", "USER", "ASKED", "RAN", "CPU", "PEAK",
               "COMMAND"});
  auto gap = page.gaps.begin();
  const auto tell_gaps = [&](Time until) {
    for (; gap != page.gaps.end() && gap->until <= until; ++gap) {
      table.row({local_time(gap->until), gap_words(*gap), "", "", "", "", "", "", "", "", ""});
    }
  };
  for (const proto::EndedTask& ended : page.tasks) {
    const proto::TaskStatus& status = ended.status;
    tell_gaps(status.at);
    const proto::TaskUsage usage = status.usage.value_or(proto::TaskUsage());
    table.row({local_time(status.at), ended.framework.str() + "/" + status.task.str(),
               std::string(to_text(status.state)), outcome_of(status),
               dash_if_empty(ended.role.str()), dash_if_empty(ended.user),
               dash_if_empty(to_text(ended.amounts)),
               age(std::max(Duration(), status.at - ended.launched_at)),
               nanos_text(usage.cpu_nanos), bytes_text(usage.memory_peak_bytes),
               dash_if_empty(ended.command.size() <= 40 ? ended.command
                                                        : ended.command.substr(0, 40) + "…")});
  }
  tell_gaps(Time::far_future());
  return table;
}

Table role_hours_table(const std::vector<RoleHour>& hours) {
  Table table({"HOUR", "ROLE", "CPU HOURS", "MEM GiB HOURS", "GPU HOURS"});
  for (const RoleHour& hour : hours) {
    table.row({local_time(hour.hour), hour.role.str(),
               hours_text(hour.seconds[ResourceKind::kCpus]),
               hours_text(hour.seconds[ResourceKind::kMem] / 1024),
               hours_text(hour.seconds[ResourceKind::kGpus])});
  }
  return table;
}

int run_history(const Words& words) {
  std::string master_flag;
  proto::HistoryQuery query;
  std::string role;
  std::string state;
  std::string since;
  int64_t limit = 100;
  bool json = false;
  Arguments arguments(
      "proffer history [PREFIX] [--framework F] [--role R] [--user U] [--state S] [--since D] "
      "[--roles] [--json]",
      "list ended tasks under all masters of the cluster, the newest last");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.option("--framework", &query.framework,
                   "only this framework, by id, or all of this name");
  arguments.option("--role", &role, "only this role and the roles below it");
  arguments.option("--user", &query.user, "only this user");
  arguments.option("--state", &state,
                   "only this state: finished, failed, killed, lost, gone or refused");
  arguments.option("--since", &since, "only tasks that ended within this time, as in 2h or 7d");
  arguments.flag("--roles", &query.roles, "show the hourly use of roles instead of tasks");
  arguments.option("--limit", &limit, "show at most this many of the newest (default 100)");
  arguments.option("PREFIX", &query.task,
                   "only tasks whose FRAMEWORK/TASK or task id begins with this");
  arguments.examples(
      {"proffer history --state failed --since 2h", "proffer history --roles --since 7d"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (!role.empty()) {
    Result<RoleName> parsed = parse_role(role);
    if (!parsed) return usage_error(std::move(parsed).error().in("--role"), json);
    query.role = *std::move(parsed);
  }
  if (!state.empty()) {
    query.state = proto::parse_task_state(state);
    if (!query.state || !proto::is_terminal(*query.state)) {
      return usage_error(
          Error::invalid_argument(text("--state must be finished, failed, killed, lost, gone or "
                                       "refused, not ",
                                       quoted(state))),
          json);
    }
  }
  if (!since.empty()) {
    const Result<Time> from = time_ago(since);
    if (!from) return usage_error(Error(from.error()).in("--since"), json);
    query.since = *from;
  }
  if (limit < 1 || limit > kRowsMax) {
    return usage_error(
        Error::invalid_argument(text("--limit must be from 1 to ", kRowsMax, ", not ", limit)),
        json);
  }
  // Each role has many entries per hour.
  const int64_t rows = query.roles ? kRowsMax : limit;
  const Result<HistoryRows> found = fetch_history(*master, query, static_cast<size_t>(rows));
  if (!found) return print_error(found.error(), json);
  if (json) {
    print_json(proto::history_page_json(found->page));
    return 0;
  }
  if (query.roles) {
    std::vector<RoleHour> hours = by_hour(found->page.roles);
    const size_t shown = std::min(hours.size(), static_cast<size_t>(limit));
    hours.erase(hours.begin(), hours.end() - static_cast<std::ptrdiff_t>(shown));
    role_hours_table(hours).print();
  } else {
    history_table(found->page).print();
    if (found->more) print_line(text("for older ones, set --limit above ", limit));
  }
  for (const proto::MasterRow& one : found->page.missing) print_line(missing_words(one));
  if (found->page.damaged_bytes > 0) {
    print_line(text("skipped damaged history: ", found->page.damaged_bytes, " bytes"));
  }
  return 0;
}

}  // namespace proffer::cli
