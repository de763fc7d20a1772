// Turns the durable records of the schema into values: the master's registry and history, and the
// agent's checkpoint. Start at the three functions named read.

#include <limits>

#include "common/limits.h"
#include "common/text.h"
#include "proto/codec/wire_reader.h"

namespace proffer::proto {

// --- the registry ------------------------------------------------------------------------------

void WireReader::fill(wire::FrameworkRecord::Reader in, FrameworkRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getName(), "framework name", out.name);
  role(in.getRole(), out.role);
  enumerator(in.getMode(), "offer mode", 2, out.mode);
  secret(in.getSecret(), out.secret);
  span(in.getFailoverNanos(), "the failover timeout", out.failover_timeout);
  text(in.getUser(), "the user", kNameBytesMax, out.user);
  out.serves_users = in.getServesUsers();
  users(in.getUsers(), "users of a framework", kFrameworkUsersMax, out.users);
  out.remembers_tasks = in.getRemembersTasks();
  if (in.getTicketKey().size() > 0) secret(in.getTicketKey(), out.ticket_key);
}

void WireReader::fill(wire::AgentRecord::Reader in, AgentRecord& out) {
  name(in.getAgent(), "agent name", out.agent);
  secret(in.getSecret(), out.secret);
  out.unreachable = in.getUnreachable();
  out.admission = in.getAdmission();
  if (in.getDraining()) time(in.getDrainedByNanos(), out.drained_by.emplace());
  if (in.getGone()) time(in.getGoneAtNanos(), out.gone_at.emplace());
  const auto secrets = in.getGoneSecrets();
  if (!count(secrets.size(), "secrets of agents that are gone", kGoneSecretsMax)) return;
  out.gone_secrets.resize(secrets.size());
  for (unsigned i = 0; i < secrets.size() && ok(); ++i) secret(secrets[i], out.gone_secrets[i]);
}

void WireReader::quota(capnp::List<wire::KindAmount>::Reader in, Quota& out) {
  if (!count(in.size(), "kinds of a quota", kResourceKindCount)) return;
  int least = 0;
  for (const wire::KindAmount::Reader amount : in) {
    ResourceKind kind = {};
    int64_t milli = 0;
    enumerator(amount.getKind(), "resource kind", kResourceKindCount, kind);
    whole(amount.getMilli(), "an amount of a quota", 0, kAmountMax, milli);
    if (static_cast<int>(kind) < least) {
      return refuse(Error::invalid_argument("kinds of a quota must be sorted, without duplicates"));
    }
    least = static_cast<int>(kind) + 1;
    out.set(kind, milli);
  }
}

void WireReader::fill(wire::RoleRecord::Reader in, RoleRecord& out) {
  role(in.getRole(), out.role);
  whole(in.getWeight(), "the weight of a role in milli-weights", kWeightMin, kWeightMax,
        out.settings.weight);
  quota(in.getGuarantee(), out.settings.guarantee);
  quota(in.getLimit(), out.settings.limit);
  users(in.getUsers(), "users of a role", kRoleUsersMax, out.users);
}

void WireReader::users(capnp::List<capnp::Text>::Reader in, std::string_view what, size_t most,
                       std::set<std::string>& out) {
  if (!count(in.size(), what, most)) return;
  for (unsigned i = 0; i < in.size() && ok(); ++i) {
    std::string user;
    c_text(in[i], what, kNameBytesMax, user);
    if (user.empty() || (!out.empty() && user <= *out.rbegin())) {
      return refuse(
          Error::invalid_argument(proffer::text(what, " must be sorted, without duplicates")));
    }
    out.insert(std::move(user));
  }
}

void WireReader::fill(wire::ReservationRecord::Reader in, ReservationRecord& out) {
  name(in.getAgent(), "agent name", out.agent);
  role(in.getRole(), out.role);
  resources(in.getResources(), out.resources);
  if (!out.resources.ports.empty()) {
    refuse(Error::invalid_argument("ports are not reserved"));
  }
}

