// How values become the structs of the schema, one function for each. Empty texts, lists and zero
// amounts are not set: absence means the same and costs nothing. Start at write_message.

#include "proto/codec/wire_writer.h"

#include <algorithm>
#include <cstring>

namespace proffer::proto {
namespace {

template <class Wire, class Enum>
Wire same(Enum value) {
  return static_cast<Wire>(static_cast<uint16_t>(value));
}

kj::StringPtr text_of(const std::string& value) { return {value.c_str(), value.size()}; }

template <class Tag>
kj::StringPtr text_of(const Id<Tag>& id) {
  return text_of(id.str());
}

capnp::Data::Reader data_of(const std::string& value) {
  return {reinterpret_cast<const capnp::byte*>(value.data()), value.size()};
}

// How much of a text for people is sent: whole, or to the last whole character that fits.
size_t words_size(const std::string& words) {
  if (words.size() <= kReasonTextBytesMax) return words.size();
  size_t size = kReasonTextBytesMax;
  while (size + 4 > kReasonTextBytesMax &&
         (static_cast<unsigned char>(words[size]) & 0xC0) == 0x80) {
    --size;
  }
  return size;
}

void fill(capnp::Text::Builder out, const std::string& words) {
  std::memcpy(out.begin(), words.data(), out.size());
}

template <class List, class Values>
void fill_texts(List out, const Values& values) {
  unsigned i = 0;
  for (const auto& value : values) out.set(i++, text_of(value));
}

template <class List>
void fill_offer_ids(List out, const std::vector<OfferId>& offers) {
  unsigned i = 0;
  for (const OfferId offer : offers) out.set(i++, offer.value());
}

// --- resources ---------------------------------------------------------------------------------

void write(const ResourceVector& amounts, wire::Amounts::Builder out) {
  out.setCpus(amounts[ResourceKind::kCpus]);
  out.setMem(amounts[ResourceKind::kMem]);
  out.setDisk(amounts[ResourceKind::kDisk]);
  out.setGpus(amounts[ResourceKind::kGpus]);
}

void fill_ports(capnp::List<wire::PortRange>::Builder out, const PortSet& ports) {
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setFirst(ports.ranges()[i].first);
    out[i].setLast(ports.ranges()[i].last);
  }
}

unsigned ranges_count(const PortSet& ports) { return static_cast<unsigned>(ports.ranges().size()); }

void write(const Resources& resources, wire::Resources::Builder out) {
  if (!resources.amounts.is_zero()) write(resources.amounts, out.initAmounts());
  if (!resources.gpus.empty()) {
    auto gpus = out.initGpus(static_cast<unsigned>(resources.gpus.size()));
    for (unsigned i = 0; i < gpus.size(); ++i) {
      gpus[i].setIndex(static_cast<uint8_t>(resources.gpus[i].index));
      gpus[i].setMilli(static_cast<uint16_t>(resources.gpus[i].milli));
    }
  }
  if (!resources.ports.empty()) {
    fill_ports(out.initPorts(ranges_count(resources.ports)), resources.ports);
  }
}

void write(const Slice& slice, wire::Slice::Builder out) {
  write(slice.resources, out.initResources());
  if (!slice.reserved_for.empty()) out.setReservedFor(text_of(slice.reserved_for));
  out.setRevocable(slice.revocable);
}

// Whatever has lists of attributes and slices: offers and agents.
template <class Value, class Builder>
void write_agent_parts(const Value& value, Builder out) {
  if (!value.attributes.empty()) {
    auto attributes = out.initAttributes(static_cast<unsigned>(value.attributes.size()));
    unsigned i = 0;
    for (const auto& [name, text] : value.attributes) {
      attributes[i].setName(text_of(name));
      attributes[i++].setValue(text_of(text));
    }
  }
  if (!value.slices.empty()) {
    auto slices = out.initSlices(static_cast<unsigned>(value.slices.size()));
    for (unsigned i = 0; i < slices.size(); ++i) write(value.slices[i], slices[i]);
  }
}

void write(const Constraint& constraint, wire::Constraint::Builder out) {
  out.setAttribute(text_of(constraint.attribute));
  out.setOp(same<wire::ConstraintOperator>(constraint.op));
  if (constraint.values.empty()) return;
  fill_texts(out.initValues(static_cast<unsigned>(constraint.values.size())), constraint.values);
}

void write(const Preference& prefer, wire::Preference::Builder out) {
  if (!prefer.hosts.empty()) {
    fill_texts(out.initHosts(static_cast<unsigned>(prefer.hosts.size())), prefer.hosts);
  }
  if (!prefer.racks.empty()) {
    fill_texts(out.initRacks(static_cast<unsigned>(prefer.racks.size())), prefer.racks);
  }
  out.setWaitNanos(prefer.wait.nanos());
}

void write(const Ask& ask, wire::Ask::Builder out) {
  out.setName(text_of(ask.name));
  if (!ask.shape.is_zero()) write(ask.shape, out.initShape());
  out.setCount(ask.count);
  if (!ask.constraints.empty()) {
    auto constraints = out.initConstraints(static_cast<unsigned>(ask.constraints.size()));
    for (unsigned i = 0; i < constraints.size(); ++i) write(ask.constraints[i], constraints[i]);
  }
  out.setPorts(static_cast<uint16_t>(std::clamp<int64_t>(ask.ports, 0, 65535)));
  out.setPriority(ask.priority);
  if (!ask.role.empty()) out.setRole(text_of(ask.role));
  if (!ask.spread.empty()) out.setSpread(text_of(ask.spread));
  if (!ask.max_per.empty()) {
    auto max_per = out.initMaxPer(static_cast<unsigned>(ask.max_per.size()));
    for (unsigned i = 0; i < max_per.size(); ++i) {
      max_per[i].setAttribute(text_of(ask.max_per[i].attribute));
      max_per[i].setCount(ask.max_per[i].count);
    }
  }
  if (ask.prefer != Preference{}) write(ask.prefer, out.initPrefer());
  out.setGang(ask.gang);
  out.setBand(same<wire::Band>(ask.band));
  out.setBorrow(ask.borrow);
  out.setRevocableOk(ask.revocable_ok);
  out.setExpiryNanos(ask.expiry.nanos());
  out.setDurationNanos(ask.duration.nanos());
}

void write(const Offer& offer, wire::Offer::Builder out) {
  out.setId(offer.id.value());
  out.setAgent(text_of(offer.agent));
  write_agent_parts(offer, out);
  if (!offer.fills.empty()) {
    auto fills = out.initFills(static_cast<unsigned>(offer.fills.size()));
    for (unsigned i = 0; i < fills.size(); ++i) {
      fills[i].setAsk(text_of(offer.fills[i].ask));
      fills[i].setCount(offer.fills[i].count);
    }
  }
  if (!offer.ports.empty()) {  // For information, so part of them will do.
    const size_t ranges = std::min(offer.ports.ranges().size(), kPortRangesMax);
    fill_ports(out.initPorts(static_cast<unsigned>(ranges)), offer.ports);
  }
  out.setLeaseNanos(offer.lease.nanos());
  if (!offer.role.empty()) out.setRole(text_of(offer.role));
  out.setGang(offer.gang);
  if (!offer.http_address.empty()) out.setHttpAddress(text_of(offer.http_address));
}

void write(const Refusal& refusal, wire::Refusal::Builder out) {
  out.setRefuseNanos(refusal.refuse_for.nanos());
  if (!refusal.too_little.empty()) {
    auto kinds = out.initTooLittle(static_cast<unsigned>(refusal.too_little.size()));
    for (unsigned i = 0; i < kinds.size(); ++i) {
      kinds.set(i, same<wire::ResourceKind>(refusal.too_little[i]));
    }
  }
  out.setWrongAgent(refusal.wrong_agent);
}

// --- tasks -------------------------------------------------------------------------------------

void write(const HealthCheck& check, wire::HealthCheck::Builder out) {
  out.setKind(same<wire::HealthCheckKind>(check.kind));
  if (!check.port.empty()) out.setPort(text_of(check.port));
  if (!check.path.empty()) out.setPath(text_of(check.path));
  if (!check.command.empty()) out.setCommand(text_of(check.command));
  out.setIntervalNanos(check.interval.nanos());
  out.setTimeoutNanos(check.timeout.nanos());
  out.setGraceNanos(check.grace.nanos());
  out.setFailures(check.failures);
}

void write(const FetchedFile& file, wire::FetchedFile::Builder out) {
  out.setUri(text_of(file.uri));
  if (!file.sha256.empty()) out.setSha256(text_of(file.sha256));
  if (!file.name.empty()) out.setName(text_of(file.name));
  out.setIsExecutable(file.is_executable);
  out.setIsExtracted(file.is_extracted);
  out.setIsCached(file.is_cached);
}

void write(const TaskSpec& spec, wire::TaskSpec::Builder out) {
  out.setId(text_of(spec.id));
  if (!spec.ask.empty()) out.setAsk(text_of(spec.ask));
  if (!spec.shape.is_zero()) write(spec.shape, out.initShape());
  if (!spec.command.empty()) out.setCommand(text_of(spec.command));
  if (!spec.environment.empty()) {
    auto environment = out.initEnvironment(static_cast<unsigned>(spec.environment.size()));
    unsigned i = 0;
    for (const auto& [name, value] : spec.environment) {
      environment[i].setName(text_of(name));
      if (!value.empty()) environment[i].setValue(text_of(value));
      ++i;
    }
  }
  if (!spec.port_names.empty()) {
    fill_texts(out.initPortNames(static_cast<unsigned>(spec.port_names.size())), spec.port_names);
  }
  out.setExecutor(text_of(spec.executor));
  if (!spec.executor_id.empty()) out.setExecutorId(text_of(spec.executor_id));
  out.setKillGraceNanos(spec.kill_grace.nanos());
  if (!spec.data.empty()) out.setData(data_of(spec.data));
  if (spec.health) write(*spec.health, out.initHealth());
  if (!spec.user.empty()) out.setUser(text_of(spec.user));
  if (!spec.fetch.empty()) {
    auto files = out.initFetch(static_cast<unsigned>(spec.fetch.size()));
    for (unsigned i = 0; i < files.size(); ++i) write(spec.fetch[i], files[i]);
  }
  out.setMaxRunNanos(spec.max_run_time.nanos());
  out.setKillSignal(spec.kill_signal);
  if (!spec.readiness) return;
  auto readiness = out.initReadiness();
  readiness.setAfterNanos(spec.readiness->after.nanos());
  if (spec.readiness->ports.empty()) return;
  fill_texts(readiness.initPorts(static_cast<unsigned>(spec.readiness->ports.size())),
             spec.readiness->ports);
}

void write(const TaskClaim& claim, wire::TaskClaim::Builder out) {
  if (!claim.slices.empty()) {
    auto slices = out.initSlices(static_cast<unsigned>(claim.slices.size()));
    for (unsigned i = 0; i < slices.size(); ++i) write(claim.slices[i], slices[i]);
  }
  out.setRole(text_of(claim.role));
  out.setPriority(claim.priority);
  out.setBand(same<wire::Band>(claim.band));
  out.setGang(claim.gang);
}

void write(const Assignment& assignment, wire::Assignment::Builder out) {
  write(assignment.resources, out.initResources());
  if (!assignment.claim.role.empty()) write(assignment.claim, out.initClaim());
  if (!assignment.user.empty()) out.setUser(text_of(assignment.user));
  out.setLaunchedNanos(assignment.launched_at.nanos());
  if (assignment.ports.empty()) return;
  auto ports = out.initPorts(static_cast<unsigned>(assignment.ports.size()));
  unsigned i = 0;
  for (const auto& [name, port] : assignment.ports) {
    ports[i].setName(text_of(name));
    ports[i++].setPort(port);
  }
}

void write(const TaskUsage& usage, wire::TaskUsage::Builder out) {
  out.setCpuNanos(usage.cpu_nanos.value_or(-1));
  out.setThrottledNanos(usage.throttled_nanos.value_or(-1));
  out.setMemoryPeakBytes(usage.memory_peak_bytes.value_or(-1));
  out.setOutOfMemory(usage.out_of_memory.value_or(-1));
  out.setReadBytes(usage.read_bytes.value_or(-1));
  out.setWrittenBytes(usage.written_bytes.value_or(-1));
}

void write(const TaskStatus& status, wire::TaskStatus::Builder out) {
  out.setTask(text_of(status.task));
  if (!status.agent.empty()) out.setAgent(text_of(status.agent));
  out.setState(same<wire::TaskState>(status.state));
  out.setReason(same<wire::TaskReason>(status.reason));
  out.setSource(same<wire::UpdateSource>(status.source));
  out.setSequence(status.sequence);
  if (!status.message.empty()) {
    fill(out.initMessage(static_cast<unsigned>(words_size(status.message))), status.message);
  }
  if (!status.data.empty()) out.setData(data_of(status.data));
  out.setHasExitCode(status.exit_code.has_value());
  out.setExitCode(status.exit_code.value_or(0));
  out.setHasSignal(status.signal.has_value());
  out.setSignal(status.signal.value_or(0));
  out.setHasHealthy(status.healthy.has_value());
  out.setHealthy(status.healthy.value_or(false));
  out.setAtNanos(status.at.nanos());
  if (status.usage) write(*status.usage, out.initUsage());
  out.setHasReady(status.ready.has_value());
  out.setReady(status.ready.value_or(false));
}

void write(const AgentTask& task, wire::AgentTask::Builder out) {
  out.setFramework(text_of(task.framework));
  out.setTask(text_of(task.task));
  if (!task.ask.empty()) out.setAsk(text_of(task.ask));
  if (!task.executor.empty()) out.setExecutor(text_of(task.executor));
  out.setState(same<wire::TaskState>(task.state));
  out.setSequence(task.sequence);
  write(task.resources, out.initResources());
  if (!task.unacknowledged.empty()) {
    auto updates = out.initUnacknowledged(static_cast<unsigned>(task.unacknowledged.size()));
    for (unsigned i = 0; i < updates.size(); ++i) write(task.unacknowledged[i], updates[i]);
  }
  if (!task.claim.role.empty()) write(task.claim, out.initClaim());
  if (!task.user.empty()) out.setUser(text_of(task.user));
  if (!task.command.empty()) out.setCommand(text_of(task.command));
  out.setLaunchedNanos(task.launched_at.nanos());
}

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
}

