#pragma once

// The whole state of the master, as one class. Its handlers have a file per verb. Begin with
// receive.cc (incoming frames) and decide.cc (what the master does by itself).

#include <set>
#include <string_view>
#include <vector>

#include "allocator/allocator.h"
#include "master/core/accept_plan.h"
#include "master/core/agents.h"
#include "master/core/brake.h"
#include "master/core/deadlines.h"
#include "master/core/framework_figures.h"
#include "master/core/frameworks.h"
#include "master/core/master.h"
#include "master/core/registry.h"
#include "master/core/relays.h"
#include "master/core/remembered.h"
#include "master/core/role_use.h"
#include "master/core/sessions.h"
#include "master/core/standbys.h"
#include "master/core/tasks.h"

namespace proffer::master {

// The handling of one event.
struct Step {
  Time now = {};
  MasterOutbox& out;

  void trace(TraceEvent happened) { out.trace.push_back(std::move(happened)); }
};

// The master assigns ports; the allocator does not know them.
inline Resources amounts_of(const Resources& resources) {
  return {.amounts = resources.amounts, .gpus = resources.gpus};
}

// Why an agent may not register.
struct AgentRefusal {
  Error error;
  bool retry = false;       // a full table may have room later; a wrong registration stays wrong
  bool ends_tasks = false;  // all its tasks were reported as ended
};

// How far the master believes an agent that reports an unknown task.
enum class Belief : uint8_t {
  kLaunched,     // a master launched it there
  kUnconfirmed,  // a master of an earlier version may have
  kHidden,       // only its scheduler can know
  kInvented,     // no master can have launched it
};

// The framework and role that are charged with a task's resources.
struct Payer {
  FrameworkId framework = {};
  TaskId task = {};
};
Payer payer_of(const TaskKey& key, bool is_hidden);

// The claim of a task if only its resources are known.
inline TaskClaim plain_claim(const RoleName& role, const Resources& resources) {
  return {.slices = {Slice{.resources = amounts_of(resources)}}, .role = role};
}

class Master::State {
 public:
  State(MasterOptions options, const MasterSnapshot& snapshot);

  void handle(MasterEvent&& event, Step& step);
  std::optional<Time> next_deadline() const;

  // status.cc
  proto::MasterStatus status() const;
  std::vector<proto::AgentRow> agent_rows() const;
  std::vector<proto::FrameworkRow> framework_rows() const;
  std::vector<proto::RoleRow> role_rows() const;
  std::vector<proto::OfferRow> offer_rows() const;
  std::vector<proto::TaskRow> task_rows(const proto::TaskQuery& query, const Principal* by) const;
  // explain.cc, explain_more.cc
  Result<proto::Explanation> explain(std::string_view framework, const Principal* by) const;
  void explain_behaviour(const Framework& framework, bool may_see, proto::Explanation& all) const;
  Result<proto::ExplainedRole> explain_role(std::string_view path) const;
  Result<proto::ExplainedTask> explain_task(std::string_view name, const Principal* by) const;
  // blame.cc
  Result<proto::Blame> blame_framework(std::string_view framework) const;
  Result<proto::Blame> blame_role(std::string_view path) const;
  Result<proto::Blame> blame_task(std::string_view name, const Principal* by) const;
  // framework_figures.cc
  std::vector<FrameworkSeriesRow> framework_series(Time now) const;
  std::vector<RoleWaitSums> role_waits(Time now) const;
  // live_snapshot.cc
  proto::LiveSnapshot live_snapshot(Time now) const;
  MasterSnapshot snapshot() const { return {registry_.rows()}; }
  // history.cc
  std::vector<proto::HistoryRecord> last_history(Time now);
  bool may_see_tasks_of(std::string_view user, const Principal* by) const;
  // standbys.cc
  std::vector<proto::MasterRow> master_rows() const;
  bool is_standby(PeerId peer) const { return standbys_.find(peer) != nullptr; }
  bool is_daemon(PeerId peer) const;
  FrameworkId framework_of(PeerId peer) const {
    const Peer* known = sessions_.find(peer);
    return known == nullptr ? FrameworkId() : known->framework;
  }
  std::vector<PeerId> silent_peers(Time now) const;
  const proto::StandbyCall* standby_at(PeerId peer) const {
    const Standby* const standby = standbys_.find(peer);
    return standby == nullptr ? nullptr : &standby->says;
  }
  Result<HistoryKeeper> keeper_of(const proto::MasterId& master) const;
  // keys.cc
  Result<FileGrant> grant_files(const proto::FileAccessCall& wanted, const Principal* by,
                                Time now) const;
  const KnownKey* find_key(const PublicKey& key, Time now) const;
  std::vector<KnownKey> keys() const;
  std::vector<KnownKey> keys_for(const Principal* by) const;  // as Master::keys()
  // secrets.cc
  std::vector<proto::SecretRow> secrets(const Principal* by) const;
  std::string key_of_secrets() const;
  // violations.cc
  std::vector<Violation> violations() const;

