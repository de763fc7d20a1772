// One page of one kind of row. The core gives rows in order of their key; a page begins behind the
// key `after`, and shrinks until it fits the bound of a reply.

#include "master/shell/api.h"

#include <algorithm>

#include "common/limits.h"
#include "common/text.h"
#include "proto/json/json.h"
#include "proto/json/keys_json.h"
#include "proto/json/masters_json.h"
#include "proto/json/secrets_json.h"

namespace proffer::master {
namespace {

// `rows` begin behind `after` already; at most `limit` and as many as fit a reply.
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

// The rows behind the key `after`, of rows in order of their key.
template <class Row, class KeyOf, class Encode>
Page page_after(std::vector<Row> rows, const proto::TaskQuery& query, KeyOf key_of, Encode encode) {
  if (!query.after.empty()) {
    const auto first = std::find_if(rows.begin(), rows.end(),
                                    [&](const Row& row) { return key_of(row) > query.after; });
    rows.erase(rows.begin(), first);
  }
  return page_of(std::move(rows), query.limit, false, key_of, encode);
}

Result<Page> explain(const Master& core, const proto::ExplainCall& call, const Principal* by) {
  if (!call.role.empty()) {
    const Result<proto::ExplainedRole> role = core.explain_role(call.role);
    if (!role) return role.error();
    return Page{.json = proto::explained_role_json(*role)};
  }
  if (!call.task.empty()) {
    const Result<proto::ExplainedTask> task = core.explain_task(call.task, by);
    if (!task) return task.error();
    return Page{.json = proto::explained_task_json(*task)};
  }
  const Result<proto::Explanation> framework = core.explain(call.framework, by);
  if (!framework) return framework.error();
  return Page{.json = proto::explanation_json(*framework)};
}

}  // namespace

const std::vector<std::string_view>& read_methods() {
  static const std::vector<std::string_view> kMethods = {"status",  "agents", "frameworks", "roles",
                                                         "tasks",   "offers", "explain",    "keys",
                                                         "masters", "secrets"};
  return kMethods;
}

Result<Page> read_api(const Master& core, std::string_view method, std::string_view arguments,
                      const Principal* by, std::string_view history) {
  if (method == "explain") {
    const Result<proto::ExplainCall> call = proto::parse_explain_call(arguments);
    if (!call) return Error(call.error()).in("arguments of explain");
    return explain(core, *call, by);
  }
  Result<proto::TaskQuery> query = proto::parse_task_query(arguments);
  if (!query) return std::move(query).error().in(text("arguments of ", method));
  if (method == "status") {
    proto::MasterStatus status = core.status();
    status.history = history;
    return Page{.json = proto::status_json(status)};
  }
  if (method == "agents") {
    return page_after(
        core.agents(), *query, [](const proto::AgentRow& row) { return row.agent.str(); },
        proto::agents_json);
  }
  if (method == "frameworks") {
    return page_after(
        core.frameworks(), *query,
        [](const proto::FrameworkRow& row) { return row.framework.str(); }, proto::frameworks_json);
  }
  if (method == "roles") {
    return page_after(
        core.roles(), *query, [](const proto::RoleRow& row) { return row.role.str(); },
        proto::roles_json);
  }
  if (method == "offers") {
    return page_after(
        core.offers(), *query,
        [](const proto::OfferRow& row) {
          const std::string digits = std::to_string(row.offer.value());
          return std::string(20 - std::min<size_t>(20, digits.size()), '0') + digits;
        },
        proto::offers_json);
  }
  if (method == "keys") {
    return page_after(
        core.keys(), *query, [](const KnownKey& row) { return row.key.str(); }, proto::keys_json);
  }
  if (method == "secrets") {
    return page_after(
        core.secrets(by), *query,
        [](const proto::SecretRow& row) { return text(row.owner, "/", row.name); },
        proto::secrets_json);
  }
  if (method == "masters") return Page{.json = proto::masters_json(core.masters())};
  if (method == "tasks") {
    std::vector<proto::TaskRow> rows = core.tasks(*query, by);
    const bool more = rows.size() == query->limit;
    return page_of(
        std::move(rows), query->limit, more,
        [](const proto::TaskRow& row) { return row.framework.str() + "/" + row.task.str(); },
        proto::tasks_json);
  }
  const std::string_view near = nearest(method, read_methods());
  Error error = Error::not_found(
      text("unknown method ", quoted(method),
           "; known are status, agents, frameworks, roles, tasks, offers, explain, keys, masters, "
           "secrets, snapshot, history, kill and request"));
  if (near.empty()) return error;
  return std::move(error).with_hint(text("did you mean ", quoted(near), "?"));
}

namespace {

constexpr std::string_view kOperatorMethods[] = {
    "kill",       "drain",      "undrain",    "role_set",     "reserve",
    "unreserve",  "teardown",   "join_token", kJoinMethod,    "key_rotate",
    "key_revoke", "agent_gone", "brake_lift", "secret_remove"};

}  // namespace

bool is_operator_method(std::string_view method) {
  return std::find(std::begin(kOperatorMethods), std::end(kOperatorMethods), method) !=
         std::end(kOperatorMethods);
}

Result<MasterEvent> operator_event(std::string_view method, std::string_view arguments,
                                   uint64_t call, const PrincipalPtr& by) {
  const auto wrong = [&](Error error) {
    return Result<MasterEvent>(std::move(error).in(text("arguments of ", method)));
  };
  if (method == "kill") {
    Result<proto::KillCall> kill = proto::parse_kill_call(arguments);
    if (!kill) return wrong(std::move(kill).error());
    return MasterEvent(
        OperatorKill{call, by, std::move(kill->task), kill->grace, std::move(kill->framework)});
  }
  if (method == "teardown") {
    Result<proto::TeardownCall> teardown = proto::parse_teardown_call(arguments);
    if (!teardown) return wrong(std::move(teardown).error());
    return MasterEvent(TearDownFramework{call, by, std::move(teardown->framework)});
  }
  if (method == "drain" || method == "undrain") {
    Result<proto::DrainCall> drain = proto::parse_drain_call(arguments);
    if (!drain) return wrong(std::move(drain).error());
    if (method == "undrain") return MasterEvent(UndrainAgent{call, by, std::move(drain->agent)});
    return MasterEvent(DrainAgent{call, by, std::move(drain->agent), drain->grace});
  }
  if (method == "agent_gone") {
    Result<proto::AgentGoneCall> gone = proto::parse_agent_gone_call(arguments);
    if (!gone) return wrong(std::move(gone).error());
    return MasterEvent(DeclareGone{call, by, std::move(gone->agent)});
  }
  if (method == "brake_lift") {
    Result<proto::BrakeLiftCall> lift = proto::parse_brake_lift_call(arguments);
    if (!lift) return wrong(std::move(lift).error());
    return MasterEvent(LiftBrake{call, by, lift->span});
  }
  if (method == "role_set") {
    Result<proto::RoleSetCall> set = proto::parse_role_set_call(arguments);
    if (!set) return wrong(std::move(set).error());
    return MasterEvent(SetRole{.call = call,
                               .by = by,
                               .role = std::move(set->role),
                               .weight = set->weight,
                               .guarantee = set->guarantee,
                               .limit = set->limit,
                               .users = std::move(set->users),
                               .unset = set->unset});
  }
  if (method == "join_token") {
    Result<proto::JoinTokenCall> token = proto::parse_join_token_call(arguments);
    if (!token) return wrong(std::move(token).error());
    return MasterEvent(MakeJoinToken{.call = call,
                                     .by = by,
                                     .key = std::move(token->key),
                                     .kind = token->kind,
                                     .name = std::move(token->name),
                                     .valid_for = token->valid_for});
  }
  if (method == kJoinMethod) {
    Result<proto::JoinCall> join = proto::parse_join_call(arguments);
    if (!join) return wrong(std::move(join).error());
    return MasterEvent(JoinCluster{call, by, std::move(join->key), std::move(join->runs_as)});
  }
  if (method == "key_rotate") {
    Result<proto::KeyRotateCall> rotate = proto::parse_key_rotate_call(arguments);
    if (!rotate) return wrong(std::move(rotate).error());
    return MasterEvent(RotateKey{call, by, std::move(rotate->key)});
  }
  if (method == "key_revoke") {
    Result<proto::KeyRevokeCall> revoke = proto::parse_key_revoke_call(arguments);
    if (!revoke) return wrong(std::move(revoke).error());
    return MasterEvent(
        RevokeKey{call, by, std::move(revoke->key), revoke->kind, std::move(revoke->name)});
  }
  if (method == "secret_remove") {
    Result<proto::SecretRemoveCall> remove = proto::parse_secret_remove_call(arguments);
    if (!remove) return wrong(std::move(remove).error());
    return MasterEvent(RemoveSecret{call, by, std::move(remove->name), std::move(remove->owner)});
  }
  Result<proto::ReserveCall> part = proto::parse_reserve_call(arguments);
  if (!part) return wrong(std::move(part).error());
  return MasterEvent(ReserveForRole{.call = call,
                                    .by = by,
                                    .agent = std::move(part->agent),
                                    .role = std::move(part->role),
                                    .amounts = part->amounts,
                                    .unreserve = method == "unreserve"});
}

}  // namespace proffer::master
