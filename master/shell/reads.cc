// Makes one page of rows of one kind. The core returns rows in the order of their keys; a page
// begins after the key `after`, and shrinks until it fits a reply.

#include "master/shell/reads.h"

#include <algorithm>

#include "common/limits.h"
#include "common/text.h"
#include "master/shell/forecaster.h"
#include "master/shell/pending.h"
#include "proto/json/blame_json.h"
#include "proto/json/conditions_json.h"
#include "proto/json/forecast_json.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"
#include "proto/json/masters_json.h"
#include "proto/json/secrets_json.h"

namespace proffer::master {
namespace {

// `rows` already begin after `after`. The page has at most `limit` rows, and as many as fit a
// reply.
template <class Row, class KeyOf, class Encode>
Page page_of(std::vector<Row> rows, size_t limit, bool more, KeyOf key_of, Encode encode) {
  if (rows.size() > limit) {
    rows.resize(limit);
    more = true;
  }
  while (true) {
    Page page{.json = encode(rows)};
    if (page.json.size() <= kJsonBytesMax || rows.size() <= 1) {
      if (more && !rows.empty()) page.next = key_of(rows.back());
      return page;
    }
    rows.resize(rows.size() / 2);
    more = true;
  }
}

// The rows that begin with the prefix and come after `after`, in the order of their keys.
template <class Row, class KeyOf, class Encode>
Result<Page> page_after(std::vector<Row> rows, std::string_view arguments, KeyOf key_of,
                        Encode encode) {
  const Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return query.error();
  if (!query->after.empty() || !query->prefix.empty()) {
    std::erase_if(rows, [&](const Row& row) {
      const std::string key = key_of(row);
      return (!query->after.empty() && key <= query->after) || !key.starts_with(query->prefix);
    });
  }
  return page_of(std::move(rows), query->limit, false, key_of, encode);
}

// Lags grow all the time. Lists show them in steps, so that the ETag of a list does not change with
// each look.
constexpr Duration kLagStep = seconds(10);

void round_down(Duration& lag) { lag = kLagStep * (lag.nanos() / kLagStep.nanos()); }

}  // namespace

Result<Page> read_status(const ReadContext& from, std::string_view arguments) {
  // Older clients send the arguments of lists.
  const Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return query.error();
  proto::MasterStatus status = from.core.status();
  if (from.add_events_behind) from.add_events_behind(status.masters);
  status.history = from.history;
  return Page{.json = proto::status_with_conditions(proto::status_json(status), from.conditions())};
}

Result<Page> read_agents(const ReadContext& from, std::string_view arguments) {
  return page_after(
      from.core.agents(), arguments, [](const proto::AgentRow& row) { return row.agent.str(); },
      proto::agents_json);
}

Result<Page> read_frameworks(const ReadContext& from, std::string_view arguments) {
  std::vector<proto::FrameworkRow> rows = from.core.frameworks();
  for (proto::FrameworkRow& row : rows) {
    round_down(row.lag);
    round_down(row.lag_most);
    for (proto::AskRow& ask : row.asks) round_down(ask.lag);
  }
  return page_after(
      std::move(rows), arguments,
      [](const proto::FrameworkRow& row) { return row.framework.str(); }, proto::frameworks_json);
}

Result<Page> read_roles(const ReadContext& from, std::string_view arguments) {
  std::vector<proto::RoleRow> rows = from.core.roles();
  for (proto::RoleRow& row : rows) {
    round_down(row.lag);
    round_down(row.lag_most);
  }
  return page_after(
      std::move(rows), arguments, [](const proto::RoleRow& row) { return row.role.str(); },
      proto::roles_json);
}

Result<Page> read_tasks(const ReadContext& from, std::string_view arguments) {
  const Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return query.error();
  std::vector<proto::TaskRow> rows = from.core.tasks(*query, from.by);
  const bool more = rows.size() == query->limit;
  return page_of(
      std::move(rows), query->limit, more,
      [](const proto::TaskRow& row) { return row.framework.str() + "/" + row.task.str(); },
      proto::tasks_json);
}

Result<Page> read_pending(const ReadContext& from, std::string_view arguments) {
  const Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return query.error();
  proto::PendingPage page{.now = from.now};
  if (from.forecaster != nullptr) page.calibration = from.forecaster->calibration();
  return page_of(pending_rows(from, query->prefix, query->after, query->limit), query->limit, false,
                 pending_key, [&](const std::vector<proto::PendingRow>& rows) {
                   page.asks = rows;
                   return proto::pending_json(page);
                 });
}

Result<Page> read_offers(const ReadContext& from, std::string_view arguments) {
  return page_after(
      from.core.offers(), arguments,
      [](const proto::OfferRow& row) {
        const std::string digits = std::to_string(row.offer.value());
        return std::string(20 - std::min<size_t>(20, digits.size()), '0') + digits;
      },
      proto::offers_json);
}

Result<Page> read_explain(const ReadContext& from, std::string_view arguments) {
  const Result<proto::ExplainCall> call = proto::parse_explain_call(arguments);
  if (!call) return call.error();
  if (!call->role.empty()) {
    const Result<proto::ExplainedRole> role = from.core.explain_role(call->role);
    if (!role) return role.error();
    return Page{.json = proto::explained_role_json(*role)};
  }
  if (!call->task.empty()) {
    const Result<proto::ExplainedTask> task = from.core.explain_task(call->task, from.by);
    if (!task) return task.error();
    return Page{.json = proto::explained_task_json(*task)};
  }
  const Result<proto::Explanation> framework = from.core.explain(call->framework, from.by);
  if (!framework) return framework.error();
  return Page{.json = proto::explanation_with_pending(
                  proto::explanation_json(*framework),
                  pending_rows(from, framework->fair.framework.str() + "/", {}, kAsksMax))};
}

Result<Page> read_blame(const ReadContext& from, std::string_view arguments) {
  const Result<proto::ExplainCall> call = proto::parse_explain_call(arguments);
  if (!call) return call.error();
  Result<proto::Blame> blame = !call->role.empty()   ? from.core.blame_role(call->role)
                               : !call->task.empty() ? from.core.blame_task(call->task, from.by)
                                                     : from.core.blame_framework(call->framework);
  if (!blame) return std::move(blame).error();
  // As many asks as fit a reply; `asks_all` is the number of all asks.
  while (true) {
    Page page{.json = proto::blame_json(*blame)};
    if (page.json.size() <= kJsonBytesMax || blame->asks.empty()) return page;
    blame->asks.resize(blame->asks.size() / 2);
  }
}

Result<Page> read_keys(const ReadContext& from, std::string_view arguments) {
  return page_after(
      from.core.keys(from.by), arguments, [](const KnownKey& row) { return row.key.str(); },
      proto::keys_json);
}

Result<Page> read_masters(const ReadContext& from, std::string_view arguments) {
  const Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return query.error();
  std::vector<proto::MasterRow> masters = from.core.masters();
  if (from.add_events_behind) from.add_events_behind(masters);
  return Page{.json = proto::masters_json(masters)};
}

Result<Page> read_secrets(const ReadContext& from, std::string_view arguments) {
  return page_after(
      from.core.secrets(from.by), arguments,
      [](const proto::SecretRow& row) { return text(row.owner, "/", row.name); },
      proto::secrets_json);
}

}  // namespace proffer::master
