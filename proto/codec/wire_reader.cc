// Turns bytes from any peer into values that cores can trust. There is one function for each struct
// of the schema, in its order; each checks the rules in the schema's comments. The first fault is
// kept; later ones are ignored. Start at read(Envelope), at the end. This file has the messages;
// wire_reader_values.cc reads their parts, wire_reader_records.cc the records.

#include "proto/codec/wire_reader.h"

#include <algorithm>

#include "common/limits.h"
#include "common/roles.h"
#include "common/text.h"

namespace proffer::proto {

// --- scheduler to master -----------------------------------------------------------------------

void WireReader::fill(wire::Subscribe::Reader in, Subscribe& out) {
  optional_name(in.getFramework(), "framework id", out.framework);
  name(in.getName(), "framework name", out.name);
  role(in.getRole(), out.role);
  enumerator(in.getMode(), "offer mode", 2, out.mode);
  secret(in.getSecret(), out.secret);
  span(in.getFailoverNanos(), "the failover timeout", out.failover_timeout);
  text(in.getUser(), "the user", kNameBytesMax, out.user);
  out.serves_users = in.getServesUsers();
  out.remembers_tasks = in.getRemembersTasks();
  cluster(in.getCluster(), out.cluster);
  out.stands_by = in.getStandsBy();
}

void WireReader::fill(wire::DeclareAsks::Reader in, DeclareAsks& out) {
  out.generation = in.getGeneration();
  const auto asks = in.getAsks();
  if (!count(asks.size(), "asks", kAsksMax)) return;
  out.asks.resize(asks.size());
  for (unsigned i = 0; i < asks.size() && ok(); ++i) ask(asks[i], out.asks[i]);
}

void WireReader::launch(wire::Launch::Reader in, Launch& out) {
  name(in.getAgent(), "agent name", out.agent);
  const auto tasks = in.getTasks();
  if (!count(tasks.size(), "tasks of a launch", kTasksPerMessageMax)) return;
  out.tasks.resize(tasks.size());
  for (unsigned i = 0; i < tasks.size() && ok(); ++i) spec(tasks[i], out.tasks[i]);
}

template <class Reservation>
void WireReader::reservation(wire::Reserve::Reader in, Reservation& out) {
  name(in.getAgent(), "agent name", out.agent);
  role(in.getRole(), out.role);
  amounts(in.getAmounts(), out.amounts);
}

void WireReader::operation(wire::Operation::Reader in, Operation& out) {
  switch (in.which()) {
    case wire::Operation::LAUNCH:
      return launch(in.getLaunch(), out.emplace<Launch>());
    case wire::Operation::RESERVE:
      return reservation(in.getReserve(), out.emplace<Reserve>());
    case wire::Operation::UNRESERVE:
      return reservation(in.getUnreserve(), out.emplace<Unreserve>());
    case wire::Operation::NONE:
      break;
  }
  refuse(
      Error::unsupported(proffer::text("unknown operation ", static_cast<uint16_t>(in.which()))));
}

void WireReader::fill(wire::Accept::Reader in, Accept& out) {
  offer_ids(in.getOffers(), out.offers);
  const auto operations = in.getOperations();
  if (!count(operations.size(), "operations", kOperationsMax)) return;
  out.operations.resize(operations.size());
  for (unsigned i = 0; i < operations.size() && ok(); ++i) {
    operation(operations[i], out.operations[i]);
  }
  refusal(in.getRefusal(), out.refusal);
}

void WireReader::fill(wire::Decline::Reader in, Decline& out) {
  offer_ids(in.getOffers(), out.offers);
  refusal(in.getRefusal(), out.refusal);
}

void WireReader::fill(wire::KillTask::Reader in, KillTask& out) {
  optional_name(in.getFramework(), "framework id", out.framework);
  name(in.getTask(), "task id", out.task);
  if (in.getGraceNanos() != -1)
    span(in.getGraceNanos(), "the grace of a kill", out.grace.emplace());
}

void WireReader::fill(wire::Acknowledge::Reader in, Acknowledge& out) {
  optional_name(in.getFramework(), "framework id", out.framework);
  name(in.getTask(), "task id", out.task);
  optional_name(in.getAgent(), "agent name", out.agent);
  enumerator(in.getSource(), "update source", 2, out.source);
  out.sequence = in.getSequence();
}

void WireReader::fill(wire::Reconcile::Reader in, Reconcile& out) {
  const auto tasks = in.getTasks();
  if (!count(tasks.size(), "tasks to reconcile", kTasksPerMessageMax)) return;
  out.tasks.resize(tasks.size());
  for (unsigned i = 0; i < tasks.size() && ok(); ++i) name(tasks[i], "task id", out.tasks[i]);
  const auto agents = in.getAgents();
  if (!ok() || agents.size() == 0) return;
  if (agents.size() != tasks.size()) {
    return refuse(Error::invalid_argument("tasks to reconcile must have an agent each, or none"));
  }
  out.agents.resize(agents.size());
  for (unsigned i = 0; i < agents.size() && ok(); ++i) {
    optional_name(agents[i], "agent name", out.agents[i]);
  }
}

void WireReader::fill(wire::Reconciled::Reader in, Reconciled& out) {
  out.missing_agents = in.getMissingAgents();
}

void WireReader::fill(wire::NotLeader::Reader in, NotLeader& out) {
  text(in.getLeader(), "the address of the leader", kAddressBytesMax, out.leader);
}

void WireReader::fill(wire::FrameworkMessage::Reader in, FrameworkMessage& out) {
  optional_name(in.getFramework(), "framework id", out.framework);
  optional_name(in.getAgent(), "agent name", out.agent);
  name(in.getExecutor(), "executor id", out.executor);
  out.to_scheduler = in.getToScheduler();
  data(in.getData(), "a framework message", kPayloadBytesMax, out.data);
}

void WireReader::fill(wire::StoreRequest::Reader in, StoreRequest& out) {
  out.id = in.getId();
  const auto operations = in.getOperations();
  if (!count(operations.size(), "store operations", kStoreOperationsMax)) return;
  if (operations.size() == 0) {
    return refuse(Error::invalid_argument("a store request must have an operation"));
  }
  out.operations.resize(operations.size());
  size_t bytes = 0;
  for (unsigned i = 0; i < operations.size() && ok(); ++i) {
    StoreOperation& operation = out.operations[i];
    enumerator(operations[i].getKind(), "kind of store operation", kStoreOperationKindCount,
               operation.kind);
    text(operations[i].getKey(), "a store key", kStoreKeyBytesMax, operation.key);
    data(operations[i].getValue(), "a store value", kStoreEntryBytesMax, operation.value);
    text(operations[i].getAfter(), "a store key", kStoreKeyBytesMax, operation.after);
    if (operations[i].getHasExpected()) operation.expected = operations[i].getExpected();
    if (ok()) accept(check_store_operation(operation));
    bytes += operation.key.size() + operation.value.size();
  }
  if (bytes > kStoreRequestBytesMax)
    refuse(too_long("a store request", bytes, kStoreRequestBytesMax));
}

void WireReader::fill(wire::FrameworkResponse::Reader in, FrameworkResponse& out) {
  out.relay = in.getRelay();
  data(in.getData(), "the response of a framework", kRelayedBytesMax, out.data);
  if (in.hasError()) error_message(in.getError(), out.error.emplace());
}

// --- master to scheduler -----------------------------------------------------------------------

void WireReader::fill(wire::FrameworkRequest::Reader in, FrameworkRequest& out) {
  out.relay = in.getRelay();
  name(in.getId(), "request id", out.id);
  text(in.getPrincipal(), "the principal", kNameBytesMax, out.principal);
  data(in.getData(), "a request to a framework", kRelayedBytesMax, out.data);
  span(in.getTimeoutNanos(), "the timeout of a request", out.timeout);
  out.is_operator = in.getIsOperator();
  if (in.hasRole()) role(in.getRole(), out.role);
}

void WireReader::fill(wire::StoreResult::Reader in, StoreResult& out) {
  out.id = in.getId();
  if (in.hasError()) error_message(in.getError(), out.error.emplace());
  const auto outcomes = in.getOutcomes();
  if (!count(outcomes.size(), "store outcomes", kStoreOperationsMax)) return;
  out.outcomes.resize(outcomes.size());
  for (unsigned i = 0; i < outcomes.size() && ok(); ++i) {
    StoreResult::Outcome& outcome = out.outcomes[i];
    outcome.version = outcomes[i].getVersion();
    data(outcomes[i].getValue(), "a store value", kStoreEntryBytesMax, outcome.value);
    outcome.more = outcomes[i].getMore();
    const auto entries = outcomes[i].getEntries();
    if (!count(entries.size(), "store entries", kStoreListMax)) return;
    outcome.entries.resize(entries.size());
    for (unsigned k = 0; k < entries.size() && ok(); ++k) {
      store_key(entries[k].getKey(), outcome.entries[k].key);
      outcome.entries[k].version = entries[k].getVersion();
    }
  }
}

void WireReader::fill(wire::Subscribed::Reader in, Subscribed& out) {
  name(in.getFramework(), "framework id", out.framework);
  out.session = SessionEpoch(in.getSession());
  out.failed_over = in.getFailedOver();
  span(in.getHeartbeatNanos(), "the heartbeat", out.heartbeat);
  span(in.getTimeoutNanos(), "the timeout", out.timeout);
  out.missing_agents = in.getMissingAgents();
  cluster(in.getCluster(), out.cluster);
}

void WireReader::fill(wire::Offers::Reader in, Offers& out) {
  const auto offers = in.getOffers();
  if (!count(offers.size(), "offers", kOffersPerMessageMax)) return;
  out.offers.resize(offers.size());
  for (unsigned i = 0; i < offers.size() && ok(); ++i) offer(offers[i], out.offers[i]);
}

void WireReader::fill(wire::Rescind::Reader in, Rescind& out) {
  offer_ids(in.getOffers(), out.offers);
}

void WireReader::fill(wire::AgentTrouble::Reader in, AgentTrouble& out) {
  text(in.getWhy(), "the trouble of an agent", kTroubleBytesMax, out.why);
}

void WireReader::fill(wire::RevokeNotice::Reader in, RevokeNotice& out) {
  const auto tasks = in.getTasks();
  if (!count(tasks.size(), "tasks of a revoke notice", kTasksPerMessageMax)) return;
  if (tasks.size() == 0) {
    return refuse(Error::invalid_argument("a revoke notice must name a task"));
  }
  out.tasks.resize(tasks.size());
  for (unsigned i = 0; i < tasks.size() && ok(); ++i) name(tasks[i], "task id", out.tasks[i]);
  name(in.getAgent(), "agent name", out.agent);
  enumerator(in.getReason(), "revoke reason", kRevokeReasonCount, out.reason);
  if (in.getBeneficiary().size() > 0) role(in.getBeneficiary(), out.beneficiary);
  span(in.getGraceNanos(), "the grace of a revoke notice", out.grace);
}

void WireReader::fill(wire::RevokeWithdrawn::Reader in, RevokeWithdrawn& out) {
  const auto tasks = in.getTasks();
  if (!count(tasks.size(), "tasks of a withdrawn revoke", kTasksPerMessageMax)) return;
  if (tasks.size() == 0) {
    return refuse(Error::invalid_argument("a withdrawn revoke must name a task"));
  }
  out.tasks.resize(tasks.size());
  for (unsigned i = 0; i < tasks.size() && ok(); ++i) name(tasks[i], "task id", out.tasks[i]);
  name(in.getAgent(), "agent name", out.agent);
}

void WireReader::fill(wire::Update::Reader in, Update& out) {
  name(in.getFramework(), "framework id", out.framework);
  status(in.getStatus(), out.status);
}

void WireReader::fill(wire::AskReport::Reader in, AskReport& out) {
  out.generation = in.getGeneration();
  const auto rows = in.getRows();
  if (!count(rows.size(), "rows of an ask report", kAsksMax)) return;
  out.rows.resize(rows.size());
  for (unsigned i = 0; i < rows.size() && ok(); ++i) {
    name(rows[i].getAsk(), "ask name", out.rows[i].ask);
    out.rows[i].could_ever_fit = rows[i].getCouldEverFit();
    words(rows[i].getWhy(), out.rows[i].why);
  }
}

void WireReader::fill(wire::Failure::Reader in, Failure& out) {
  name(in.getAgent(), "agent name", out.agent);
  optional_name(in.getExecutor(), "executor id", out.executor);
  words(in.getMessage(), out.message);
}

void WireReader::error_message(wire::ErrorMessage::Reader in, ErrorMessage& out) {
  enumerator(in.getCode(), "error code", kErrorCodeCount, out.code);
  words(in.getMessage(), out.message);
  words(in.getHint(), out.hint);
  out.ends_session = in.getEndsSession();
  out.retry = in.getRetry();
  out.ends_tasks = in.getEndsTasks();
}

// --- agent and master --------------------------------------------------------------------------

void WireReader::fill(wire::RegisterAgent::Reader in, RegisterAgent& out) {
  name(in.getAgent(), "agent name", out.agent);
  secret(in.getSecret(), out.secret);
  attributes(in.getAttributes(), out.attributes);
  slices(in.getSlices(), out.slices);
  ports(in.getPorts(), out.ports);
  text(in.getHttpAddress(), "the HTTP address", kAddressBytesMax, out.http_address);
  text(in.getTrouble(), "the trouble of an agent", kTroubleBytesMax, out.trouble);
  int64_t follow = 0;
  whole(in.getTasksFollow(), "the number of messages with tasks", 0, int64_t{kTasksPerAgentMax},
        follow);
  out.tasks_follow = static_cast<uint32_t>(follow);
  out.memory = in.getMemory();
  text(in.getLimits(), "what the agent enforces", kLimitsTextBytesMax, out.limits);
  cluster(in.getCluster(), out.cluster);
  if (in.hasFiles()) file_service(in.getFiles(), out.files);
  out.boot = in.getBoot();
  out.takes_secrets = in.getTakesSecrets();
  out.keeps_tickets = in.getKeepsTickets();
}

void WireReader::file_service(wire::FileService::Reader in, FileService& out) {
  text(in.getAddress(), "the address of files", kAddressBytesMax, out.address);
  text(in.getPin(), "the pin of a certificate", kPinBytesMax, out.pin);
  secret(in.getTokenKey(), out.token_key);
  time(in.getClock(), out.clock);
}

void WireReader::fill(wire::RegisterTasks::Reader in, RegisterTasks& out) {
  const auto tasks = in.getTasks();
  if (!count(tasks.size(), "tasks of an agent in one message", kTasksPerMessageMax)) return;
  out.tasks.resize(tasks.size());
  for (unsigned i = 0; i < tasks.size() && ok(); ++i) agent_task(tasks[i], out.tasks[i]);
}

void WireReader::fill(wire::AgentRegistered::Reader in, AgentRegistered& out) {
  name(in.getAgent(), "agent name", out.agent);
  out.session = SessionEpoch(in.getSession());
  span(in.getHeartbeatNanos(), "the heartbeat", out.heartbeat);
  span(in.getTimeoutNanos(), "the timeout", out.timeout);
  cluster(in.getCluster(), out.cluster);
}

void WireReader::fill(wire::RunTask::Reader in, RunTask& out) {
  name(in.getFramework(), "framework id", out.framework);
  spec(in.getSpec(), out.spec);
  assignment(in.getAssignment(), out.assignment);
  const auto secrets = in.getSecrets();
  if (!count(secrets.size(), "values of secrets", kTaskSecretsMax)) return;
  for (const wire::SecretValue::Reader one : secrets) {
    SecretValue& secret = out.secrets.emplace_back();
    name(one.getName(), "the name of a secret", secret.name);
    data(one.getValue(), "the value of a secret", kSealedSecretBytesMax, secret.value);
  }
  out.run = in.getRun();
  if (!in.hasBecomes()) return;
  const auto becomes = in.getBecomes();
  ExecutorPlace& place = out.becomes.emplace();
  name(becomes.getExecutor(), "executor id", place.executor);
  c_text(becomes.getSandbox(), "the sandbox", kPathBytesMax, place.sandbox);
}

void WireReader::fill(wire::ShutdownFramework::Reader in, ShutdownFramework& out) {
  name(in.getFramework(), "framework id", out.framework);
}

void WireReader::fill(wire::ReleaseFiles::Reader in, ReleaseFiles& out) {
  optional_name(in.getFramework(), "framework id", out.framework);
  const auto begins = in.getBegins();
  const auto agents = in.getAgents();
  if (!count(begins.size(), "names of released files", kReleasedNamesMax) ||
      !count(agents.size(), "agents of released files", kReleasedAgentsMax)) {
    return;
  }
  if (begins.size() == 0) {
    return refuse(Error::invalid_argument("a release of files must have a name"));
  }
  out.begins.resize(begins.size());
  for (unsigned i = 0; i < begins.size() && ok(); ++i) {
    name(begins[i], "the beginning of a task id", out.begins[i]);
  }
  out.agents.resize(agents.size());
  for (unsigned i = 0; i < agents.size() && ok(); ++i) {
    name(agents[i], "agent name", out.agents[i]);
  }
}

// --- executor and agent ------------------------------------------------------------------------

void WireReader::fill(wire::ExecutorHello::Reader in, ExecutorHello& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getExecutor(), "executor id", out.executor);
  secret(in.getToken(), out.token);
  out.run = in.getRun();
  out.tells_runs = in.getTellsRuns();
  const auto runs = in.getRuns();
  if (!count(runs.size(), "tasks of an executor", kExecutorRunsMax)) return;
  out.runs.resize(runs.size());
  for (unsigned i = 0; i < runs.size() && ok(); ++i) {
    ExecutorRun& run = out.runs[i];
    name(runs[i].getTask(), "task id", run.task);
    run.run = runs[i].getRun();
    run.ended = runs[i].getEnded();
    run.acknowledged = runs[i].getAcknowledged();
    if (runs[i].hasStatus()) status(runs[i].getStatus(), run.status.emplace());
  }
}

