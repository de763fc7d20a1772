#include "cli/master_client.h"

#include <optional>

#include "common/text.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"

namespace proffer::cli {
namespace {

std::string name_of(const proto::TaskRow& row) {
  return row.framework.str() + "/" + row.task.str();
}

}  // namespace

Error no_name(std::string_view command, std::string_view kind) {
  const std::string_view form = kind == "task"   ? "FRAMEWORK/TASK"
                                : kind == "role" ? "PATH"
                                                 : "NAME";
  const std::string_view all = kind == "task"
                                   ? "proffer tasks, or waiting ones with proffer tasks --pending"
                               : kind == "role" ? "proffer role list"
                                                : "proffer frameworks";
  return Error::invalid_argument(text(command, " ", kind, " needs ", form))
      .with_hint(text("proffer ", command, " ", kind, " ", form, "\nlist them with: ", all));
}

Result<Masters> master_address(const std::string& flag) { return sdk::masters_at(flag); }

Result<CallResult> call(const Masters& master, std::string_view method, std::string_view arguments,
                        Duration timeout) {
  return sdk::call_master(master, method, arguments, timeout);
}

Result<CallResult> call(const Masters& master, const std::optional<ClientKeys>& keys,
                        std::string_view method, std::string_view arguments, Duration timeout) {
  return sdk::call_master(master, keys, method, arguments, timeout);
}

bool is_known(const Masters& master, const ClientKeys& keys, Duration timeout) {
  // An agent's key may not call it.
  const Result<CallResult> answer = call(master, keys, "status", "", timeout);
  return answer || answer.error().code() == ErrorCode::kPermissionDenied;
}

template <class Row>
Result<std::vector<Row>> call_list(const Masters& master, std::string_view method,
                                   proto::TaskQuery query,
                                   Result<std::vector<Row>> (*parse)(std::string_view)) {
  std::vector<Row> rows;
  while (true) {
    Result<CallResult> page = call(master, method, proto::task_query_json(query));
    if (!page) return std::move(page).error();
    Result<std::vector<Row>> parsed = parse(page->json);
    if (!parsed) return std::move(parsed).error().in("the master's answer");
    rows.insert(rows.end(), parsed->begin(), parsed->end());
    if (page->next.empty() || parsed->empty()) return rows;
    query.after = page->next;
  }
}

template Result<std::vector<proto::AgentRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::AgentRow>> (*)(std::string_view));
template Result<std::vector<proto::FrameworkRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::FrameworkRow>> (*)(std::string_view));
template Result<std::vector<proto::RoleRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::RoleRow>> (*)(std::string_view));
template Result<std::vector<proto::OfferRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::OfferRow>> (*)(std::string_view));
template Result<std::vector<KnownKey>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<KnownKey>> (*)(std::string_view));
template Result<std::vector<proto::SecretRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::SecretRow>> (*)(std::string_view));
template Result<std::vector<proto::TaskRow>> call_list(
    const Masters&, std::string_view, proto::TaskQuery,
    Result<std::vector<proto::TaskRow>> (*)(std::string_view));

Result<proto::TaskRow> find_task(const Masters& master, const std::string& word) {
  proto::TaskQuery query{.prefix = word, .ended = true, .limit = 2 * kNamesListedMax};
  Result<CallResult> page = call(master, "tasks", proto::task_query_json(query));
  if (!page) return std::move(page).error();
  Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(page->json);
  if (!rows) return std::move(rows).error().in("the master's answer");
  if (rows->empty()) {
    return Error::not_found(text("no task begins with ", quoted(word)))
        .with_hint("list tasks as FRAMEWORK/TASK with: proffer tasks --all");
  }
  if (rows->size() == 1) return std::move(rows->front());
  for (proto::TaskRow& row : *rows) {
    if (name_of(row) == word || row.task.str() == word) return std::move(row);
  }
  std::vector<std::string> names;
  for (const proto::TaskRow& row : *rows) names.push_back(name_of(row));
  return Error::invalid_argument(
             text("several tasks begin with ", quoted(word), ": ", listed(names)))
      .with_hint("give a longer prefix");
}

}  // namespace proffer::cli
