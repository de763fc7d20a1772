// Turns the parts of messages into values: fields, resources, asks, offers and tasks.

#include <algorithm>

#include "common/limits.h"
#include "common/roles.h"
#include "common/text.h"
#include "proto/codec/wire_reader.h"

namespace proffer::proto {
namespace {

Error not_sorted(std::string_view what) {
  return Error::invalid_argument(text(what, " must be sorted, without duplicates"));
}

}  // namespace

Error too_long(std::string_view what, size_t size, size_t max) {
  return Error::invalid_argument(
      text(what, " has ", size, " bytes; at most ", max, " are allowed"));
}

// --- fields ------------------------------------------------------------------------------------

void WireReader::text(capnp::Text::Reader in, std::string_view what, size_t bytes_max,
                      std::string& out) {
  if (in.size() > bytes_max) return refuse(too_long(what, in.size(), bytes_max));
  out.assign(in.begin(), in.size());
}

// Text for the operating system, which would end at the first NUL.
void WireReader::c_text(capnp::Text::Reader in, std::string_view what, size_t bytes_max,
                        std::string& out) {
  if (view_of(in).find('\0') != std::string_view::npos) {
    return refuse(Error::invalid_argument(proffer::text(what, " must not have a NUL byte in it")));
  }
  text(in, what, bytes_max, out);
}

void WireReader::data(capnp::Data::Reader in, std::string_view what, size_t bytes_max,
                      std::string& out) {
  if (in.size() > bytes_max) return refuse(too_long(what, in.size(), bytes_max));
  out.assign(reinterpret_cast<const char*>(in.begin()), in.size());
}

void WireReader::words(capnp::Text::Reader in, std::string& out) {
  text(in, "a text for people", kReasonTextBytesMax, out);
}

void WireReader::name(capnp::Text::Reader in, std::string_view what, std::string& out) {
  const std::string_view value = view_of(in);
  if (!is_valid_name(value)) return accept(check_name(what, value));
  out.assign(value);
}

void WireReader::role(capnp::Text::Reader in, RoleName& out) {
  Result<RoleName> role = parse_role(view_of(in));
  if (!role) return refuse(std::move(role).error());
  out = *std::move(role);
}

void WireReader::secret(capnp::Text::Reader in, Secret& out) {
  if (!is_valid_secret(view_of(in))) {  // not quoted, since it may be nearly the right secret
    return refuse(Error::invalid_argument("a secret must be 32 hexadecimal digits in lower case"));
  }
  out = Secret(std::string(view_of(in)));
}

void WireReader::cluster(capnp::Text::Reader in, ClusterId& out) {
  if (in.size() == 0) return;
  if (!is_valid_secret(view_of(in))) {
    return refuse(Error::invalid_argument(
        proffer::text("the id of a cluster must be 32 hexadecimal digits in lower case, not ",
                      quoted(view_of(in)))));
  }
  out = ClusterId(std::string(view_of(in)));
}

void WireReader::store_key(capnp::Text::Reader in, std::string& out) {
  const std::string_view value = view_of(in);
  if (!is_valid_path(value, kStoreKeyBytesMax)) {
    return refuse(Error::invalid_argument(
        proffer::text("a store key must be names joined by '/', not ", quoted(value))));
  }
  out.assign(value);
}

void WireReader::span(int64_t nanos, std::string_view what, Duration& out) {
  if (nanos < 0 || nanos > kDurationMax.nanos()) {
    return refuse(Error::invalid_argument(
        proffer::text(what, " must be from 0 to ", kDurationMax.nanos(), " ns, not ", nanos)));
  }
  out = Duration::nanos(nanos);
}

void WireReader::time(int64_t nanos, Time& out) {
  if (nanos < 0) {
    return refuse(Error::invalid_argument(
        proffer::text("a time must not be before 1970, as ", nanos, " ns is")));
  }
  out = Time::from_nanos(nanos);
}

void WireReader::whole(int64_t in, std::string_view what, int64_t min, int64_t max, int64_t& out) {
  if (in < min || in > max) {
    return refuse(Error::invalid_argument(
        proffer::text(what, " must be from ", min, " to ", max, ", not ", in)));
  }
  out = in;
}

bool WireReader::count(size_t size, std::string_view what, size_t max) {
  if (size <= max) return true;
  refuse(Error::invalid_argument(
      proffer::text("there are ", size, " ", what, "; at most ", max, " are allowed")));
  return false;
}

// --- resources ---------------------------------------------------------------------------------

void WireReader::offer_ids(capnp::List<uint64_t>::Reader in, std::vector<OfferId>& out) {
  if (!count(in.size(), "offer ids", kOfferIdsMax)) return;
  out.reserve(in.size());
  for (const uint64_t id : in) {
    if (id == 0) return refuse(Error::invalid_argument("an offer id must not be zero"));
    out.emplace_back(id);
  }
}

void WireReader::amounts(wire::Amounts::Reader in, ResourceVector& out) {
  whole(in.getCpus(), "milli-cpus", 0, kAmountMax, out[ResourceKind::kCpus]);
  whole(in.getMem(), "milli-MiB of mem", 0, kAmountMax, out[ResourceKind::kMem]);
  whole(in.getDisk(), "milli-MiB of disk", 0, kAmountMax, out[ResourceKind::kDisk]);
  whole(in.getGpus(), "milli-gpus", 0, kAmountMax, out[ResourceKind::kGpus]);
}

void WireReader::ports(capnp::List<wire::PortRange>::Reader in, PortSet& out) {
  if (in.size() == 0 || !count(in.size(), "port ranges", kPortRangesMax)) return;
  std::vector<PortRange> ranges;
  ranges.reserve(in.size());
  int least = 1;
  for (const wire::PortRange::Reader range : in) {
    const int first = range.getFirst();
    const int last = range.getLast();
    if (first < least || first > last) {
      return refuse(Error::invalid_argument(
          proffer::text("port ranges must be sorted with gaps between them, from 1 to 65535; ",
                        first, " to ", last, " is not")));
    }
    ranges.push_back({static_cast<uint16_t>(first), static_cast<uint16_t>(last)});
    least = last + 2;
  }
  out = PortSet(std::move(ranges));
}

void WireReader::resources(wire::Resources::Reader in, Resources& out) {
  amounts(in.getAmounts(), out.amounts);
  ports(in.getPorts(), out.ports);
  const auto gpus = in.getGpus();
  if (gpus.size() == 0 || !count(gpus.size(), "gpu devices", kGpuDevicesMax)) return;
  out.gpus.reserve(gpus.size());
  int64_t sum = 0;
  int32_t least = 0;
  for (const wire::GpuDevice::Reader gpu : gpus) {
    const GpuDevice device{.index = gpu.getIndex(), .milli = gpu.getMilli()};
    if (device.index < least) return refuse(not_sorted("gpu devices"));
    if (device.index >= static_cast<int32_t>(kGpuDevicesMax) || device.milli < 1 ||
        device.milli > 1000) {
      return refuse(Error::invalid_argument(
          proffer::text("a gpu device must be 0.001 to 1 of device 0 to ", kGpuDevicesMax - 1,
                        ", not ", print_milli(device.milli), " of ", device.index)));
    }
    least = device.index + 1;
    sum += device.milli;
    out.gpus.push_back(device);
  }
  if (sum != out.amounts[ResourceKind::kGpus]) {
    refuse(Error::invalid_argument(proffer::text("gpu devices sum up to ", print_milli(sum),
                                                 ", but the amount of gpus is ",
                                                 print_milli(out.amounts[ResourceKind::kGpus]))));
  }
}

void WireReader::attributes(capnp::List<wire::Attribute>::Reader in, Attributes& out) {
  if (!count(in.size(), "attributes", kAttributesMax)) return;
  for (const wire::Attribute::Reader attribute : in) {
    const std::string_view name = view_of(attribute.getName());
    const std::string_view value = view_of(attribute.getValue());
    if (Result<void> checked = check_attribute(name, value); !checked) return accept(checked);
    if (!out.empty() && name <= out.rbegin()->first) return refuse(not_sorted("attributes"));
    out.emplace_hint(out.end(), name, value);
  }
}

void WireReader::slices(capnp::List<wire::Slice>::Reader in, std::vector<Slice>& out) {
  if (!count(in.size(), "slices", kSlicesMax)) return;
  out.resize(in.size());
  for (unsigned i = 0; i < in.size() && ok(); ++i) {
    resources(in[i].getResources(), out[i].resources);
    if (in[i].getReservedFor().size() > 0) role(in[i].getReservedFor(), out[i].reserved_for);
    out[i].revocable = in[i].getRevocable();
  }
}

void WireReader::constraint(wire::Constraint::Reader in, Constraint& out) {
  text(in.getAttribute(), "the attribute of a constraint", kNameBytesMax, out.attribute);
  enumerator(in.getOp(), "constraint operator", 6, out.op);
  const auto values = in.getValues();
  if (!count(values.size(), "values of a constraint", kConstraintValuesMax)) return;
  out.values.resize(values.size());
  for (unsigned i = 0; i < values.size() && ok(); ++i) {
    text(values[i], "a value of a constraint", kConstraintTextBytesMax, out.values[i]);
  }
  if (!ok()) return;
  if (Result<void> checked = check_constraint(out); !checked) {
    refuse(std::move(checked).error().in(proffer::text("constraint on ", quoted(out.attribute))));
  }
}

void WireReader::preference(wire::Preference::Reader in, Preference& out) {
  const auto hosts = in.getHosts();
  const auto racks = in.getRacks();
  if (!count(hosts.size(), "preferred hosts", kPreferredMax)) return;
  if (!count(racks.size(), "preferred racks", kPreferredMax)) return;
  out.hosts.resize(hosts.size());
  for (unsigned i = 0; i < hosts.size() && ok(); ++i) name(hosts[i], "agent name", out.hosts[i]);
  out.racks.resize(racks.size());
  for (unsigned i = 0; i < racks.size() && ok(); ++i) {
    accept(check_attribute("rack", view_of(racks[i])));
    out.racks[i].assign(view_of(racks[i]));
  }
  span(in.getWaitNanos(), "the wait for preferred hosts", out.wait);
}

void WireReader::ask(wire::Ask::Reader in, Ask& out) {
  name(in.getName(), "ask name", out.name);
  amounts(in.getShape(), out.shape);
  whole(in.getCount(), "the count of an ask", 0, kAskCountMax, out.count);
  const auto constraints = in.getConstraints();
  if (!count(constraints.size(), "constraints of an ask", kConstraintsMax)) return;
  out.constraints.resize(constraints.size());
  for (unsigned i = 0; i < constraints.size() && ok(); ++i) {
    constraint(constraints[i], out.constraints[i]);
  }
  whole(in.getPorts(), "the ports of an ask", 0, int64_t{kPortNamesMax}, out.ports);
  out.priority = in.getPriority();
  if (in.getRole().size() > 0) role(in.getRole(), out.role);
  if (in.getSpread().size() > 0) name(in.getSpread(), "attribute name", out.spread);
  if (in.getGroup().size() > 0) name(in.getGroup(), "group of asks", out.group);
  const auto max_per = in.getMaxPer();
  if (!count(max_per.size(), "max_per of an ask", kMaxPerMax)) return;
  out.max_per.resize(max_per.size());
  for (unsigned i = 0; i < max_per.size() && ok(); ++i) {
    name(max_per[i].getAttribute(), "attribute name", out.max_per[i].attribute);
    whole(max_per[i].getCount(), "the count of max_per", 1, kAskCountMax, out.max_per[i].count);
    if (i > 0 && out.max_per[i].attribute <= out.max_per[i - 1].attribute) {
      return refuse(not_sorted("max_per of an ask"));
    }
  }
  if (in.hasPrefer()) preference(in.getPrefer(), out.prefer);
  whole(in.getGang(), "the gang of an ask", 1, kGangMax, out.gang);
  enumerator(in.getBand(), "band", kBandCount, out.band);
  out.borrow = in.getBorrow();
  out.revocable_ok = in.getRevocableOk();
  span(in.getExpiryNanos(), "the expiry of an ask", out.expiry);
  span(in.getDurationNanos(), "the duration of an ask", out.duration);
  span(in.getMaxRunNanos(), "the longest time that tasks of an ask run", out.max_run_time);
  const auto ports = in.getStaticPorts();
  if (!count(ports.size(), "static ports of an ask", kPortNamesMax)) return;
  for (const uint16_t port : ports) {
    if (port == 0) return refuse(Error::invalid_argument("a port must not be zero"));
    if (!out.static_ports.empty() && port <= out.static_ports.back()) {
      return refuse(not_sorted("static ports of an ask"));
    }
    out.static_ports.push_back(port);
  }
}

void WireReader::offer(wire::Offer::Reader in, Offer& out) {
  out.id = OfferId(in.getId());
  if (!out.id) return refuse(Error::invalid_argument("an offer id must not be zero"));
  name(in.getAgent(), "agent name", out.agent);
  attributes(in.getAttributes(), out.attributes);
  slices(in.getSlices(), out.slices);
  const auto fills = in.getFills();
  if (!count(fills.size(), "asks filled by an offer", kAsksMax)) return;
  out.fills.resize(fills.size());
  for (unsigned i = 0; i < fills.size() && ok(); ++i) {
    name(fills[i].getAsk(), "ask name", out.fills[i].ask);
    whole(fills[i].getCount(), "the count of an ask", 0, kAskCountMax, out.fills[i].count);
  }
  ports(in.getPorts(), out.ports);
  span(in.getLeaseNanos(), "the lease of an offer", out.lease);
  if (in.getRole().size() > 0) role(in.getRole(), out.role);
  out.gang = in.getGang();
  text(in.getHttpAddress(), "the HTTP address of an agent", kAddressBytesMax, out.http_address);
  text(in.getHost(), "the host of an agent", kAddressBytesMax, out.host);
  span(in.getMaxRunNanos(), "the longest time that tasks of an offer run", out.max_run_time);
}

void WireReader::refusal(wire::Refusal::Reader in, Refusal& out) {
  span(in.getRefuseNanos(), "the time of a refusal", out.refuse_for);
  const auto kinds = in.getTooLittle();
  if (!count(kinds.size(), "resource kinds of a refusal", kResourceKindCount)) return;
  for (const wire::ResourceKind kind : kinds) {
    enumerator(kind, "resource kind", kResourceKindCount, out.too_little.emplace_back());
  }
  out.wrong_agent = in.getWrongAgent();
}

// --- tasks -------------------------------------------------------------------------------------

void WireReader::environment(capnp::List<wire::Variable>::Reader in, Environment& out) {
  if (!count(in.size(), "environment variables", kEnvironmentEntriesMax)) return;
  size_t bytes = 0;
  for (const wire::Variable::Reader variable : in) {
    const std::string_view name = view_of(variable.getName());
    bytes += name.size() + variable.getValue().size();
    if (bytes > kEnvironmentBytesMax) {
      return refuse(Error::invalid_argument(proffer::text(
          "an environment has at most ", kEnvironmentBytesMax, " bytes of names and values")));
    }
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string_view::npos) {
      return refuse(Error::invalid_argument(
          proffer::text("the name of an environment variable must not be empty nor have '=' or NUL "
                        "in it, as ",
                        quoted(name), " has")));
    }
    if (!out.empty() && name <= out.rbegin()->first) return refuse(not_sorted("environment"));
    std::string& value = out.emplace_hint(out.end(), name, std::string())->second;
    c_text(variable.getValue(), "an environment variable", kEnvironmentBytesMax, value);
  }
}

