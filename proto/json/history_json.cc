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
void fields(F& f, typename F::template Of<HistoryGap>& gap) {
  f.seconds("from_s", gap.from);
  f.seconds("until_s", gap.until);
  f.number("lost", gap.lost);
}

template <class F>
void fields(F& f, typename F::template Of<HistoryPage>& page) {
  f.rows("tasks", page.tasks);
  f.rows_if_any("roles", page.roles);
  f.rows_if_any("gaps", page.gaps);
  f.whole("damaged_bytes", page.damaged_bytes);
  f.rows_if_any("missing", page.missing);
}

std::string history_query_json(const HistoryQuery& query) {
  Json out = Json::object();
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  };
  add("framework", query.framework);
  add("role", query.role.str());
  add("user", query.user);
  add("task", query.task);
  if (query.state) out["state"] = to_text(*query.state);
  if (query.since) out["since_s"] = print_seconds(*query.since);
  if (query.roles) out["roles"] = true;
  add("master", query.master.str());
  add("before", query.before);
  out["limit"] = query.limit;
  return to_json_text(out);
}

Result<HistoryQuery> parse_history_query(std::string_view json) {
  HistoryQuery query;
  if (trimmed(json).empty()) return query;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.only({"framework", "role", "user", "task", "state", "since_s", "roles", "master", "before",
             "limit"});
    in.text("framework", query.framework);
    in.text("role", query.role);
    in.text("user", query.user);
    in.text("task", query.task);
    in.word("state", parse_task_state, query.state);
    if (in.has("since_s")) in.seconds("since_s", query.since.emplace());
    in.truth("roles", query.roles);
    in.text("master", query.master);
    in.text("before", query.before);
    auto limit = static_cast<int64_t>(query.limit);
    in.whole("limit", 1, static_cast<int64_t>(kReplyRowsMax), limit);
    query.limit = static_cast<size_t>(limit);
    if (!query.role.empty()) {
      if (Result<RoleName> role = parse_role(query.role.str()); !role) {
        in.refuse("role", role.error().message());
      }
    }
  });
  if (!parsed) return std::move(parsed).error();
  return query;
}

std::string history_page_json(const HistoryPage& page) { return print_value(page); }
Result<HistoryPage> parse_history_page(std::string_view json) {
  return parse_value<HistoryPage>(json);
}

}  // namespace proffer::proto