 private:
  // receive.cc: from a frame to its handler.
  void on_frame(FrameReceived&& frame, Step& step);
  void end_of_peer(PeerId peer, const Error& error, std::string_view what, Step& step);
  void on_message(Peer& peer, proto::Message&& message, Step& step);
  bool on_new_peer_message(Peer& peer, proto::Message& message, Step& step);
  bool on_registering_message(Peer& peer, proto::Message& message, Step& step);
  bool on_agent_message(Agent& agent, proto::Message& message, Step& step);
  bool on_scheduler_message(Framework& framework, proto::Message& message, Step& step);
  Peer* open(PeerId id, const PrincipalPtr& by, Step& step);
  // Whether the principal may do this. A refusal, and any action of an operator, leaves an audit
  // line. `object`: the object of the action, for that line.
  Result<void> permit(const PrincipalPtr& by, Action action, std::string_view object, Step& step,
                      std::string_view owner = {});
  void send(PeerId peer, proto::BoxedMessage message, Step& step);
  void send_error(PeerId peer, const Error& error, bool ends_session, bool retry, Step& step,
                  bool ends_tasks = false);
  // Sends the error to the peer and ends its connection, with all consequences.
  void end_session(PeerId peer, const Error& error, bool retry, Step& step,
                   bool ends_tasks = false);
  // Ends the connection without a message.
  void drop(PeerId peer, Step& step);
  SessionEpoch next_session();

  // lost.cc: connections, agents and frameworks that stay away.
  void on_peer_lost(PeerId peer, bool is_closed, Step& step);
  void close(PeerId peer);
  void disconnect(Agent& agent, Step& step);
  void disconnect(Framework& framework, bool is_closed, Step& step);
  void make_unreachable(Agent& agent, Step& step);
  // Ends the agent and its tasks. Do not use the agent afterwards.
  void remove(Agent& agent, proto::AgentEvent event, std::string_view why, Step& step);
  void end_agent(Agent& agent, const std::string& why, Step& step);
  void on_peer_silent(PeerId peer, Step& step);
  void on_heartbeat_due(PeerId peer, Step& step);
  void on_due(const DeadlineKey& key, Step& step);
  void agent_seen_or_removed(Step& step);

  // give_up.cc: the agent may be removed by it; do not use it afterwards.
  void give_up_or_hold(Agent& agent, Step& step);
  void give_up(Agent& agent, Step& step);
  void on_brake_due(Step& step);
  void on_lift_brake(const LiftBrake& message, Step& step);

  // starts.cc: launched tasks that agents do not report.
  void watch_starts(Agent& agent, Step& step);
  void await_start(Agent& agent, Task& task, Step& step);
  void still_starting(Task& task, proto::TaskStatus&& word, Step& step);
  void on_starts_due(Agent& agent, Step& step);
  void give_up_start(Agent& agent, Task& task, Step& step);
  void on_answered(Agent& agent, Step& step);
  void on_never_started(Agent& agent);
  void try_again(Agent& agent, Step& step);