void WireReader::spec(wire::TaskSpec::Reader in, TaskSpec& out) {
  name(in.getId(), "task id", out.id);
  optional_name(in.getAsk(), "ask name", out.ask);
  amounts(in.getShape(), out.shape);
  c_text(in.getCommand(), "the command of a task", kCommandBytesMax, out.command);
  environment(in.getEnvironment(), out.environment);
  const auto ports = in.getPortNames();
  if (!count(ports.size(), "port names", kPortNamesMax)) return;
  out.port_names.resize(ports.size());
  for (unsigned i = 0; i < ports.size() && ok(); ++i)
    name(ports[i], "port name", out.port_names[i]);
  c_text(in.getExecutor(), "the executor of a task", kCommandBytesMax, out.executor);
  if (out.executor.empty()) {
    refuse(Error::invalid_argument("the executor of a task must not be empty"));
  }
  optional_name(in.getExecutorId(), "executor id", out.executor_id);
  span(in.getKillGraceNanos(), "the kill grace of a task", out.kill_grace);
  data(in.getData(), "the data of a task", kPayloadBytesMax, out.data);
  if (in.hasHealth()) health(in.getHealth(), out.port_names, out.health.emplace());
  c_text(in.getUser(), "the user of a task", kNameBytesMax, out.user);
  const auto files = in.getFetch();
  if (!count(files.size(), "files to fetch", kFetchedFilesMax)) return;
  out.fetch.resize(files.size());
  for (unsigned i = 0; i < files.size() && ok(); ++i) fetched_file(files[i], out.fetch[i]);
  span(in.getMaxRunNanos(), "the longest time that a task runs", out.max_run_time);
  out.kill_signal = in.getKillSignal();
  if (ok()) accept(check_kill_signal(out.kill_signal));
  if (in.hasReadiness()) readiness(in.getReadiness(), out.port_names, out.readiness.emplace());
  labels(in.getLabels(), out.labels);
  const auto secrets = in.getSecrets();
  if (!count(secrets.size(), "secrets of a task", kTaskSecretsMax)) return;
  for (const wire::SecretUse::Reader use : secrets) {
    SecretUse& secret = out.secrets.emplace_back();
    c_text(use.getName(), "the name of a secret", kNameBytesMax, secret.name);
    c_text(use.getVariable(), "the variable of a secret", kNameBytesMax, secret.variable);
    c_text(use.getFile(), "the file of a secret", kFileNameBytesMax, secret.file);
  }
  if (ok()) accept(check_secret_uses(out.secrets));
  named_ports(in.getStaticPorts(), "static ports", out.static_ports);
  if (ok()) accept(check_static_ports(out.static_ports, out.port_names));
}