void write(const Reconciled& message, wire::Envelope::Builder envelope) {
  envelope.initReconciled().setMissingAgents(message.missing_agents);
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
}

void write(const RunTask& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initRunTask();
  out.setFramework(text_of(message.framework));
  write(message.spec, out.initSpec());
  write(message.assignment, out.initAssignment());
}

void write(const ShutdownFramework& message, wire::Envelope::Builder envelope) {
  envelope.initShutdownFramework().setFramework(text_of(message.framework));
}

void write(const ExecutorHello& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initExecutorHello();
  out.setFramework(text_of(message.framework));
  out.setExecutor(text_of(message.executor));
  out.setToken(text_of(message.token));
}

void write(const ExecutorWelcome& message, wire::Envelope::Builder envelope) {
  auto out = envelope.initExecutorWelcome();
  out.setSession(message.session.value());
  out.setHeartbeatNanos(message.heartbeat.nanos());
  out.setTimeoutNanos(message.timeout.nanos());
}

void write(const ExecutorUpdate& message, wire::Envelope::Builder envelope) {
  write(message.status, envelope.initExecutorUpdate().initStatus());
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
}

void write(const RoleUse& record, wire::HistoryRecord::Builder entry) {
  auto out = entry.initRoleUse();
  out.setRole(text_of(record.role));
  out.setFromNanos(record.from.nanos());
  out.setUntilNanos(record.until.nanos());
  write(record.seconds, out.initSeconds());
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