  // gone.cc
  void on_declare_gone(const DeclareGone& message, Step& step);
  void keep_gone(GoneAgent gone, Step& step);
  void arm_forgetting(const GoneAgent& gone);
  void forget_gone(const AgentId& id, Step& step);
  void drop_gone(const AgentId& id);

  // register_agent.cc, reregister.cc
  void on_register_agent(Peer& peer, proto::RegisterAgent&& message, Step& step);
  void on_register_tasks(Peer& peer, proto::RegisterTasks&& message, Step& step);
  void on_unregister(Agent& agent, Step& step);
  void on_trouble(Agent& agent, proto::AgentTrouble&& trouble, Step& step);
  std::optional<AgentRefusal> refusal_of(Registration& registration, ResourceVector& most) const;
  std::optional<AgentRefusal> refusal_of_copy(const proto::RegisterAgent& message) const;
  Result<void> check_room(const proto::RegisterAgent& message, const ResourceVector& most) const;
  Agent& admit(const proto::RegisterAgent& message);
  void note_boot(Agent& agent, uint64_t boot);
  void refuse_agent(PeerId peer, const proto::RegisterAgent& message, const AgentRefusal& refusal,
                    Step& step);
  void complete_registration(PeerId peer, Registration&& registration, Step& step);
  void compare_tasks(Agent& agent, bool is_awaited, bool remembers, Registration&& registration,
                     Step& step);
  void compare_known(Agent& agent, Task& task, proto::AgentTask&& told, Step& step);
  // `launched`: the sum of the tasks that were believed so far because of their tickets.
  void compare_unknown(Agent& agent, bool is_awaited, proto::AgentTask&& told,
                       ResourceVector& launched, Step& step);
  void compare_untold(Agent& agent, Task& task, bool remembers, Resources& running, Step& step);
  void keep_old_refusal(Framework& framework, proto::AgentTask& told);
  Task& adopt(Agent& agent, const proto::AgentTask& told, Belief belief, Step& step);
  void kill_stray(Agent& agent, const proto::AgentTask& told, Step& step);
  void use_known_amounts(Registration& registration) const;
  void take_updates(Agent& agent, const TaskKey& key, std::vector<proto::TaskStatus>&& updates,
                    Step& step);

  // believe.cc
  std::string ticket_of(const Framework& framework, const TaskId& task, const Agent& agent,
                        const proto::Assignment& assignment) const;
  bool has_ticket(const Agent& agent, const Framework& framework,
                  const proto::AgentTask& told) const;
  std::string why_not_launched(const Agent& agent, const Framework& framework,
                               const proto::AgentTask& told) const;
  Belief believe(const Agent& agent, const Framework& framework,
                 const proto::AgentTask& told) const;
  void confirm(Task& task, Step& step);
  // Do not use the task afterwards.
  void disbelieve(Task& task, const std::string& why, Step& step);
  void forget(Task& task);
  void watch_hidden(const Framework& framework, Step& step);
  void on_hidden_due(const FrameworkId& id, Step& step);
  void give_ticket_keys(Step& step);

  // subscribe.cc, teardown.cc
  void on_tear_down(const TearDownFramework& message, Step& step);
  void on_subscribe(Peer& peer, proto::Subscribe&& message, Step& step);
  Result<void> agents_run_tasks_of(const Principal& by) const;
  Result<void> check_cluster(const ClusterId& told, const std::string& who) const;
  Result<Framework*> find_subscriber(const proto::Subscribe& message, const PrincipalPtr& by,
                                     Step& step);
  Result<Framework*> find_unattended(const proto::Subscribe& message, Time now);
  Framework& create_framework(proto::Subscribe&& message, Step& step);
  void update_record(Framework& framework, const proto::Subscribe& message, Step& step);
  // Ends what belongs to its connection: offers, asks, questions.
  void end_scheduler_session(Framework& framework, Step& step);
  // For tasks of a framework that this master never knew.
  Framework& gone_framework(const FrameworkId& id);
  void tear_down(Framework& framework, std::string_view why, Step& step);
  // Erases it if it is gone and nothing of it runs. Do not use it afterwards.
  void forget_if_over(Framework& framework);

