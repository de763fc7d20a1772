// proffer blame framework NAME | role PATH | task FRAMEWORK/TASK: the reasons for its waits, and
// their durations. blame_lines() writes them as text.

#include "cli/blame.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/json/blame_json.h"
#include "proto/json/json.h"

namespace proffer::cli {
namespace {

constexpr std::string_view kBlameUsage =
    "proffer blame framework|role|task NAME [--since D] [--json]";

// "1.234s" with milliseconds; "210us" below one millisecond.
std::string exact(Duration duration) {
  return to_text(duration < milliseconds(1) ? microseconds(duration.micros())
                                            : milliseconds(duration.millis()));
}
// From one hour on, in hours: the sum over many tasks may exceed the range of a Duration.
std::string task_time(int64_t millis) {
  constexpr int64_t kMillisPerHour = 3'600'000;
  if (millis < kMillisPerHour) return exact(milliseconds(millis));
  return text(millis / kMillisPerHour, ".", millis % kMillisPerHour * 10 / kMillisPerHour, "h");
}
int64_t millionths(int64_t part, int64_t whole) {
  return whole == 0
             ? 0
             : static_cast<int64_t>(static_cast<double>(part) * 1e6 / static_cast<double>(whole));
}

void append(std::vector<std::string>& lines, const Table& table) {
  const std::vector<std::string> more = table.lines();
  lines.insert(lines.end(), more.begin(), more.end());
}

void add_spans(const proto::Blame& blame, std::vector<std::string>& lines) {
  if (blame.waited.empty()) return;
  const Duration whole = whole_of(blame.waited);
  Table table({"REASON", "TIME", "PART", "MEANING"});
  for (const WaitSpan& span : blame.waited) {
    table.row({std::string(to_text(span.reason)), exact(span.spent),
               percent(millionths(span.spent.nanos(), whole.nanos())),
               std::string(explained(span.reason))});
  }
  table.row({"total", exact(whole), percent(1'000'000), ""});
  append(lines, table);
}

void add_sums(const proto::Blame& blame, std::vector<std::string>& lines) {
  if (blame.sums.empty()) return;
  int64_t whole = 0;
  int64_t tasks = 0;
  for (const WaitSum& sum : blame.sums) {
    whole += std::min(sum.millis, INT64_MAX - whole);
    tasks += sum.tasks;
  }
  Table table({"REASON", "TASKS NOW", "TASK TIME", "PART", "MEANING"});
  for (const WaitSum& sum : blame.sums) {
    table.row({std::string(to_text(sum.reason)), std::to_string(sum.tasks), task_time(sum.millis),
               percent(millionths(sum.millis, whole)), std::string(explained(sum.reason))});
  }
  table.row({"total", std::to_string(tasks), task_time(whole), percent(1'000'000), ""});
  append(lines, table);
}

void add_asks(const proto::Blame& blame, std::vector<std::string>& lines) {
  if (blame.asks.empty()) return;
  Table table({"FRAMEWORK", "ASK", "ROLE", "LACKS", "REASON", "OFFERED", "LONGEST"});
  for (const proto::WaitingAsk& ask : blame.asks) {
    table.row({ask.framework.str(), ask.ask.str(), ask.role.str(), std::to_string(ask.lacking),
               ask.reason ? std::string(to_text(*ask.reason)) : "-", std::to_string(ask.offered),
               age(blame.now - ask.since)});
  }
  append(lines, table);
  const int64_t rest = blame.asks_all - static_cast<int64_t>(blame.asks.size());
  if (rest > 0) lines.push_back(text("and ", rest, " more asks"));
}

std::string subject_of(const proto::Blame& blame) {
  if (blame.state) {
    std::string said = text("task ", blame.framework.str(), "/", blame.task.str(), ", ",
                            to_text(*blame.state), ", role ", blame.role.str());
    if (!blame.ask.empty()) said += text(", ask ", quoted(blame.ask.str()));
    if (blame.asked_at) said += text(", asked at ", local_time(*blame.asked_at));
    return said;
  }
  if (!blame.task.empty()) {
    return text("task ", blame.framework.str(), "/", blame.task.str(), ", not launched");
  }
  std::string said = blame.framework.empty()
                         ? text("role ", blame.role.str(), " and the roles below it")
                         : text("framework ", blame.framework.str(), ", role ", blame.role.str());
  if (blame.since) said += text(", since ", local_time(*blame.since));
  return said;
}

Time now_here() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time::from_nanos(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// Finds a task that the master has forgotten; empty if the history does not have it.
Result<std::optional<proto::Blame>> blame_from_history(const Masters& masters,
                                                       const std::string& task) {
  const Result<HistoryRows> found = fetch_history(masters, {.task = task}, 2);
  if (!found) return found.error();
  const std::vector<proto::EndedTask>& tasks = found->page.tasks;
  if (tasks.empty()) return std::optional<proto::Blame>();
  return std::optional(blame_of(tasks.back(), now_here()));
}

Result<proto::Blame> fetch(const Masters& masters, const proto::ExplainCall& asked,
                           const std::string& since) {
  if (!since.empty()) {
    const Result<Time> from = time_ago(since);
    if (!from) return Error(from.error()).in("--since");
    const Result<RoleName> role = parse_role(asked.role);
    if (!role) return role.error();
    std::vector<proto::RoleWait> spans;
    const Result<std::vector<proto::MasterRow>> missing =
        sdk::visit_history(masters, {.role = *role, .since = *from, .waits = true},
                           [&](const proto::HistoryPage& page) {
                             spans.insert(spans.end(), page.waits.begin(), page.waits.end());
                           });
    if (!missing) return missing.error();
    for (const proto::MasterRow& one : *missing) print_line(missing_words(one), stderr);
    return blame_of(*role, spans, *from, now_here());
  }
  const Result<CallResult> answer = call(masters, "blame", proto::explain_call_json(asked));
  if (answer) return proto::parse_blame(answer->json);
  if (asked.task.empty() || answer.error().code() != ErrorCode::kNotFound) return answer.error();
  Result<std::optional<proto::Blame>> ended = blame_from_history(masters, asked.task);
  if (!ended) return std::move(ended).error();
  if (!*ended) return answer.error();
  return **std::move(ended);
}

}  // namespace

proto::Blame blame_of(const proto::EndedTask& ended, Time now) {
  proto::Blame blame{.now = now,
                     .framework = ended.framework,
                     .role = ended.role,
                     .task = ended.status.task,
                     .ask = ended.ask,
                     .state = ended.status.state,
                     .launched_at = ended.launched_at,
                     .waited = ended.waited};
  Duration before;
  for (const WaitSpan& span : ended.waited) {
    if (span.reason != WaitReason::kStart) before = before + span.spent;
  }
  if (!ended.waited.empty()) blame.asked_at = ended.launched_at - before;
  blame.answer = ended.waited.empty() ? "its master recorded no waiting time for it"
                                      : text("it waited for ", exact(whole_of(ended.waited)));
  return blame;
}

proto::Blame blame_of(const RoleName& role, const std::vector<proto::RoleWait>& spans, Time since,
                      Time now) {
  std::map<WaitReason, WaitSum> sums;
  for (const proto::RoleWait& span : spans) {
    for (const WaitSum& sum : span.waited) {
      WaitSum& all = sums[sum.reason];
      all.reason = sum.reason;
      all.millis += std::min(sum.millis, INT64_MAX - all.millis);
    }
  }
  proto::Blame blame{.now = now, .role = role};
  blame.since = since;
  const WaitSum* most = nullptr;
  for (const auto& [reason, sum] : sums) {
    if (most == nullptr || sum.millis > most->millis) most = &sum;
    blame.sums.push_back(sum);
  }
  blame.answer = most == nullptr
                     ? "no task of this role has waited"
                     : text("its tasks waited longest for this reason: ", to_text(most->reason));
  return blame;
}

std::vector<std::string> blame_lines(const proto::Blame& blame) {
  std::vector<std::string> lines = {blame.answer, subject_of(blame)};
  add_spans(blame, lines);
  add_sums(blame, lines);
  add_asks(blame, lines);
  return lines;
}

int run_blame(const Words& words) {
  std::string master_flag;
  std::string kind;
  std::string name;
  std::string since;
  bool json = false;
  Arguments arguments(std::string(kBlameUsage),
                      "show why a task, framework or role waited, and for how long");
  arguments.master(&master_flag);
  arguments.flag("--json", &json, "print one JSON object");
  arguments.option("--since", &since,
                   "for a role: read the history of this time, as in 2h or 7d (default: since the "
                   "master started)");
  arguments.required("KIND", &kind, "framework, role or task");
  arguments.optional(
      "NAME", &name,
      "framework id, name or id prefix; role path; or FRAMEWORK/TASK or a unique prefix of it");
  arguments.examples(
      {"proffer blame task web-17-3/web.1", "proffer blame role eng/ads --since 7d"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> masters = master_address(master_flag);
  if (!masters) return usage_error(masters.error(), json);
  proto::ExplainCall asked;
  if (kind == "framework") {
    asked.framework = name;
  } else if (kind == "role") {
    asked.role = name;
  } else if (kind == "task") {
    asked.task = name;
  } else {
    return usage_error(
        Error::invalid_argument(text("KIND must be framework, role or task, not ", quoted(kind)))
            .with_hint(text("usage: ", kBlameUsage)),
        json);
  }
  if (name.empty()) {
    return usage_error(no_name("blame", kind), json);
  }
  if (!since.empty() && kind != "role") {
    return usage_error(Error::invalid_argument("--since applies to roles only"), json);
  }
  const Result<proto::Blame> blame = fetch(*masters, asked, since);
  if (!blame) return print_error(blame.error(), json);
  if (json) {
    print_json(proto::blame_json(*blame));
    return 0;
  }
  for (const std::string& line : blame_lines(*blame)) print_line(line);
  return 0;
}

}  // namespace proffer::cli
