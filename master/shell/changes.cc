#include "master/shell/changes.h"

#include <utility>

#include "proto/json/json.h"
#include "proto/json/keys_json.h"
#include "proto/json/secrets_json.h"

namespace proffer::master {
namespace {

Result<MasterEvent> reservation(std::string_view arguments, uint64_t call, const PrincipalPtr& by,
                                bool unreserve) {
  Result<proto::ReserveCall> part = proto::parse_reserve_call(arguments);
  if (!part) return std::move(part).error();
  return MasterEvent(ReserveForRole{.call = call,
                                    .by = by,
                                    .agent = std::move(part->agent),
                                    .role = std::move(part->role),
                                    .amounts = part->amounts,
                                    .unreserve = unreserve});
}

}  // namespace

Result<MasterEvent> kill_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by) {
  Result<proto::KillCall> kill = proto::parse_kill_call(arguments);
  if (!kill) return std::move(kill).error();
  return MasterEvent(
      OperatorKill{call, by, std::move(kill->task), kill->grace, std::move(kill->framework)});
}

Result<MasterEvent> teardown_event(std::string_view arguments, uint64_t call,
                                   const PrincipalPtr& by) {
  Result<proto::TeardownCall> teardown = proto::parse_teardown_call(arguments);
  if (!teardown) return std::move(teardown).error();
  return MasterEvent(TearDownFramework{call, by, std::move(teardown->framework)});
}

Result<MasterEvent> drain_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by) {
  Result<proto::DrainCall> drain = proto::parse_drain_call(arguments);
  if (!drain) return std::move(drain).error();
  return MasterEvent(DrainAgent{call, by, std::move(drain->agent), drain->grace});
}

Result<MasterEvent> undrain_event(std::string_view arguments, uint64_t call,
                                  const PrincipalPtr& by) {
  Result<proto::DrainCall> drain = proto::parse_drain_call(arguments);
  if (!drain) return std::move(drain).error();
  return MasterEvent(UndrainAgent{call, by, std::move(drain->agent)});
}

Result<MasterEvent> agent_gone_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by) {
  Result<proto::AgentGoneCall> gone = proto::parse_agent_gone_call(arguments);
  if (!gone) return std::move(gone).error();
  return MasterEvent(DeclareGone{call, by, std::move(gone->agent)});
}

Result<MasterEvent> brake_lift_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by) {
  Result<proto::BrakeLiftCall> lift = proto::parse_brake_lift_call(arguments);
  if (!lift) return std::move(lift).error();
  return MasterEvent(LiftBrake{call, by, lift->span});
}

Result<MasterEvent> role_set_event(std::string_view arguments, uint64_t call,
                                   const PrincipalPtr& by) {
  Result<proto::RoleSetCall> set = proto::parse_role_set_call(arguments);
  if (!set) return std::move(set).error();
  return MasterEvent(SetRole{.call = call,
                             .by = by,
                             .role = std::move(set->role),
                             .weight = set->weight,
                             .guarantee = set->guarantee,
                             .limit = set->limit,
                             .users = std::move(set->users),
                             .unset = set->unset});
}

Result<MasterEvent> reserve_event(std::string_view arguments, uint64_t call,
                                  const PrincipalPtr& by) {
  return reservation(arguments, call, by, false);
}

Result<MasterEvent> unreserve_event(std::string_view arguments, uint64_t call,
                                    const PrincipalPtr& by) {
  return reservation(arguments, call, by, true);
}

Result<MasterEvent> join_token_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by) {
  Result<proto::JoinTokenCall> token = proto::parse_join_token_call(arguments);
  if (!token) return std::move(token).error();
  return MasterEvent(MakeJoinToken{.call = call,
                                   .by = by,
                                   .key = std::move(token->key),
                                   .kind = token->kind,
                                   .name = std::move(token->name),
                                   .valid_for = token->valid_for});
}

Result<MasterEvent> join_event(std::string_view arguments, uint64_t call, const PrincipalPtr& by) {
  Result<proto::JoinCall> join = proto::parse_join_call(arguments);
  if (!join) return std::move(join).error();
  return MasterEvent(JoinCluster{call, by, std::move(join->key), std::move(join->runs_as)});
}

Result<MasterEvent> key_rotate_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by) {
  Result<proto::KeyRotateCall> rotate = proto::parse_key_rotate_call(arguments);
  if (!rotate) return std::move(rotate).error();
  return MasterEvent(RotateKey{call, by, std::move(rotate->key)});
}

Result<MasterEvent> key_revoke_event(std::string_view arguments, uint64_t call,
                                     const PrincipalPtr& by) {
  Result<proto::KeyRevokeCall> revoke = proto::parse_key_revoke_call(arguments);
  if (!revoke) return std::move(revoke).error();
  return MasterEvent(
      RevokeKey{call, by, std::move(revoke->key), revoke->kind, std::move(revoke->name)});
}

Result<MasterEvent> secret_remove_event(std::string_view arguments, uint64_t call,
                                        const PrincipalPtr& by) {
  Result<proto::SecretRemoveCall> remove = proto::parse_secret_remove_call(arguments);
  if (!remove) return std::move(remove).error();
  return MasterEvent(RemoveSecret{call, by, std::move(remove->name), std::move(remove->owner)});
}

}  // namespace proffer::master