void WireReader::fill(wire::KeyRecord::Reader in, KnownKey& out) {
  const auto public_key = [this](std::string_view key, PublicKey& to) {
    if (is_valid_public_key(key)) {
      to = PublicKey(std::string(key));
    } else {
      refuse(Error::invalid_argument(proffer::text("a key must be ", kPublicKeyBytes,
                                                   " characters of Z85, not ", quoted(key))));
    }
  };
  public_key(view_of(in.getKey()), out.key);
  enumerator(in.getKind(), "kind of key", kKeyKindCount, out.kind);
  name(in.getName(), "the name of a key", out.name);
  time(in.getSinceNanos(), out.since);
  text(in.getBy(), "the maker of a key", kNameBytesMax, out.by);
  if (in.getToken()) time(in.getTokenUntilNanos(), out.token_until.emplace());
  text(in.getRunsAs(), "the user of an agent", kNameBytesMax, out.runs_as);
  if (in.getReplaces().size() > 0) public_key(view_of(in.getReplaces()), out.replaces);
}

void WireReader::fill(wire::SecretRecord::Reader in, SecretRecord& out) {
  text(in.getOwner(), "the owner of a secret", kNameBytesMax, out.owner);
  if (out.owner.empty() || out.owner.find('/') != std::string::npos) {
    return refuse(Error::invalid_argument(
        proffer::text("the owner of a secret must be a user, not ", quoted(out.owner))));
  }
  text(in.getName(), "the name of a secret", kNameBytesMax, out.name);
  if (ok()) accept(check_secret_name(out.name));
  data(in.getSealed(), "an encrypted secret", kSealedSecretBytesMax, out.sealed);
  text(in.getKeyId(), "the id of the key of a secret", kNameBytesMax, out.key_id);
  time(in.getSinceNanos(), out.since);
}

void WireReader::fill(wire::ClusterRecord::Reader in, ClusterRecord& out) {
  cluster(in.getCluster(), out.cluster);
  if (out.cluster.empty()) refuse(Error::invalid_argument("a cluster needs an id"));
  if (!count(in.getLed().size(), "masters that have led", kLedMastersMax)) return;
  for (const wire::LedMaster::Reader led : in.getLed()) fill(led, out.led.emplace_back());
}

void WireReader::fill(wire::LedMaster::Reader in, LedMaster& out) {
  if (!is_valid_secret(view_of(in.getMaster()))) {
    return refuse(Error::invalid_argument(
        proffer::text("the id of a master must be 32 hexadecimal digits in lower case, not ",
                      quoted(view_of(in.getMaster())))));
  }
  out.master = MasterId(std::string(view_of(in.getMaster())));
  text(in.getName(), "the name of a master", kAddressBytesMax, out.name);
  out.first = LeaderEpoch(in.getFirstEpoch());
  out.last = LeaderEpoch(in.getLastEpoch());
  if (!out.first || out.last < out.first) {
    refuse(Error::invalid_argument(proffer::text("a master cannot have led from epoch ",
                                                 out.first.value(), " to ", out.last.value())));
  }
  time(in.getSinceNanos(), out.since);
  if (in.getOver()) time(in.getUntilNanos(), out.until.emplace());
}

void WireReader::fill(wire::StoreRecord::Reader in, StoreRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  store_key(in.getKey(), out.key);
  data(in.getValue(), "a store value", kStoreEntryBytesMax, out.value);
  out.version = in.getVersion();
}

void WireReader::read(wire::RegistryRow::Reader in, RegistryRow& out) {
  switch (in.which()) {
    case wire::RegistryRow::FRAMEWORK:
      return fill(in.getFramework(), out.emplace<FrameworkRecord>());
    case wire::RegistryRow::AGENT:
      return fill(in.getAgent(), out.emplace<AgentRecord>());
    case wire::RegistryRow::ROLE:
      return fill(in.getRole(), out.emplace<RoleRecord>());
    case wire::RegistryRow::STORE:
      return fill(in.getStore(), out.emplace<StoreRecord>());
    case wire::RegistryRow::RESERVATION:
      return fill(in.getReservation(), out.emplace<ReservationRecord>());
    case wire::RegistryRow::KEY:
      return fill(in.getKey(), out.emplace<KnownKey>());
    case wire::RegistryRow::CLUSTER:
      return fill(in.getCluster(), out.emplace<ClusterRecord>());
    case wire::RegistryRow::SECRET:
      return fill(in.getSecret(), out.emplace<SecretRecord>());
  }
  refuse(Error::unsupported(
      proffer::text("unknown kind of registry row ", static_cast<uint16_t>(in.which()))));
}