void WireReader::named_ports(capnp::List<wire::NamedPort>::Reader in, std::string_view what,
                             std::map<std::string, uint16_t>& out) {
  if (!count(in.size(), what, kPortNamesMax)) return;
  for (const wire::NamedPort::Reader port : in) {
    const std::string_view name = view_of(port.getName());
    if (!is_valid_name(name)) return accept(check_name("port name", name));
    if (port.getPort() == 0) return refuse(Error::invalid_argument("a port must not be zero"));
    if (!out.empty() && name <= out.rbegin()->first) return refuse(not_sorted(what));
    out.emplace_hint(out.end(), name, port.getPort());
  }
}

void WireReader::labels(capnp::List<wire::Label>::Reader in, Labels& out) {
  if (!count(in.size(), "labels", kLabelsMax)) return;
  for (const wire::Label::Reader label : in) {
    const std::string_view name = view_of(label.getName());
    if (!out.empty() && name <= out.rbegin()->first) return refuse(not_sorted("labels"));
    out.emplace_hint(out.end(), name, view_of(label.getValue()));
  }
  accept(check_labels(out));
}

void WireReader::fetched_file(wire::FetchedFile::Reader in, FetchedFile& out) {
  text(in.getUri(), "the URI of a file to fetch", kUriBytesMax, out.uri);
  text(in.getSha256(), "the SHA-256 of a file to fetch", kSha256TextBytes, out.sha256);
  text(in.getName(), "the name of a file to fetch", kFileNameBytesMax, out.name);
  out.is_executable = in.getIsExecutable();
  out.is_extracted = in.getIsExtracted();
  out.is_cached = in.getIsCached();
  if (ok()) accept(check_fetched_file(out));
}