  // asks.cc
  void on_declare_asks(Framework& framework, proto::DeclareAsks&& message, Step& step);
  void report_dirty(Step& step);
  void report_asks(Step& step);
  void report_asks(Framework& framework, Step& step);
  void reject_asks(const Framework& framework, const Error& why, Step& step);
  void report(Framework& framework, std::vector<proto::AskReport::Row>&& rows, Step& step);
  std::string missing_hosts(const Ask& ask) const;
  std::string why_unfit(const Ask& ask, const RoleName& of_framework) const;
  // Why a limit prevents the ask for ever; empty: no limit does.
  std::string limit_against(const Ask& ask, const RoleName& role) const;

  // accept.cc
  void on_accept(Framework& framework, proto::Accept&& accept, Step& step);
  void deny_hidden(const Framework& framework, const proto::Accept& accept, Step& step);
  std::map<uint64_t, GangOffers> gangs_of(const std::vector<const Grant*>& offers) const;
  TakenOffers take_offers(const Framework& framework, const std::vector<OfferId>& ids) const;
  void launch(Framework& framework, const AgentId& on, proto::TaskSpec&& spec,
              proto::Assignment&& assignment, Step& step);
  std::map<AskName, int64_t> wanted_of(const Framework& framework,
                                       const proto::Accept& accept) const;
  void on_decline(Framework& framework, const proto::Decline& decline, Step& step);

  // refuse.cc
  void refuse(Framework& framework, const AgentId& on, const proto::TaskSpec& spec,
              TaskRefusal&& refusal, Step& step);
  void keep_refusal(Framework& framework, const proto::TaskSpec& spec, proto::TaskStatus&& status,
                    Step& step);
  void tell_old_refusals(Framework& framework, Step& step);
  void note_refused(Framework& framework, const TaskId& task, const AskName& ask,
                    proto::TaskReason reason, const std::string& message, Time now);
  Refusal not_too_short(Framework& framework, const AgentId& agent, Refusal refusal, Time now);
  void note_outcome(Framework& framework, AcceptOutcome&& outcome, Step& step);
  void note_silence(Framework& framework, Step& step);
  void note_answer(Framework& framework);
  void pause_waiting(const Framework& framework);
  void end_waits(Framework& framework, Step& step);

  // framework_figures.cc
  void refresh_wait(Framework& framework, const AskName& ask, Time now);
  void refresh_waits(Framework& framework, Time now);
  void count_offer(Framework& framework, const Offer& offer, Time now);

  // updates.cc
  void on_update(Agent& agent, proto::Update&& update, Step& step);
  void take_update(Agent& agent, Task& task, proto::TaskStatus&& status, Step& step);
  void on_acknowledge(Framework& framework, const proto::Acknowledge& message, Step& step);
  void acknowledge_to_agent(const Agent& agent, const TaskKey& key, uint64_t sequence, Step& step);
  // Reports the present state of the task with the master as the source.
  void tell(Task& task, proto::TaskReason reason, std::string message, Step& step);
  // Keeps the update until it is acknowledged, and sends it if the scheduler is connected.
  void keep_and_send(Framework& framework, Task& task, proto::TaskStatus&& status, Step& step);
  void send_update(const Framework& framework, const Task& task, proto::TaskStatus status,
                   Step& step);
  void send_again(Framework& framework, Step& step);
  void drop_pending(Task& task);
  void make_room_for_updates(Step& step);
  uint64_t next_sequence();
  // Removes the task from the table; it must not be used afterwards.
  void end(Task& task);
  // Calls end() if the task has ended and all receivers of its end have it.
  void end_if_told(Task& task);

