#include "proto/codec/wire_writer_values.h"

#include <algorithm>
#include <cstring>

#include "common/limits.h"

namespace proffer::proto {

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
  if (!ask.group.empty()) out.setGroup(text_of(ask.group));
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
  out.setMaxRunNanos(ask.max_run_time.nanos());
  if (ask.static_ports.empty()) return;
  auto ports = out.initStaticPorts(static_cast<unsigned>(ask.static_ports.size()));
  for (unsigned i = 0; i < ports.size(); ++i) ports.set(i, ask.static_ports[i]);
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
  if (!offer.ports.empty()) {  // for information, so a part of them suffices
    const size_t ranges = std::min(offer.ports.ranges().size(), kPortRangesMax);
    fill_ports(out.initPorts(static_cast<unsigned>(ranges)), offer.ports);
  }
  out.setLeaseNanos(offer.lease.nanos());
  if (!offer.role.empty()) out.setRole(text_of(offer.role));
  out.setGang(offer.gang);
  if (!offer.http_address.empty()) out.setHttpAddress(text_of(offer.http_address));
  if (!offer.host.empty()) out.setHost(text_of(offer.host));
  out.setMaxRunNanos(offer.max_run_time.nanos());
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

namespace {

// For a task's specification or status.
template <class Builder>
void write_labels(const Labels& labels, Builder out) {
  if (labels.empty()) return;
  auto list = out.initLabels(static_cast<unsigned>(labels.size()));
  unsigned i = 0;
  for (const auto& [name, value] : labels) {
    list[i].setName(text_of(name));
    if (!value.empty()) list[i].setValue(text_of(value));
    ++i;
  }
}

void write_named(const std::map<std::string, uint16_t>& ports,
                 capnp::List<wire::NamedPort>::Builder out) {
  unsigned i = 0;
  for (const auto& [name, port] : ports) {
    out[i].setName(text_of(name));
    out[i++].setPort(port);
  }
}

}  // namespace

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
  write_labels(spec.labels, out);
  if (!spec.secrets.empty()) {
    auto secrets = out.initSecrets(static_cast<unsigned>(spec.secrets.size()));
    for (unsigned i = 0; i < secrets.size(); ++i) {
      secrets[i].setName(text_of(spec.secrets[i].name));
      if (!spec.secrets[i].variable.empty())
        secrets[i].setVariable(text_of(spec.secrets[i].variable));
      if (!spec.secrets[i].file.empty()) secrets[i].setFile(text_of(spec.secrets[i].file));
    }
  }
  if (!spec.static_ports.empty()) {
    write_named(spec.static_ports,
                out.initStaticPorts(static_cast<unsigned>(spec.static_ports.size())));
  }
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
  out.setMaxRunNanos(claim.max_run_time.nanos());
}

void write(const Assignment& assignment, wire::Assignment::Builder out) {
  write(assignment.resources, out.initResources());
  if (!assignment.claim.role.empty()) write(assignment.claim, out.initClaim());
  if (!assignment.user.empty()) out.setUser(text_of(assignment.user));
  out.setLaunchedNanos(assignment.launched_at.nanos());
  if (!assignment.ticket.empty()) out.setTicket(text_of(assignment.ticket));
  if (assignment.ports.empty()) return;
  write_named(assignment.ports, out.initPorts(static_cast<unsigned>(assignment.ports.size())));
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
  write_labels(status.labels, out);
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
  if (!task.ticket.empty()) out.setTicket(text_of(task.ticket));
  write_labels(task.labels, out);
}

}  // namespace proffer::proto