void WireReader::health(wire::HealthCheck::Reader in, const std::vector<std::string>& port_names,
                        HealthCheck& out) {
  enumerator(in.getKind(), "kind of health check", kHealthCheckKindCount, out.kind);
  text(in.getPort(), "the port of a health check", kNameBytesMax, out.port);
  text(in.getPath(), "the path of a health check", kHealthPathBytesMax, out.path);
  text(in.getCommand(), "the command of a health check", kCommandBytesMax, out.command);
  out.interval = Duration::nanos(in.getIntervalNanos());
  out.timeout = Duration::nanos(in.getTimeoutNanos());
  out.grace = Duration::nanos(in.getGraceNanos());
  out.failures = in.getFailures();
  if (ok()) accept(check_health_check(out, port_names));
}

void WireReader::readiness(wire::Readiness::Reader in, const std::vector<std::string>& port_names,
                           Readiness& out) {
  const auto ports = in.getPorts();
  if (!count(ports.size(), "ports of a readiness", kPortNamesMax)) return;
  out.ports.resize(ports.size());
  for (unsigned i = 0; i < ports.size() && ok(); ++i) name(ports[i], "port name", out.ports[i]);
  span(in.getAfterNanos(), "the time until a task is ready", out.after);
  if (ok()) accept(check_readiness(out, port_names));
}

