// proffer events: lists and follows the event log.

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/master_client.h"
#include "cli/output.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/events_json.h"
#include "sdk/shell/history.h"

namespace proffer::cli {
namespace {

using sdk::local_time;

constexpr Duration kWait = seconds(25);  // timeout of one long poll
// A killed master restarts, or another one is elected, within this time.
constexpr Duration kMasterIsBack = minutes(2);
constexpr Duration kAskAgain = milliseconds(500);

// Puts the fields that most events have first.
std::vector<std::pair<std::string, std::string>> in_order(const proto::EventRow& row) {
  constexpr std::string_view kFirst[] = {"framework", "task",   "offer", "agent",
                                         "state",     "reason", "user",  "role"};
  std::vector<std::pair<std::string, std::string>> fields = row.fields;
  std::stable_sort(fields.begin(), fields.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](std::string_view key) {
      return std::find(std::begin(kFirst), std::end(kFirst), key) - std::begin(kFirst);
    };
    return rank(a.first) < rank(b.first);
  });
  return fields;
}

// "2026-11-27 04:10:07  task launched  framework=web-1-1 task=web.1 agent=a1 user=ada role=eng"
std::string line_of(const proto::EventRow& row) {
  std::string line = text(local_time(row.at), "  ", printable(row.event));
  if (row.level == "warning" || row.level == "error") line += text(" (", row.level, ")");
  std::string_view space = "  ";
  for (const auto& [key, value] : in_order(row)) {
    if (value.empty()) continue;
    const bool is_word = is_printable(value) && value.find_first_of(" \"'") == std::string::npos;
    line += text(std::exchange(space, " "), printable(key), "=", is_word ? value : quoted(value));
  }
  return line;
}

std::string gap_line(const proto::EventRow& row) {
  std::string until;
  std::string lost;
  for (const auto& [key, value] : row.fields) {
    if (key == "until") until = value;
    if (key == "lost") lost = value;
  }
  return text(local_time(row.at),
              "  gap: ", lost.empty() ? "events may be missing" : text(lost, " events are missing"),
              " from ", to_text(row.seq), " to before ", printable(until));
}

void print_events(const proto::EventPage& page, std::string_view json_page, bool json) {
  if (json) {
    // One event per line, in the master's own JSON.
    for (const std::string& line : proto::lines_of_event_page(json_page)) print_json(line);
    return;
  }
  for (const proto::EventRow& row : page.events) {
    print_line(row.event == "gap" ? gap_line(row) : line_of(row));
  }
}

Result<proto::EventPage> ask(const Masters& master, const proto::EventQuery& query, bool json) {
  const Result<CallResult> answer =
      call(master, "events", proto::event_query_json(query), seconds(10) + query.wait);
  if (!answer) return answer.error();
  Result<proto::EventPage> page = proto::parse_event_page(answer->json);
  if (page) print_events(*page, answer->json, json);
  return page;
}

// Repeats the question while the master is away.
Result<proto::EventPage> ask_until_it_is_back(const Masters& master, const proto::EventQuery& query,
                                              bool json) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point until = Clock::now() + std::chrono::nanoseconds(kMasterIsBack.nanos());
  while (true) {
    Result<proto::EventPage> page = ask(master, query, json);
    const bool is_for_now = !page && (page.error().code() == ErrorCode::kUnavailable ||
                                      page.error().code() == ErrorCode::kResourceExhausted);
    if (!is_for_now || Clock::now() > until) return page;
    std::this_thread::sleep_for(std::chrono::nanoseconds(kAskAgain.nanos()));
  }
}

}  // namespace

int run_events(const Words& words) {
  std::string master_flag;
  proto::EventQuery query;
  std::string from;
  int64_t last = 100;
  bool follow = false;
  bool json = false;
  Arguments arguments(
      "proffer events [-f] [--framework F] [--role R] [--task F/T] [--agent A] [--last N | --from "
      "SEQ] [--json]",
      "list or follow what happens in the cluster: tasks, offers, agents, frameworks, roles, "
      "operators' actions");
  arguments.master(&master_flag);
  arguments.flag("-f,--follow", &follow, "follow new events");
  arguments.option("--framework", &query.framework,
                   "only this framework, by id, or all of this name");
  arguments.option("--role", &query.role, "only this role and the roles below it");
  arguments.option("--task", &query.task, "only this task: FRAMEWORK/TASK");
  arguments.option("--agent", &query.agent, "only this agent");
  arguments.option("--last", &last, "start with the newest N events, 0 to 1000 (default 100)");
  arguments.option("--from", &from, "start at this position, as in \"seq\" of --json");
  arguments.flag("--json", &json, "print one JSON object per line");
  arguments.note(
      "-f continues while the master is away or replaced; an event marks a gap where events were "
      "lost. Ctrl-C ends it.");
  arguments.examples(
      {"proffer events -f --role eng", "proffer events --task web-17-3/web.1 --last 20"});
  if (const auto status = arguments.parse(words)) return *status;
  const Result<Masters> master = master_address(master_flag);
  if (!master) return usage_error(master.error(), json);
  if (last < 0 || last > static_cast<int64_t>(kReplyRowsMax)) {
    return usage_error(
        Error::invalid_argument(text("--last must be from 0 to ", kReplyRowsMax, ", not ", last)),
        json);
  }
  if (!from.empty()) {
    const Result<proto::EventPlace> place = proto::parse_event_place(from);
    if (!place) return usage_error(Error(place.error()).in("--from"), json);
    query.from = *place;
  } else {
    query.last = static_cast<size_t>(last);
  }
  // The answer to an empty query is only the position of the next event.
  if (!query.from && query.last == 0 && !follow) return 0;
  if (!query.from && query.last == 0) query.wait = kWait;
  Result<proto::EventPage> page = ask(*master, query, json);
  if (!page) return print_error(page.error(), json);
  while (true) {
    const bool is_more = query.from != page->next || !page->events.empty();
    if (!follow && (!is_more || !query.from)) return 0;
    const proto::EventPlace asked_from = page->next;
    query.from = asked_from;
    query.last = 0;
    query.wait = follow ? kWait : Duration();
    const auto begun = std::chrono::steady_clock::now();
    page = ask_until_it_is_back(*master, query, json);
    if (!page) return print_error(page.error(), json);
    // The master did not wait although there are no more events: its disk may be full.
    const bool was_at_once = std::chrono::steady_clock::now() - begun < std::chrono::seconds(1);
    if (follow && page->next == asked_from && was_at_once) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(kAskAgain.nanos()));
    }
  }
}

}  // namespace proffer::cli
