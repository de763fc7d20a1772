// Entries of the history in JSON.

#include "proto/json/history_json.h"

#include "common/roles.h"
#include "common/text.h"
#include "proto/json/json_text.h"
#include "proto/json/json_values.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<EndedTask>& ended) {
  f.text("framework", ended.framework);
  f.text_if_any("name", ended.framework_name);
  f.text("task", ended.status.task);
  f.text_if_any("role", ended.role);
  f.text_if_any("user", ended.user);
  f.text_if_any("agent", ended.status.agent);
  f.text_if_any("ask", ended.ask);
  f.text_if_any("command", ended.command);
  f.value("amounts", ended.amounts);
  f.word("state", parse_task_state, ended.status.state);
  f.word("reason", parse_task_reason, ended.status.reason);
  f.text_if_any("message", ended.status.message);
  f.whole("exit_code", ended.status.exit_code);
  f.whole("signal", ended.status.signal);
  f.value("usage", ended.status.usage);
  f.rows_if_any("waited", ended.waited);
  f.seconds("launched_at_s", ended.launched_at);
  f.seconds("ended_at_s", ended.status.at);
}

template <class F>
void fields(F& f, typename F::template Of<RoleUse>& use) {
  f.text("role", use.role);
  f.seconds("from_s", use.from);
  f.seconds("until_s", use.until);
  f.value("seconds", use.seconds);
}

template <class F>
void fields(F& f, typename F::template Of<RoleWait>& wait) {
  f.text("role", wait.role);
  f.seconds("from_s", wait.from);
  f.seconds("until_s", wait.until);
  f.rows("waited", wait.waited);
}

template <class F>
void fields(F& f, typename F::template Of<HistoryGap>& gap) {
  f.seconds("from_s", gap.from);
  f.seconds("until_s", gap.until);
  f.number("lost", gap.lost);
}

template <class F>
void fields(F& f, typename F::template Of<HistoryPage>& page) {
  f.rows("tasks", page.tasks);
  f.rows_if_any("roles", page.roles);
  f.rows_if_any("waits", page.waits);
  f.rows_if_any("gaps", page.gaps);
  f.whole("damaged_bytes", page.damaged_bytes);
  f.rows_if_any("missing", page.missing);
}

template <class F>
void fields(F& f, typename F::template Of<HistoryQuery>& query) {
  f.about("only tasks of this framework, by its id or name");
  f.text_if_any("framework", query.framework);
  f.about("only this role and roles below it");
  f.text_if_any("role", query.role);
  f.about("only tasks of this user");
  f.text_if_any("user", query.user);
  f.about("only tasks whose FRAMEWORK/TASK or id has this prefix");
  f.text_if_any("task", query.task);
  f.about("only finished, failed, killed, lost, gone or refused");
  f.word("state", parse_task_state, query.state);
  f.about("only entries after this time, in seconds since 1970");
  f.seconds("since_s", query.since);
  f.about("show the use of roles instead of tasks");
  f.truth("roles", query.roles);
  f.about("show how long the tasks of roles waited, by reason, instead of tasks");
  f.truth("waits", query.waits);
  f.about("read the history of the master with this id; default: the leader");
  f.text_if_any("master", query.master);
  f.about("`next` of the previous page");
  f.text_if_any("before", query.before);
  f.about("maximum rows");
  auto limit = static_cast<int64_t>(query.limit);
  f.whole("limit", 1, static_cast<int64_t>(kReplyRowsMax), limit);
  if constexpr (F::kReads) {
    query.limit = static_cast<size_t>(limit);
    if (query.role.empty()) return;
    if (Result<RoleName> role = parse_role(query.role.str()); !role) {
      f.refuse("role", role.error().message());
    }
  }
}

JsonShape history_query_shape() { return shape_of<HistoryQuery>(); }
std::string history_query_json(const HistoryQuery& query) { return print_value(query); }
Result<HistoryQuery> parse_history_query(std::string_view json) {
  return parse_arguments<HistoryQuery>(json);
}

JsonShape history_page_shape() { return shape_of<HistoryPage>(); }
std::string history_page_json(const HistoryPage& page) { return print_value(page); }
Result<HistoryPage> parse_history_page(std::string_view json) {
  return parse_value<HistoryPage>(json);
}

}  // namespace proffer::proto