  // ledger.cc
  void count_waiting(Framework& framework, const RoleName& role, WaitReason reason, int64_t count,
                     Time now);
  template <class Change>
  auto change_wait(Framework& framework, LedgerEntry& entry, Time now, Change change);
  void refresh_ledger(Framework& framework, const AskName& ask, Time now);
  void keep_ledger_of_asks(Framework& framework, Time now);
  void close_ledger(Framework& framework, Time now);
  void end_entry(Framework& framework, LedgerEntry& entry, const AskName& ask, Time now);
  Time asked_at(const Framework& framework, const AskName& ask, Time now) const;
  PackedWaits note_launched(Framework& framework, const AskName& ask, const RoleName& role,
                            Time now);
  void note_started(const Task& task, Time now);
  void look_at_later(const FrameworkId& framework, const AskName& ask, AskWait& wait,
                     std::optional<Time> at);
  void look_at_waits(Step& step);
  std::optional<Time> next_look() const;
  void add_waiting_asks(const Framework& framework, const RoleName& within,
                        proto::Blame& blame) const;

  // history.cc
  void keep_ended(const Task& task);
  void keep_refused(const Framework& framework, const proto::TaskSpec& spec,
                    const proto::TaskStatus& status);
  void count_use(const Task& task, bool takes);
  void arm_role_use();
  void on_role_use_due();

  // held.cc: the resources that tasks hold on agents.
  void hold(Agent& agent, Task& task);
  void release(Task& task);
  void release_stray(Agent& agent, const TaskKey& key);
  void give_back(const Agent& agent, const TaskKey& key, bool is_hidden);
  void take_from_allocator(Agent& agent, Step& step);

  // kill.cc
  void on_kill(Framework& framework, const proto::KillTask& message, Step& step);
  void on_operator_kill(const OperatorKill& message, Step& step);
  Result<std::string> kill_all_of(const OperatorKill& message, Step& step);
  void kill(Task& task, const KillCause& cause, Step& step,
            std::optional<Duration> grace = std::nullopt);
  void end_failed_gangs(Step& step);
  void send_kill(const Task& task, Step& step);
  Task* find_by_whole_name(std::string_view name);

  // revoke.cc: tasks that must end by a time.
  void on_revokes(const std::vector<Revoke>& revokes, Step& step);
  bool mark(Task& task, RevokeMark mark);
  // Its agent is no longer drained. Returns whether its scheduler must get an update.
  bool undrain(Task& task);
  bool choose_mark(Task& task);
  void unmark(Task& task);
  void send_notices(const std::vector<Task*>& tasks, Step& step);
  void send_withdrawals(const std::vector<Task*>& tasks, const AgentId& agent, Step& step);
  void send_notices_again(const Framework& framework, Step& step);
  void on_revoke_due(const std::string& name, Step& step);

  // drain.cc
  void on_drain(const DrainAgent& message, Step& step);
  void on_undrain(const UndrainAgent& message, Step& step);
  void mark_drained_tasks(Agent& agent, Step& step);
  Result<Agent*> find_agent(const AgentId& id);
  void answer(uint64_t call, Result<std::string> result, Step& step);

  // roles.cc
  void on_set_role(const SetRole& message, Step& step);
  Result<RoleSettings> settings_wanted(const SetRole& message) const;
  Result<std::set<std::string>> users_wanted(const SetRole& message) const;
  Result<void> may_use_role(const PrincipalPtr& by, const RoleName& role, Step& step) const;
  RoleSettings settings_of_flags(const RoleName& role) const;