void WireReader::fill(wire::ExecutorWelcome::Reader in, ExecutorWelcome& out) {
  out.session = SessionEpoch(in.getSession());
  span(in.getHeartbeatNanos(), "the heartbeat", out.heartbeat);
  span(in.getTimeoutNanos(), "the timeout", out.timeout);
}

void WireReader::fill(wire::ExecutorUpdate::Reader in, ExecutorUpdate& out) {
  status(in.getStatus(), out.status);
  out.takes_another = in.getTakesAnother();
}

// --- all peers ---------------------------------------------------------------------------------

void WireReader::fill(wire::Call::Reader in, Call& out) {
  out.id = in.getId();
  name(in.getMethod(), "method", out.method);
  text(in.getJson(), "the arguments of a call", kJsonBytesMax, out.json);
}

void WireReader::fill(wire::Reply::Reader in, Reply& out) {
  out.id = in.getId();
  text(in.getJson(), "a reply", kJsonBytesMax, out.json);
  text(in.getNext(), "the next page of a reply", kPageTextBytesMax, out.next);
  if (in.hasError()) error_message(in.getError(), out.error.emplace());
}

void WireReader::read(wire::Envelope::Reader in, Message& out) {
  using Which = wire::Envelope::Which;
  const auto into = [&](auto reader, auto& message) { fill(reader, message); };
  switch (in.which()) {
    case Which::SUBSCRIBE:
      return into(in.getSubscribe(), out.emplace<Subscribe>());
    case Which::DECLARE_ASKS:
      return into(in.getDeclareAsks(), out.emplace<DeclareAsks>());
    case Which::ACCEPT:
      return into(in.getAccept(), out.emplace<Accept>());
    case Which::DECLINE:
      return into(in.getDecline(), out.emplace<Decline>());
    case Which::SUPPRESS:
      out.emplace<Suppress>();
      return;
    case Which::REVIVE:
      out.emplace<Revive>();
      return;
    case Which::KILL_TASK:
      return into(in.getKillTask(), out.emplace<KillTask>());
    case Which::ACKNOWLEDGE:
      return into(in.getAcknowledge(), out.emplace<Acknowledge>());
    case Which::RECONCILE:
      return into(in.getReconcile(), out.emplace<Reconcile>());
    case Which::FRAMEWORK_MESSAGE:
      return into(in.getFrameworkMessage(), out.emplace<FrameworkMessage>());
    case Which::TEARDOWN:
      out.emplace<Teardown>();
      return;
    case Which::SUBSCRIBED:
      return into(in.getSubscribed(), out.emplace<Subscribed>());
    case Which::OFFERS:
      return into(in.getOffers(), out.emplace<Offers>());
    case Which::RESCIND:
      return into(in.getRescind(), out.emplace<Rescind>());
    case Which::UPDATE:
      return into(in.getUpdate(), out.emplace<Update>());
    case Which::ASK_REPORT:
      return into(in.getAskReport(), out.emplace<AskReport>());
    case Which::FAILURE:
      return into(in.getFailure(), out.emplace<Failure>());
    case Which::ERROR:
      return into(in.getError(), out.emplace<ErrorMessage>());
    case Which::REGISTER_AGENT:
      return into(in.getRegisterAgent(), out.emplace<RegisterAgent>());
    case Which::REGISTER_TASKS:
      return into(in.getRegisterTasks(), out.emplace<RegisterTasks>());
    case Which::UNREGISTER_AGENT:
      out.emplace<UnregisterAgent>();
      return;
    case Which::AGENT_REGISTERED:
      return into(in.getAgentRegistered(), out.emplace<AgentRegistered>());
    case Which::RUN_TASK:
      return into(in.getRunTask(), out.emplace<RunTask>());
    case Which::SHUTDOWN_FRAMEWORK:
      return into(in.getShutdownFramework(), out.emplace<ShutdownFramework>());
    case Which::EXECUTOR_HELLO:
      return into(in.getExecutorHello(), out.emplace<ExecutorHello>());
    case Which::EXECUTOR_WELCOME:
      return into(in.getExecutorWelcome(), out.emplace<ExecutorWelcome>());
    case Which::EXECUTOR_UPDATE:
      return into(in.getExecutorUpdate(), out.emplace<ExecutorUpdate>());
    case Which::EXECUTOR_SHUTDOWN:
      out.emplace<ExecutorShutdown>();
      return;
    case Which::HEARTBEAT:
      out.emplace<Heartbeat>();
      return;
    case Which::CALL:
      return into(in.getCall(), out.emplace<Call>());
    case Which::REPLY:
      return into(in.getReply(), out.emplace<Reply>());
    case Which::STORE_REQUEST:
      return into(in.getStoreRequest(), out.emplace<StoreRequest>());
    case Which::STORE_RESULT:
      return into(in.getStoreResult(), out.emplace<StoreResult>());
    case Which::FRAMEWORK_REQUEST:
      return into(in.getFrameworkRequest(), out.emplace<FrameworkRequest>());
    case Which::FRAMEWORK_RESPONSE:
      return into(in.getFrameworkResponse(), out.emplace<FrameworkResponse>());
    case Which::REVOKE_NOTICE:
      return into(in.getRevokeNotice(), out.emplace<RevokeNotice>());
    case Which::AGENT_TROUBLE:
      return into(in.getAgentTrouble(), out.emplace<AgentTrouble>());
    case Which::RECONCILED:
      return into(in.getReconciled(), out.emplace<Reconciled>());
    case Which::NOT_LEADER:
      return into(in.getNotLeader(), out.emplace<NotLeader>());
    case Which::RELEASE_FILES:
      return into(in.getReleaseFiles(), out.emplace<ReleaseFiles>());
    case Which::REVOKE_WITHDRAWN:
      return into(in.getRevokeWithdrawn(), out.emplace<RevokeWithdrawn>());
    case Which::NONE:
      break;
  }
  out = Unknown{.tag = static_cast<uint16_t>(in.which())};  // from a later version
}

}  // namespace proffer::proto
