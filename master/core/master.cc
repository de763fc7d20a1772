// The master's public interface, and its start: the registry is read into the tables, and all
// agents and frameworks in it are awaited.

#include "master/core/master.h"

#include <algorithm>

#include "common/check.h"
#include "master/core/state.h"

namespace proffer::master {

Master::Master(MasterOptions options, const MasterSnapshot& snapshot)
    : state_(std::make_unique<State>(std::move(options), snapshot)) {}
Master::~Master() = default;

void Master::handle(MasterEvent&& event, Time now, MasterOutbox& out) {
  Step step{now, out};
  state_->handle(std::move(event), step);
}
void Master::handle(const MasterEvent& event, Time now, MasterOutbox& out) {
  handle(MasterEvent(event), now, out);
}
std::optional<Time> Master::next_deadline() const { return state_->next_deadline(); }
proto::MasterStatus Master::status() const { return state_->status(); }
std::vector<proto::AgentRow> Master::agents() const { return state_->agent_rows(); }
std::vector<proto::FrameworkRow> Master::frameworks() const { return state_->framework_rows(); }
std::vector<proto::RoleRow> Master::roles() const { return state_->role_rows(); }
std::vector<RoleWaitSums> Master::role_waits(Time now) const { return state_->role_waits(now); }
std::vector<proto::OfferRow> Master::offers() const { return state_->offer_rows(); }
std::vector<proto::TaskRow> Master::tasks(const proto::TaskQuery& query,
                                          const Principal* by) const {
  return state_->task_rows(query, by);
}
proto::LiveSnapshot Master::live_snapshot(Time now) const { return state_->live_snapshot(now); }
std::vector<FrameworkSeriesRow> Master::framework_series(Time now) const {
  return state_->framework_series(now);
}
Result<proto::Explanation> Master::explain(std::string_view framework, const Principal* by) const {
  return state_->explain(framework, by);
}
Result<proto::ExplainedRole> Master::explain_role(std::string_view path) const {
  return state_->explain_role(path);
}
Result<proto::Blame> Master::blame_framework(std::string_view framework) const {
  return state_->blame_framework(framework);
}
Result<proto::Blame> Master::blame_role(std::string_view path) const {
  return state_->blame_role(path);
}
Result<proto::Blame> Master::blame_task(std::string_view name, const Principal* by) const {
  return state_->blame_task(name, by);
}
Result<proto::ExplainedTask> Master::explain_task(std::string_view name,
                                                  const Principal* by) const {
  return state_->explain_task(name, by);
}
std::vector<proto::MasterRow> Master::masters() const { return state_->master_rows(); }
bool Master::is_standby(PeerId peer) const { return state_->is_standby(peer); }
bool Master::is_daemon(PeerId peer) const { return state_->is_daemon(peer); }
FrameworkId Master::framework_of(PeerId peer) const { return state_->framework_of(peer); }
std::vector<PeerId> Master::silent_peers(Time now) const { return state_->silent_peers(now); }
const proto::StandbyCall* Master::standby_at(PeerId peer) const { return state_->standby_at(peer); }
Result<HistoryKeeper> Master::keeper_of(const proto::MasterId& master) const {
  return state_->keeper_of(master);
}
std::vector<proto::HistoryRecord> Master::last_history(Time now) {
  return state_->last_history(now);
}
bool Master::may_see_tasks_of(std::string_view user, const Principal* by) const {
  return state_->may_see_tasks_of(user, by);
}
Result<FileGrant> Master::grant_files(const proto::FileAccessCall& wanted, const Principal* by,
                                      Time now) const {
  return state_->grant_files(wanted, by, now);
}

const KnownKey* Master::find_key(const PublicKey& key, Time now) const {
  return state_->find_key(key, now);
}
std::vector<KnownKey> Master::keys(const Principal* by) const { return state_->keys_for(by); }
std::vector<proto::SecretRow> Master::secrets(const Principal* by) const {
  return state_->secrets(by);
}
std::string Master::key_of_secrets() const { return state_->key_of_secrets(); }
MasterSnapshot Master::snapshot() const { return state_->snapshot(); }
std::vector<Violation> Master::violations() const { return state_->violations(); }

namespace {

// Settings by operators have priority over options. An option that contradicts the rest is left
// out, since guarantees made meanwhile are in the registry.
AllocatorOptions of_this_life(const MasterOptions& master, const MasterSnapshot& snapshot) {
  AllocatorOptions options = master.allocator;
  options.gangs_before = master.leader.value() << 32;
  RoleTable set;
  for (const proto::RegistryRow& row : snapshot.rows) {
    if (const auto* role = std::get_if<proto::RoleRecord>(&row)) set[role->role] = role->settings;
  }
  // Usually all options are valid together; adding them one at a time needs a check of the whole
  // table for each.
  RoleTable all = set;
  all.insert(options.roles.begin(), options.roles.end());
  if (check_roles(all)) {
    options.roles = std::move(all);
    return options;
  }
  for (const auto& [role, settings] : options.roles) {
    if (set.contains(role) || !check_role(set, role, settings)) continue;
    set[role] = settings;
  }
  options.roles = std::move(set);
  return options;
}

}  // namespace

Master::State::State(MasterOptions options, const MasterSnapshot& snapshot)
    : options_(std::move(options)),
      now_(options_.started_at),
      secrets_key_(options_.secrets_key),
      allocator_(of_this_life(options_, snapshot)) {
  for (const proto::RegistryRow& row : snapshot.rows) {
    if (!std::holds_alternative<proto::StoreRecord>(row)) registry_.apply({row, false});
  }
  for (const proto::RegistryRow& row : snapshot.rows) {
    const auto* entry = std::get_if<proto::StoreRecord>(&row);
    if (entry == nullptr) continue;
    if (registry_.find(entry->framework) != nullptr) {
      registry_.apply({row, false});
    } else {
      orphans_.push_back({.framework = entry->framework, .key = entry->key});
    }
  }
  store_version_ =
      std::max(options_.leader.value() << kStoreVersionBits, registry_.stores().highest_version());
  for (const auto& [id, record] : registry_.frameworks()) {
    Framework& framework = frameworks_.add(record);
    framework.away_since = options_.started_at;
    framework.ends_after = options_.silent_failover(record);
    allocator_.add_framework(id, record.role, record.mode);
    allocator_.set_framework_active(id, false);
    deadlines_.arm({.kind = DeadlineKind::kFailover, .peer = {}, .id = id.str()},
                   options_.started_at + framework.ends_after);
  }
  for (const auto& [id, record] : registry_.agents()) {
    if (record.gone_at) {
      agents_.add_gone({.id = id,
                        .secret = record.secret,
                        .at = *record.gone_at,
                        .admission = record.admission,
                        .gone_secrets = record.gone_secrets});
      arm_forgetting(*agents_.find_gone(id));
      continue;
    }
    Agent& agent = agents_.add(id, record.secret);
    agent.gone_secrets = record.gone_secrets;
    agent.lost_at = options_.started_at;
    agent.drained_by = record.drained_by;
    agent.admission = record.admission;
    for (const proto::ReservationRecord* part : registry_.reservations(id)) {
      agent.reserved[part->role] = part->resources;
    }
    ++awaited_;
    if (record.unreachable) {
      agent.state = proto::AgentState::kUnreachable;
      deadlines_.arm({.kind = DeadlineKind::kAgentRemoved, .peer = {}, .id = id.str()},
                     options_.started_at + options_.reregistration_timeout);
    } else {
      deadlines_.arm({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = id.str()},
                     options_.started_at + options_.agent_timeout);
    }
  }
  // Tasks of awaited agents count in their roles, and are not known yet.
  allocator_.set_knows_all_tasks(awaited_ == 0);
}

void Master::State::handle(MasterEvent&& event, Step& step) {
  now_ = std::max(now_, step.now);
  step.now = now_;
  if (!has_begun_) begin_life(step);
  erase_orphans(step);
  if (auto* frame = std::get_if<FrameReceived>(&event)) {
    on_frame(std::move(*frame), step);
  } else if (const auto* malformed = std::get_if<FrameMalformed>(&event)) {
    end_of_peer(malformed->peer, malformed->error, "malformed frame", step);
  } else if (const auto* shed = std::get_if<PeerShed>(&event)) {
    end_of_peer(shed->peer, shed->error,
                "session shed: its user sends more than the master can serve", step);
  } else if (const auto* lost = std::get_if<PeerLost>(&event)) {
    on_peer_lost(lost->peer, lost->is_closed, step);
  } else if (const auto* kill = std::get_if<OperatorKill>(&event)) {
    on_operator_kill(*kill, step);
  } else if (auto* call = std::get_if<FrameworkCall>(&event)) {
    on_framework_call(std::move(*call), step);
  } else if (const auto* drain = std::get_if<DrainAgent>(&event)) {
    on_drain(*drain, step);
  } else if (const auto* undrain = std::get_if<UndrainAgent>(&event)) {
    on_undrain(*undrain, step);
  } else if (const auto* role = std::get_if<SetRole>(&event)) {
    on_set_role(*role, step);
  } else if (const auto* end = std::get_if<TearDownFramework>(&event)) {
    on_tear_down(*end, step);
  } else if (const auto* part = std::get_if<ReserveForRole>(&event)) {
    on_reserve(*part, step);
  } else if (const auto* token = std::get_if<MakeJoinToken>(&event)) {
    on_make_token(*token, step);
  } else if (const auto* join = std::get_if<JoinCluster>(&event)) {
    on_join(*join, step);
  } else if (const auto* rotate = std::get_if<RotateKey>(&event)) {
    on_rotate_key(*rotate, step);
  } else if (const auto* used = std::get_if<KeyUsed>(&event)) {
    on_key_used(*used, step);
  } else if (const auto* revoke = std::get_if<RevokeKey>(&event)) {
    on_revoke_key(*revoke, step);
  } else if (const auto* gone = std::get_if<DeclareGone>(&event)) {
    on_declare_gone(*gone, step);
  } else if (const auto* lift = std::get_if<LiftBrake>(&event)) {
    on_lift_brake(*lift, step);
  } else if (const auto* standby = std::get_if<StandBy>(&event)) {
    on_stand_by(*standby, step);
  } else if (const auto* set = std::get_if<SetSecret>(&event)) {
    on_set_secret(*set, step);
  } else if (const auto* removed = std::get_if<RemoveSecret>(&event)) {
    on_remove_secret(*removed, step);
  } else {
    on_tick(std::get<Tick>(event), step);
  }
  end_failed_gangs(step);
  make_room_for_updates(step);
  step.out.history = std::exchange(history_, {});
}

std::optional<Time> Master::State::next_deadline() const {
  std::optional<Time> next = deadlines_.next();
  if (const std::optional<Time> decision = allocator_.next_decision(now_)) {
    next = next ? std::min(*next, *decision) : *decision;
  }
  if (const std::optional<Time> look = next_look()) next = next ? std::min(*next, *look) : *look;
  return next;
}

void Master::State::write(proto::RegistryRow row, bool erase, Step& step) {
  proto::RegistryWrite write{std::move(row), erase};
  registry_.apply(write);
  step.out.records.push_back(std::move(write));
}

void Master::State::write_agent(const Agent& agent, Step& step) {
  write(proto::AgentRecord{.agent = agent.id,
                           .secret = agent.secret,
                           .unreachable = agent.state == proto::AgentState::kUnreachable,
                           .drained_by = agent.drained_by,
                           .admission = agent.admission,
                           .gone_at = {},
                           .gone_secrets = agent.gone_secrets},
        false, step);
}

Framework* Master::State::connected_framework(const FrameworkId& id) {
  Framework* framework = frameworks_.find(id);
  return framework != nullptr && framework->connected() ? framework : nullptr;
}

}  // namespace proffer::master