void WireReader::claim(wire::TaskClaim::Reader in, TaskClaim& out) {
  slices(in.getSlices(), out.slices);
  for (const Slice& slice : out.slices) {
    if (!slice.resources.ports.empty()) {
      return refuse(Error::invalid_argument("a claim must not have ports"));
    }
  }
  role(in.getRole(), out.role);
  out.priority = in.getPriority();
  enumerator(in.getBand(), "band", kBandCount, out.band);
  out.gang = in.getGang();
  span(in.getMaxRunNanos(), "the longest time that a task runs", out.max_run_time);
}

void WireReader::assignment(wire::Assignment::Reader in, Assignment& out) {
  resources(in.getResources(), out.resources);
  if (in.hasClaim()) claim(in.getClaim(), out.claim);
  c_text(in.getUser(), "the user of a task", kNameBytesMax, out.user);
  time(in.getLaunchedNanos(), out.launched_at);
  text(in.getTicket(), "the ticket of a task", kTicketBytesMax, out.ticket);
  named_ports(in.getPorts(), "assigned ports", out.ports);
}

void WireReader::status(wire::TaskStatus::Reader in, TaskStatus& out) {
  name(in.getTask(), "task id", out.task);
  optional_name(in.getAgent(), "agent name", out.agent);
  enumerator(in.getState(), "task state", kTaskStateCount, out.state);
  enumerator(in.getReason(), "task reason", kTaskReasonCount, out.reason);
  enumerator(in.getSource(), "update source", 2, out.source);
  out.sequence = in.getSequence();
  words(in.getMessage(), out.message);
  data(in.getData(), "the data of an update", kUpdateDataBytesMax, out.data);
  if (in.getHasExitCode()) out.exit_code = in.getExitCode();
  if (in.getHasSignal()) out.signal = in.getSignal();
  if (in.getHasHealthy()) out.healthy = in.getHealthy();
  time(in.getAtNanos(), out.at);
  if (in.hasUsage()) usage(in.getUsage(), out.usage.emplace());
  if (in.getHasReady()) out.ready = in.getReady();
  labels(in.getLabels(), out.labels);
}

