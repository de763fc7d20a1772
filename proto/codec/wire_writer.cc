// Turns messages and records into the structs of the schema, with one function for each. Empty
// texts and lists and zero amounts are not set: absence means the same and costs nothing. Start at
// write_message; wire_writer_values.cc has the parts of messages.

#include "proto/codec/wire_writer.h"

#include <algorithm>

#include "common/check.h"
#include "proto/codec/wire_writer_values.h"

namespace proffer::proto {
namespace {

using proffer::proto::write;  // the parts of messages

// --- messages: one overload each, which also chooses the member of the union -------------------

void write(const Unknown& message, wire::Envelope::Builder) {
  LOG(FATAL) << "an unknown message cannot be sent, tag " << message.tag;
}

void write(const Subscribe& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initSubscribe();
  if (!message.framework.empty()) out.setFramework(text_of(message.framework));
  out.setName(text_of(message.name));
  out.setRole(text_of(message.role));
  out.setMode(same<wire::OfferMode>(message.mode));
  out.setSecret(text_of(message.secret));
  out.setFailoverNanos(message.failover_timeout.nanos());
  if (!message.user.empty()) out.setUser(text_of(message.user));
  out.setServesUsers(message.serves_users);
  out.setRemembersTasks(message.remembers_tasks);
  if (!message.cluster.empty()) out.setCluster(text_of(message.cluster));
  out.setStandsBy(message.stands_by);
}

void write(const DeclareAsks& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initDeclareAsks();
  out.setGeneration(message.generation);
  auto asks = out.initAsks(static_cast<unsigned>(message.asks.size()));
  for (unsigned i = 0; i < asks.size(); ++i) write(message.asks[i], asks[i]);
}

void write(const Launch& launch, wire::Operation::Builder operation) {
  auto out = operation.initLaunch();
  out.setAgent(text_of(launch.agent));
  auto tasks = out.initTasks(static_cast<unsigned>(launch.tasks.size()));
  for (unsigned i = 0; i < tasks.size(); ++i) write(launch.tasks[i], tasks[i]);
}

template <class Reservation>
void fill_reservation(const Reservation& value, wire::Reserve::Builder out) {
  out.setAgent(text_of(value.agent));
  out.setRole(text_of(value.role));
  write(value.amounts, out.initAmounts());
}

void write(const Reserve& reserve, wire::Operation::Builder operation) {
  fill_reservation(reserve, operation.initReserve());
}

void write(const Unreserve& unreserve, wire::Operation::Builder operation) {
  fill_reservation(unreserve, operation.initUnreserve());
}

void write(const Accept& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initAccept();
  fill_offer_ids(out.initOffers(static_cast<unsigned>(message.offers.size())), message.offers);
  auto operations = out.initOperations(static_cast<unsigned>(message.operations.size()));
  for (unsigned i = 0; i < operations.size(); ++i) {
    std::visit([&](const auto& operation) { write(operation, operations[i]); },
               message.operations[i]);
  }
  if (message.refusal != Refusal{}) write(message.refusal, out.initRefusal());
}

void write(const Decline& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initDecline();
  fill_offer_ids(out.initOffers(static_cast<unsigned>(message.offers.size())), message.offers);
  if (message.refusal != Refusal{}) write(message.refusal, out.initRefusal());
}

void write(const Suppress&, wire::Envelope::Builder envelope) { envelope.setSuppress(); }
void write(const Revive&, wire::Envelope::Builder envelope) { envelope.setRevive(); }

void write(const KillTask& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initKillTask();
  if (!message.framework.empty()) out.setFramework(text_of(message.framework));
  out.setTask(text_of(message.task));
  if (message.grace) out.setGraceNanos(message.grace->nanos());
}

void write(const Acknowledge& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initAcknowledge();
  if (!message.framework.empty()) out.setFramework(text_of(message.framework));
  out.setTask(text_of(message.task));
  if (!message.agent.empty()) out.setAgent(text_of(message.agent));
  out.setSource(same<wire::UpdateSource>(message.source));
  out.setSequence(message.sequence);
}

void write(const Reconcile& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initReconcile();
  fill_texts(out.initTasks(static_cast<unsigned>(message.tasks.size())), message.tasks);
  if (message.agents.empty()) return;
  fill_texts(out.initAgents(static_cast<unsigned>(message.agents.size())), message.agents);
}

void write(const Reconciled& message, wire::Envelope::Builder envelope) {
  envelope.initReconciled().setMissingAgents(message.missing_agents);
}

void write(const NotLeader& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initNotLeader();
  if (!message.leader.empty()) out.setLeader(text_of(message.leader));
}

void write(const FrameworkMessage& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initFrameworkMessage();
  if (!message.framework.empty()) out.setFramework(text_of(message.framework));
  out.setAgent(text_of(message.agent));
  out.setExecutor(text_of(message.executor));
  out.setToScheduler(message.to_scheduler);
  if (!message.data.empty()) out.setData(data_of(message.data));
}

void write(const Teardown&, wire::Envelope::Builder envelope) { envelope.setTeardown(); }

void write(const Subscribed& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initSubscribed();
  out.setFramework(text_of(message.framework));
  out.setSession(message.session.value());
  out.setFailedOver(message.failed_over);
  out.setHeartbeatNanos(message.heartbeat.nanos());
  out.setTimeoutNanos(message.timeout.nanos());
  out.setMissingAgents(message.missing_agents);
  if (!message.cluster.empty()) out.setCluster(text_of(message.cluster));
}

void write(const Offers& message, wire::Envelope::Builder envelope) {
  auto offers = envelope.initOffers().initOffers(static_cast<unsigned>(message.offers.size()));
  for (unsigned i = 0; i < offers.size(); ++i) write(message.offers[i], offers[i]);
}

void write(const Rescind& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRescind();
  fill_offer_ids(out.initOffers(static_cast<unsigned>(message.offers.size())), message.offers);
}

void write(const AgentTrouble& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initAgentTrouble();
  if (!message.why.empty()) out.setWhy(text_of(message.why));
}

void write(const RevokeNotice& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRevokeNotice();
  fill_texts(out.initTasks(static_cast<unsigned>(message.tasks.size())), message.tasks);
  out.setAgent(text_of(message.agent));
  out.setReason(same<wire::RevokeReason>(message.reason));
  if (!message.beneficiary.empty()) out.setBeneficiary(text_of(message.beneficiary));
  out.setGraceNanos(message.grace.nanos());
}

void write(const RevokeWithdrawn& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRevokeWithdrawn();
  fill_texts(out.initTasks(static_cast<unsigned>(message.tasks.size())), message.tasks);
  out.setAgent(text_of(message.agent));
}

void write(const Update& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initUpdate();
  out.setFramework(text_of(message.framework));
  write(message.status, out.initStatus());
}

void write(const AskReport& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initAskReport();
  out.setGeneration(message.generation);
  auto rows = out.initRows(static_cast<unsigned>(message.rows.size()));
  for (unsigned i = 0; i < rows.size(); ++i) {
    const AskReport::Row& row = message.rows[i];
    rows[i].setAsk(text_of(row.ask));
    rows[i].setCouldEverFit(row.could_ever_fit);
    if (!row.why.empty())
      fill(rows[i].initWhy(static_cast<unsigned>(words_size(row.why))), row.why);
  }
}

void write(const Failure& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initFailure();
  out.setAgent(text_of(message.agent));
  if (!message.executor.empty()) out.setExecutor(text_of(message.executor));
  if (!message.message.empty()) {
    fill(out.initMessage(static_cast<unsigned>(words_size(message.message))), message.message);
  }
}

void write(const ErrorMessage& message, wire::ErrorMessage::Builder out) {
  out.setCode(same<wire::ErrorCode>(message.code));
  if (!message.message.empty()) {
    fill(out.initMessage(static_cast<unsigned>(words_size(message.message))), message.message);
  }
  if (!message.hint.empty()) {
    fill(out.initHint(static_cast<unsigned>(words_size(message.hint))), message.hint);
  }
  out.setEndsSession(message.ends_session);
  out.setRetry(message.retry);
  out.setEndsTasks(message.ends_tasks);
}

void write(const ErrorMessage& message, wire::Envelope::Builder envelope) {
  write(message, envelope.initError());
}

void write(const RegisterAgent& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRegisterAgent();
  out.setAgent(text_of(message.agent));
  out.setSecret(text_of(message.secret));
  write_agent_parts(message, out);
  if (!message.ports.empty()) {
    fill_ports(out.initPorts(ranges_count(message.ports)), message.ports);
  }
  if (!message.http_address.empty()) out.setHttpAddress(text_of(message.http_address));
  if (!message.trouble.empty()) out.setTrouble(text_of(message.trouble));
  out.setTasksFollow(message.tasks_follow);
  out.setMemory(message.memory);
  if (!message.limits.empty()) out.setLimits(text_of(message.limits));
  if (!message.cluster.empty()) out.setCluster(text_of(message.cluster));
  out.setBoot(message.boot);
  out.setTakesSecrets(message.takes_secrets);
  out.setKeepsTickets(message.keeps_tickets);
  if (message.files.address.empty()) return;
  auto files = out.initFiles();
  files.setAddress(text_of(message.files.address));
  files.setPin(text_of(message.files.pin));
  files.setTokenKey(text_of(message.files.token_key));
  files.setClock(message.files.clock.nanos());
}

void write(const RegisterTasks& message, wire::Envelope::Builder envelope) {
  auto tasks = envelope.initRegisterTasks().initTasks(static_cast<unsigned>(message.tasks.size()));
  for (unsigned i = 0; i < tasks.size(); ++i) write(message.tasks[i], tasks[i]);
}

void write(const UnregisterAgent&, wire::Envelope::Builder envelope) {
  envelope.setUnregisterAgent();
}

void write(const AgentRegistered& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initAgentRegistered();
  out.setAgent(text_of(message.agent));
  out.setSession(message.session.value());
  out.setHeartbeatNanos(message.heartbeat.nanos());
  out.setTimeoutNanos(message.timeout.nanos());
  if (!message.cluster.empty()) out.setCluster(text_of(message.cluster));
}

void write(const RunTask& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRunTask();
  out.setFramework(text_of(message.framework));
  write(message.spec, out.initSpec());
  write(message.assignment, out.initAssignment());
  if (!message.secrets.empty()) {
    auto secrets = out.initSecrets(static_cast<unsigned>(message.secrets.size()));
    for (unsigned i = 0; i < secrets.size(); ++i) {
      secrets[i].setName(text_of(message.secrets[i].name));
      if (!message.secrets[i].value.empty()) secrets[i].setValue(data_of(message.secrets[i].value));
    }
  }
  out.setRun(message.run);
  if (!message.becomes) return;
  auto becomes = out.initBecomes();
  becomes.setExecutor(text_of(message.becomes->executor));
  becomes.setSandbox(text_of(message.becomes->sandbox));
}

void write(const ShutdownFramework& message, wire::Envelope::Builder envelope) {
  envelope.initShutdownFramework().setFramework(text_of(message.framework));
}

void write(const ReleaseFiles& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initReleaseFiles();
  if (!message.framework.empty()) out.setFramework(text_of(message.framework));
  fill_texts(out.initBegins(static_cast<unsigned>(message.begins.size())), message.begins);
  if (message.agents.empty()) return;
  fill_texts(out.initAgents(static_cast<unsigned>(message.agents.size())), message.agents);
}

void write(const ExecutorHello& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initExecutorHello();
  out.setFramework(text_of(message.framework));
  out.setExecutor(text_of(message.executor));
  out.setToken(text_of(message.token));
  out.setRun(message.run);
  out.setTellsRuns(message.tells_runs);
  if (message.runs.empty()) return;
  auto runs = out.initRuns(static_cast<unsigned>(message.runs.size()));
  for (unsigned i = 0; i < runs.size(); ++i) {
    const ExecutorRun& run = message.runs[i];
    runs[i].setTask(text_of(run.task));
    runs[i].setRun(run.run);
    runs[i].setEnded(run.ended);
    runs[i].setAcknowledged(run.acknowledged);
    if (run.status) write(*run.status, runs[i].initStatus());
  }
}

void write(const ExecutorWelcome& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initExecutorWelcome();
  out.setSession(message.session.value());
  out.setHeartbeatNanos(message.heartbeat.nanos());
  out.setTimeoutNanos(message.timeout.nanos());
}

void write(const ExecutorUpdate& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initExecutorUpdate();
  write(message.status, out.initStatus());
  out.setTakesAnother(message.takes_another);
}

void write(const ExecutorShutdown&, wire::Envelope::Builder envelope) {
  envelope.setExecutorShutdown();
}
void write(const Heartbeat&, wire::Envelope::Builder envelope) { envelope.setHeartbeat(); }

void write(const Call& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initCall();
  out.setId(message.id);
  out.setMethod(text_of(message.method));
  if (!message.json.empty()) out.setJson(text_of(message.json));
}

void write(const Reply& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initReply();
  out.setId(message.id);
  if (!message.json.empty()) out.setJson(text_of(message.json));
  if (!message.next.empty()) out.setNext(text_of(message.next));
  if (message.error) write(*message.error, out.initError());
}

void write(const StoreRequest& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initStoreRequest();
  out.setId(message.id);
  auto operations = out.initOperations(static_cast<unsigned>(message.operations.size()));
  for (unsigned i = 0; i < operations.size(); ++i) {
    const StoreOperation& operation = message.operations[i];
    operations[i].setKind(same<wire::StoreOperationKind>(operation.kind));
    if (!operation.key.empty()) operations[i].setKey(text_of(operation.key));
    if (!operation.value.empty()) operations[i].setValue(data_of(operation.value));
    operations[i].setHasExpected(operation.expected.has_value());
    operations[i].setExpected(operation.expected.value_or(0));
    if (!operation.after.empty()) operations[i].setAfter(text_of(operation.after));
  }
}

void write(const StoreResult& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initStoreResult();
  out.setId(message.id);
  auto outcomes = out.initOutcomes(static_cast<unsigned>(message.outcomes.size()));
  for (unsigned i = 0; i < outcomes.size(); ++i) {
    const StoreResult::Outcome& outcome = message.outcomes[i];
    outcomes[i].setVersion(outcome.version);
    if (!outcome.value.empty()) outcomes[i].setValue(data_of(outcome.value));
    outcomes[i].setMore(outcome.more);
    if (outcome.entries.empty()) continue;
    auto entries = outcomes[i].initEntries(static_cast<unsigned>(outcome.entries.size()));
    for (unsigned k = 0; k < entries.size(); ++k) {
      entries[k].setKey(text_of(outcome.entries[k].key));
      entries[k].setVersion(outcome.entries[k].version);
    }
  }
  if (message.error) write(*message.error, out.initError());
}

void write(const FrameworkRequest& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initFrameworkRequest();
  out.setRelay(message.relay);
  out.setId(text_of(message.id));
  if (!message.principal.empty()) out.setPrincipal(text_of(message.principal));
  if (!message.data.empty()) out.setData(data_of(message.data));
  out.setTimeoutNanos(message.timeout.nanos());
  out.setIsOperator(message.is_operator);
  if (!message.role.empty()) out.setRole(text_of(message.role.str()));
}

void write(const FrameworkResponse& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initFrameworkResponse();
  out.setRelay(message.relay);
  if (!message.data.empty()) out.setData(data_of(message.data));
  if (message.error) write(*message.error, out.initError());
}

// --- the registry ------------------------------------------------------------------------------

void write(const FrameworkRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initFramework();
  out.setFramework(text_of(record.framework));
  out.setName(text_of(record.name));
  out.setRole(text_of(record.role));
  out.setMode(same<wire::OfferMode>(record.mode));
  out.setSecret(text_of(record.secret));
  out.setFailoverNanos(record.failover_timeout.nanos());
  if (!record.user.empty()) out.setUser(text_of(record.user));
  out.setServesUsers(record.serves_users);
  out.setRemembersTasks(record.remembers_tasks);
  if (!record.ticket_key.empty()) out.setTicketKey(text_of(record.ticket_key));
  if (!record.users.empty()) {
    fill_texts(out.initUsers(static_cast<unsigned>(record.users.size())), record.users);
  }
}

void write(const AgentRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initAgent();
  out.setAgent(text_of(record.agent));
  out.setSecret(text_of(record.secret));
  out.setAdmission(record.admission);
  out.setUnreachable(record.unreachable);
  if (record.drained_by) {
    out.setDraining(true);
    out.setDrainedByNanos(record.drained_by->nanos());
  }
  if (record.gone_at) {
    out.setGone(true);
    out.setGoneAtNanos(record.gone_at->nanos());
  }
  if (!record.gone_secrets.empty()) {
    fill_texts(out.initGoneSecrets(static_cast<unsigned>(record.gone_secrets.size())),
               record.gone_secrets);
  }
}

unsigned kinds_count(const Quota& quota) {
  unsigned count = 0;
  for (const ResourceKind kind : kResourceKinds) count += quota[kind] ? 1 : 0;
  return count;
}

void fill_quota(capnp::List<wire::KindAmount>::Builder out, const Quota& quota) {
  unsigned i = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (!quota[kind]) continue;
    out[i].setKind(same<wire::ResourceKind>(kind));
    out[i++].setMilli(*quota[kind]);
  }
}

void write(const RoleRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initRole();
  out.setRole(text_of(record.role));
  out.setWeight(record.settings.weight);
  const Quota& guarantee = record.settings.guarantee;
  const Quota& limit = record.settings.limit;
  if (!guarantee.empty()) fill_quota(out.initGuarantee(kinds_count(guarantee)), guarantee);
  if (!limit.empty()) fill_quota(out.initLimit(kinds_count(limit)), limit);
  if (record.users.empty()) return;
  fill_texts(out.initUsers(static_cast<unsigned>(record.users.size())), record.users);
}

void write(const ReservationRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initReservation();
  out.setAgent(text_of(record.agent));
  out.setRole(text_of(record.role));
  write(record.resources, out.initResources());
}

void write(const KnownKey& record, wire::RegistryRow::Builder row) {
  auto out = row.initKey();
  out.setKey(text_of(record.key));
  out.setKind(same<wire::KeyKind>(record.kind));
  out.setName(text_of(record.name));
  out.setSinceNanos(record.since.nanos());
  if (!record.by.empty()) out.setBy(text_of(record.by));
  if (!record.runs_as.empty()) out.setRunsAs(text_of(record.runs_as));
  if (!record.replaces.empty()) out.setReplaces(text_of(record.replaces));
  if (!record.token_until) return;
  out.setToken(true);
  out.setTokenUntilNanos(record.token_until->nanos());
}

void write(const SecretRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initSecret();
  out.setOwner(text_of(record.owner));
  out.setName(text_of(record.name));
  if (!record.sealed.empty()) out.setSealed(data_of(record.sealed));
  out.setKeyId(text_of(record.key_id));
  out.setSinceNanos(record.since.nanos());
}

void write(const ClusterRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initCluster();
  out.setCluster(text_of(record.cluster));
  if (record.led.empty()) return;
  auto all = out.initLed(static_cast<unsigned>(record.led.size()));
  for (unsigned i = 0; i < all.size(); ++i) {
    const LedMaster& led = record.led[i];
    all[i].setMaster(text_of(led.master));
    all[i].setName(text_of(led.name));
    all[i].setFirstEpoch(led.first.value());
    all[i].setLastEpoch(led.last.value());
    all[i].setSinceNanos(led.since.nanos());
    if (!led.until) continue;
    all[i].setOver(true);
    all[i].setUntilNanos(led.until->nanos());
  }
}

void write(const StoreRecord& record, wire::RegistryRow::Builder row) {
  auto out = row.initStore();
  out.setFramework(text_of(record.framework));
  out.setKey(text_of(record.key));
  if (!record.value.empty()) out.setValue(data_of(record.value));
  out.setVersion(record.version);
}

// --- the checkpoint ----------------------------------------------------------------------------

void write(const AgentIdentity& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initIdentity();
  out.setAgent(text_of(record.agent));
  out.setSecret(text_of(record.secret));
  out.setLeader(record.leader.value());
  if (!record.place.empty()) out.setPlace(text_of(record.place));
  if (!record.cluster.empty()) out.setCluster(text_of(record.cluster));
  out.setMemory(record.memory);
  out.setRecords(record.records);
  out.setRemembered(static_cast<uint8_t>(record.remembered));
}

void write(const ExecutorRecord& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initExecutor();
  out.setFramework(text_of(record.framework));
  out.setExecutor(text_of(record.executor));
  out.setToken(text_of(record.token));
  out.setRun(record.run);
  out.setPid(record.pid);
  out.setStartTicks(record.start_ticks);
  if (!record.boot_id.empty()) out.setBootId(text_of(record.boot_id));
  if (!record.program.empty()) out.setProgram(text_of(record.program));
  out.setOwn(record.own);
  out.setLeftover(record.leftover);
  if (!record.user.empty()) out.setUser(text_of(record.user));
  out.setFetching(record.fetching);
}

void write(const ExecutorGone& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initExecutorGone();
  out.setFramework(text_of(record.framework));
  out.setExecutor(text_of(record.executor));
}

void write(const TaskRecord& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initTask();
  out.setFramework(text_of(record.framework));
  write(record.spec, out.initSpec());
  write(record.assignment, out.initAssignment());
  out.setExecutor(text_of(record.executor));
  out.setRun(record.run);
}

void write(const UpdateRecord& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initUpdate();
  out.setFramework(text_of(record.framework));
  write(record.status, out.initStatus());
  out.setExecutorSequence(record.executor_sequence);
}

void write(const AcknowledgedRecord& record, wire::CheckpointRecord::Builder entry) {
  auto out = entry.initAcknowledged();
  out.setFramework(text_of(record.framework));
  out.setTask(text_of(record.task));
  out.setSequence(record.sequence);
}

// --- the master's history ----------------------------------------------------------------------

void write(const EndedTask& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initTask();
  out.setFramework(text_of(record.framework));
  if (!record.framework_name.empty()) out.setFrameworkName(text_of(record.framework_name));
  if (!record.role.empty()) out.setRole(text_of(record.role));
  if (!record.user.empty()) out.setUser(text_of(record.user));
  if (!record.command.empty()) out.setCommand(text_of(record.command));
  if (!record.ask.empty()) out.setAsk(text_of(record.ask));
  if (!record.amounts.is_zero()) write(record.amounts, out.initAmounts());
  out.setLaunchedNanos(record.launched_at.nanos());
  write(record.status, out.initStatus());
  if (record.waited.empty()) return;
  auto spans = out.initWaited(static_cast<unsigned>(record.waited.size()));
  for (unsigned i = 0; i < spans.size(); ++i) {
    spans[i].setReason(same<wire::WaitReason>(record.waited[i].reason));
    spans[i].setNanos(record.waited[i].spent.nanos());
  }
}

void write(const RoleUse& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initRoleUse();
  out.setRole(text_of(record.role));
  out.setFromNanos(record.from.nanos());
  out.setUntilNanos(record.until.nanos());
  write(record.seconds, out.initSeconds());
}

void write(const RoleWait& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initRoleWait();
  out.setRole(text_of(record.role));
  out.setFromNanos(record.from.nanos());
  out.setUntilNanos(record.until.nanos());
  auto sums = out.initWaited(static_cast<unsigned>(record.waited.size()));
  for (unsigned i = 0; i < sums.size(); ++i) {
    sums[i].setReason(same<wire::WaitReason>(record.waited[i].reason));
    sums[i].setMillis(record.waited[i].millis);
    sums[i].setTasks(record.waited[i].tasks);
  }
}

void write(const LifeBegan& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initLifeBegan();
  out.setLeader(record.leader.value());
  out.setAtNanos(record.at.nanos());
}

void write(const LifeEnded& record, wire::HistoryRecord::Builder entry) {
  entry.initLifeEnded().setAtNanos(record.at.nanos());
}

void write(const HistoryGap& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initGap();
  out.setFromNanos(record.from.nanos());
  out.setUntilNanos(record.until.nanos());
  out.setLost(record.lost);
}

}  // namespace

void write_message(const Message& message, wire::Envelope::Builder out) {
  std::visit([&](const auto& alternative) { write(alternative, out); }, message);
}

void write_row(const RegistryRow& row, wire::RegistryRow::Builder out) {
  std::visit([&](const auto& alternative) { write(alternative, out); }, row);
}

void write_history(const HistoryRecord& record, wire::HistoryRecord::Builder out) {
  std::visit([&](const auto& alternative) { write(alternative, out); }, record);
}

void write_record(const CheckpointRecord& record, wire::CheckpointRecord::Builder out) {
  std::visit([&](const auto& alternative) { write(alternative, out); }, record);
}

}  // namespace proffer::proto