// --- the checkpoint ----------------------------------------------------------------------------

void WireReader::fill(wire::AgentIdentity::Reader in, AgentIdentity& out) {
  name(in.getAgent(), "agent name", out.agent);
  secret(in.getSecret(), out.secret);
  out.leader = LeaderEpoch(in.getLeader());
  text(in.getPlace(), "the place of a work directory", kNameBytesMax, out.place);
  cluster(in.getCluster(), out.cluster);
  out.memory = in.getMemory();
  out.records = in.getRecords();
  int64_t remembered = 0;
  whole(in.getRemembered(), "the loss of a log", 0, static_cast<int64_t>(Remembered::kWithGaps),
        remembered);
  out.remembered = static_cast<Remembered>(remembered);
}

void WireReader::fill(wire::ExecutorRecord::Reader in, ExecutorRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getExecutor(), "executor id", out.executor);
  secret(in.getToken(), out.token);
  out.run = in.getRun();
  int64_t pid = 0;
  whole(in.getPid(), "a process id", 0, std::numeric_limits<int32_t>::max(), pid);
  out.pid = static_cast<int32_t>(pid);
  out.start_ticks = in.getStartTicks();
  text(in.getBootId(), "a boot id", kNameBytesMax, out.boot_id);
  text(in.getProgram(), "an executor", kCommandBytesMax, out.program);
  out.own = in.getOwn();
  out.leftover = in.getLeftover();
  c_text(in.getUser(), "the user of an executor", kNameBytesMax, out.user);
  out.fetching = in.getFetching();
}

void WireReader::fill(wire::ExecutorGone::Reader in, ExecutorGone& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getExecutor(), "executor id", out.executor);
}

void WireReader::fill(wire::TaskRecord::Reader in, TaskRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  spec(in.getSpec(), out.spec);
  assignment(in.getAssignment(), out.assignment);
  name(in.getExecutor(), "executor id", out.executor);
  out.run = in.getRun();
}

void WireReader::fill(wire::UpdateRecord::Reader in, UpdateRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  status(in.getStatus(), out.status);
  out.executor_sequence = in.getExecutorSequence();
}

void WireReader::fill(wire::AcknowledgedRecord::Reader in, AcknowledgedRecord& out) {
  name(in.getFramework(), "framework id", out.framework);
  name(in.getTask(), "task id", out.task);
  out.sequence = in.getSequence();
}

void WireReader::read(wire::CheckpointRecord::Reader in, CheckpointRecord& out) {
  switch (in.which()) {
    case wire::CheckpointRecord::IDENTITY:
      return fill(in.getIdentity(), out.emplace<AgentIdentity>());
    case wire::CheckpointRecord::EXECUTOR:
      return fill(in.getExecutor(), out.emplace<ExecutorRecord>());
    case wire::CheckpointRecord::EXECUTOR_GONE:
      return fill(in.getExecutorGone(), out.emplace<ExecutorGone>());
    case wire::CheckpointRecord::TASK:
      return fill(in.getTask(), out.emplace<TaskRecord>());
    case wire::CheckpointRecord::UPDATE:
      return fill(in.getUpdate(), out.emplace<UpdateRecord>());
    case wire::CheckpointRecord::ACKNOWLEDGED:
      return fill(in.getAcknowledged(), out.emplace<AcknowledgedRecord>());
  }
  refuse(Error::unsupported(
      proffer::text("unknown kind of checkpoint record ", static_cast<uint16_t>(in.which()))));
}

// --- the master's history ----------------------------------------------------------------------

// Sets the reasons of as many rows; the caller sets the rest of each row.
template <class In, class Row>
void WireReader::wait_reasons(const In& in, std::vector<Row>& out) {
  if (!count(in.size(), "reasons of waiting", kWaitReasonCount)) return;
  for (unsigned i = 0; i < in.size() && ok(); ++i) {
    Row row;
    enumerator(in[i].getReason(), "reason of waiting", kWaitReasonCount, row.reason);
    if (ok() && !out.empty() && row.reason <= out.back().reason) {
      return refuse(
          Error::invalid_argument("reasons of waiting must be sorted, without duplicates"));
    }
    out.push_back(row);
  }
}