void WireReader::usage(wire::TaskUsage::Reader in, TaskUsage& out) {
  const auto counted = [&](int64_t amount, std::optional<int64_t>& figure) {
    if (amount == -1) return;
    whole(amount, "a figure of a task's usage", 0, std::numeric_limits<int64_t>::max(),
          figure.emplace());
  };
  counted(in.getCpuNanos(), out.cpu_nanos);
  counted(in.getThrottledNanos(), out.throttled_nanos);
  counted(in.getMemoryPeakBytes(), out.memory_peak_bytes);
  counted(in.getOutOfMemory(), out.out_of_memory);
  counted(in.getReadBytes(), out.read_bytes);
  counted(in.getWrittenBytes(), out.written_bytes);
}

void WireReader::agent_task(wire::AgentTask::Reader in, AgentTask& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getTask(), "task id", out.task);
  optional_name(in.getAsk(), "ask name", out.ask);
  optional_name(in.getExecutor(), "executor id", out.executor);
  enumerator(in.getState(), "task state", kTaskStateCount, out.state);
  out.sequence = in.getSequence();
  resources(in.getResources(), out.resources);
  const auto updates = in.getUnacknowledged();
  if (!count(updates.size(), "unacknowledged updates of a task", kUpdatesPerTaskMax)) return;
  out.unacknowledged.resize(updates.size());
  for (unsigned i = 0; i < updates.size() && ok(); ++i) status(updates[i], out.unacknowledged[i]);
  if (in.hasClaim()) claim(in.getClaim(), out.claim);
  c_text(in.getUser(), "the user of a task", kNameBytesMax, out.user);
  text(in.getCommand(), "the beginning of a command", kCommandShownBytes, out.command);
  time(in.getLaunchedNanos(), out.launched_at);
  labels(in.getLabels(), out.labels);
  text(in.getTicket(), "the ticket of a task", kTicketBytesMax, out.ticket);
}

}  // namespace proffer::proto