  // keys.cc
  void on_make_token(const MakeJoinToken& message, Step& step);
  Result<KnownKey> token_wanted(const MakeJoinToken& message, Time now) const;
  void on_join(const JoinCluster& message, Step& step);
  Result<KnownKey> key_wanted(const JoinCluster& message, Time now) const;
  void on_rotate_key(const RotateKey& message, Step& step);
  Result<KnownKey> successor_wanted(const RotateKey& message, Time now) const;
  void on_key_used(const KeyUsed& used, Step& step);
  std::vector<KnownKey> successors_of(const PublicKey& key) const;
  void on_revoke_key(const RevokeKey& message, Step& step);
  Result<std::vector<KnownKey>> keys_to_revoke(const RevokeKey& message) const;
  // The key is not accepted any more. Its sessions end with this error; `retry`: their peers should
  // try again.
  void end_key(const KnownKey& key, const Error& why, bool retry, Step& step);
  void forget_old_tokens(Step& step);

  // secrets.cc
  void on_set_secret(const SetSecret& message, Step& step);
  Result<void> check_set_secret(const SetSecret& message) const;
  void on_remove_secret(const RemoveSecret& message, Step& step);

  // reserve.cc
  void on_reserve(const ReserveForRole& message, Step& step);
  Result<ReservationChange> plan_reserve(const ReserveForRole& message);
  Result<ReservationChange> plan_unreserve(const ReserveForRole& message);
  void change_reservations(const std::vector<ReservationChange>& changes, Step& step);
  void forget_reservations(Agent& agent, Step& step);

  // reconcile.cc
  void on_reconcile(Framework& framework, const proto::Reconcile& message, Step& step);
  void tell_reconciled(const Framework& framework, Step& step);
  std::optional<proto::TaskStatus> truth_about_unknown(const Framework& framework,
                                                       const TaskId& task, Step& step);
  // `on`: the agent on which its scheduler believes the task to be.
  void tell_truth(Framework& framework, const TaskId& task, Step& step, const AgentId& on = {});
  void answer_waiting(Step& step);

  // remember.cc
  const FrameworkStore* remembered_by(const Framework& framework) const;
  std::vector<TaskId> remembered_and_unknown(const Framework& framework) const;
  void remember(const Framework& framework, const TaskId& task, const RememberedTask& what,
                Step& step);
  bool may_run_on(const Agent& agent, const Framework& framework, const TaskId& task) const;
  void remember_end(const Task& task, Step& step);
  void forget_launch(const Framework& framework, const TaskId& task, Step& step);

  // store.cc
  void on_store_request(Framework& framework, const proto::StoreRequest& request, Step& step);
  void erase_store(const FrameworkId& framework, Step& step);
  void erase_orphans(Step& step);

  // request.cc
  void on_framework_call(FrameworkCall&& call, Step& step);
  Result<Framework*> find_relay_target(const FrameworkCall& call);
  Result<void> may_call(const Framework& framework, const FrameworkCall& call, Step& step);
  void on_framework_response(const Framework& framework, proto::FrameworkResponse&& response,
                             Step& step);
  void on_relay_timeout(uint64_t relay, Step& step);
  void end_relays(const Framework& framework, Step& step);

  // relay.cc
  void relay_to_agent(const Framework& framework, proto::FrameworkMessage&& message, Step& step);
  void relay_to_scheduler(const Agent& agent, proto::FrameworkMessage&& message, Step& step);

  // releases.cc
  void on_release_files(const Framework& framework, const proto::ReleaseFiles& message, Step& step);
  void tell_releases(const Agent& agent, Step& step);

  // decide.cc
  void on_tick(const Tick& tick, Step& step);
  void decide(Step& step);
  void tell_rescinds(const std::vector<Rescind>& rescinds, Step& step);
  void send_offers(const Framework& framework, std::vector<Offer>&& offers, Step& step);

  // standbys.cc
  void begin_life(Step& step);
  void on_stand_by(const StandBy& message, Step& step);
  Result<void> check_standby(const StandBy& message, Step& step);
  void on_standby_silent(PeerId peer, Step& step);
  void lose_standby(PeerId peer, std::string_view why, Step& step);