void WireReader::fill(wire::EndedTask::Reader in, EndedTask& out) {
  name(in.getFramework(), "framework id", out.framework);
  text(in.getFrameworkName(), "a framework's name", kNameBytesMax, out.framework_name);
  if (in.getRole().size() > 0) role(in.getRole(), out.role);
  text(in.getUser(), "the user", kNameBytesMax, out.user);
  text(in.getCommand(), "a command", kReasonTextBytesMax, out.command);
  optional_name(in.getAsk(), "ask name", out.ask);
  amounts(in.getAmounts(), out.amounts);
  time(in.getLaunchedNanos(), out.launched_at);
  status(in.getStatus(), out.status);
  const auto spans = in.getWaited();
  wait_reasons(spans, out.waited);
  for (unsigned i = 0; i < out.waited.size() && ok(); ++i) {
    int64_t nanos = 0;
    whole(spans[i].getNanos(), "nanoseconds of waiting", 1, INT64_MAX, nanos);
    out.waited[i].spent = Duration::nanos(nanos);
  }
  if (ok() && !is_terminal(out.status.state)) {
    refuse(Error::invalid_argument("a task in the history must have ended"));
  }
}

void WireReader::span_of(int64_t from, int64_t until, Time& from_out, Time& until_out) {
  time(from, from_out);
  time(until, until_out);
  if (ok() && until_out < from_out) {
    refuse(Error::invalid_argument("a span of time must not end before it begins"));
  }
}

void WireReader::fill(wire::RoleUse::Reader in, RoleUse& out) {
  role(in.getRole(), out.role);
  span_of(in.getFromNanos(), in.getUntilNanos(), out.from, out.until);
  amounts(in.getSeconds(), out.seconds);
}

void WireReader::fill(wire::RoleWait::Reader in, RoleWait& out) {
  role(in.getRole(), out.role);
  span_of(in.getFromNanos(), in.getUntilNanos(), out.from, out.until);
  const auto sums = in.getWaited();
  wait_reasons(sums, out.waited);
  for (unsigned i = 0; i < out.waited.size() && ok(); ++i) {
    whole(sums[i].getMillis(), "milliseconds of waiting", 0, INT64_MAX, out.waited[i].millis);
    whole(sums[i].getTasks(), "tasks that wait", 0, INT64_MAX, out.waited[i].tasks);
  }
}

void WireReader::fill(wire::LifeBegan::Reader in, LifeBegan& out) {
  out.leader = LeaderEpoch(in.getLeader());
  time(in.getAtNanos(), out.at);
}

void WireReader::fill(wire::LifeEnded::Reader in, LifeEnded& out) { time(in.getAtNanos(), out.at); }

void WireReader::fill(wire::HistoryGap::Reader in, HistoryGap& out) {
  span_of(in.getFromNanos(), in.getUntilNanos(), out.from, out.until);
  out.lost = in.getLost();
}

void WireReader::read(wire::HistoryRecord::Reader in, HistoryRecord& out) {
  switch (in.which()) {
    case wire::HistoryRecord::TASK:
      return fill(in.getTask(), out.emplace<EndedTask>());
    case wire::HistoryRecord::ROLE_USE:
      return fill(in.getRoleUse(), out.emplace<RoleUse>());
    case wire::HistoryRecord::LIFE_BEGAN:
      return fill(in.getLifeBegan(), out.emplace<LifeBegan>());
    case wire::HistoryRecord::LIFE_ENDED:
      return fill(in.getLifeEnded(), out.emplace<LifeEnded>());
    case wire::HistoryRecord::GAP:
      return fill(in.getGap(), out.emplace<HistoryGap>());
    case wire::HistoryRecord::ROLE_WAIT:
      return fill(in.getRoleWait(), out.emplace<RoleWait>());
  }
  refuse(Error::unsupported(
      proffer::text("unknown kind of history record ", static_cast<uint16_t>(in.which()))));
}

}  // namespace proffer::proto