  // The only way to change the registry while this master leads.
  void write(proto::RegistryRow row, bool erase, Step& step);
  void write_agent(const Agent& agent, Step& step);

  // explain_more.cc
  Result<proto::TaskRow> find_task(std::string_view name, const Principal* by) const;
  proto::ExplainedTask explain_known(proto::TaskRow row) const;
  Result<proto::ExplainedTask> explain_unknown(const Framework& framework, const TaskId& id) const;

  // violations.cc
  void check_tasks(std::vector<Violation>& found) const;
  struct HeldSums;
  void check_resources_held(std::vector<Violation>& found) const;
  void sum_held(const AgentId& id, const Agent& agent, HeldSums& sums,
                std::vector<Violation>& found) const;
  void check_agents_held(HeldSums& sums, std::vector<Violation>& found) const;
  void check_frameworks_held(HeldSums& sums, std::vector<Violation>& found) const;
  void check_ending(std::vector<Violation>& found) const;
  void check_sessions(std::vector<Violation>& found) const;
  void check_registry(std::vector<Violation>& found) const;
  void check_stores(std::vector<Violation>& found) const;
  void check_relays(std::vector<Violation>& found) const;
  void check_role_uses(std::vector<Violation>& found) const;
  void check_ledger(std::vector<Violation>& found) const;
  void check_reservations(std::vector<Violation>& found) const;
  void check_offers(std::vector<Violation>& found) const;

  Framework* connected_framework(const FrameworkId& id);
  std::map<FrameworkId, std::vector<LeafStatus>> leaves_by_framework() const;

  const MasterOptions options_;
  Time now_ = {};            // of the last event
  std::string secrets_key_;  // the id of the key file for secrets; empty: there is none
  bool has_begun_ = false;   // the registry says that this master leads
  Standbys standbys_;
  Registry registry_;
  Sessions sessions_;
  Deadlines deadlines_;
  Agents agents_;
  Brake brake_{options_.brake};
  Frameworks frameworks_;
  Tasks tasks_{options_.ended_kept,
               [this](const Task& task, Time now) { note_started(task, now); }};
  FrameworkSeries series_;
  Relays relays_;
  Allocator allocator_;

  RoleUses role_uses_;          // of tasks that hold resources
  bool are_roles_cut_ = false;  // at the end of this minute
  RoleWaits role_waits_;        // of tasks that are not launched, or are starting
  // When the reasons of waiting asks are examined next, the earliest first.
  struct Look {
    Time at = {};
    FrameworkId framework = {};
    AskName ask = {};
    auto operator<=>(const Look&) const = default;
  };
  std::set<Look> looks_;
  // Examinations left in this span; if negative, they are borrowed from the next spans.
  int64_t looks_left_ = 1;
  Time looks_span_ = {};
  std::vector<proto::HistoryRecord> history_ = {};  // of this step
  int64_t awaited_ = 0;  // admitted agents that have not registered with this master yet
  ResourceVector most_;  // the sum of Agent::most
  uint64_t sessions_given_ = 0;
  uint64_t frameworks_made_ = 0;
  uint64_t updates_made_ = 0;
  uint64_t updates_kept_ = 0;  // the number of the last kept update, in order of arrival
  uint64_t relays_made_ = 0;
  // The last version of any store's entry that this master or one before has used. Each master
  // begins with its leader epoch in the upper bits, so no version is used twice, even if entries
  // were erased.
  static constexpr int kStoreVersionBits = 40;
  uint64_t store_version_ = 0;
  std::vector<proto::StoreRecord> orphans_ = {};  // erased in the first step
  size_t unacknowledged_ = 0;                     // kept updates and refusals of all frameworks
  std::optional<Time> reported_at_ = {};
  bool report_due_ = false;
  std::set<FrameworkId> declared_ = {};  // since the last report
  uint64_t reported_version_ = 0;        // Allocator::fit_version() at that time
};

}  // namespace proffer::master
