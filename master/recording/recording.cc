#include "master/recording/recording.h"

#include <functional>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "master/recording/archive.h"
#include "proto/codec/records.h"

// In this namespace, argument-dependent lookup finds them, since the archives are in it.
namespace proffer::master {
namespace {

constexpr char kBegin = 'B';
constexpr char kRow = 'R';
constexpr char kBegun = 'G';
constexpr char kPrincipal = 'P';
constexpr char kEvent = 'E';
constexpr char kSum = 'S';
constexpr char kEnd = 'X';

// After this number, principals are numbered anew.
constexpr size_t kPrincipalsMax = 10'000;

constexpr size_t kFrameIndex = 0;  // index of FrameReceived in MasterEvent
static_assert(std::is_same_v<std::variant_alternative_t<kFrameIndex, MasterEvent>, FrameReceived>);

// Enumerators are checked against their bounds.
template <class A, class T>
void word(A& a, T& value, [[maybe_unused]] uint64_t count) {
  if constexpr (A::kReads) {
    a.enumerator(value, count);
  } else {
    a(value);
  }
}

Error corrupt(std::string_view what) {
  return Error::corruption(text("the recording is damaged: ", what));
}

}  // namespace

// --- parts --------------------------------------------------------------------------------------

template <class A>
void fields(A& a, typename A::template Of<Principal>& by) {
  a(by.user)(by.uid)(by.groups)(by.is_unproven)(by.key)(by.host)(by.agent)(by.may_only_join)(
      by.is_master)(by.is_operator);
}
template <class A>
void fields(A& a, typename A::template Of<Error>& error) {
  if constexpr (A::kReads) {
    ErrorCode code{};
    std::string message;
    std::string hint;
    a.enumerator(code, kErrorCodeCount)(message)(hint);
    error = Error(code, std::move(message)).with_hint(std::move(hint));
  } else {
    a(error.code())(error.message())(error.hint());
  }
}
template <class A>
void fields(A& a, typename A::template Of<RoleSettings>& role) {
  a(role.weight)(role.guarantee)(role.limit);
}
template <class A>
void fields(A& a, typename A::template Of<BrakeOptions>& brake) {
  a(brake.percent)(brake.floor)(brake.period);
}
template <class A>
void fields(A& a, typename A::template Of<PolicyOptions>& policy) {
  a(policy.master_uid)(policy.operators_group)(policy.agent_uids);
}
// Without the naive rules, which no master uses.
template <class A>
void fields(A& a, typename A::template Of<AllocatorOptions>& o) {
  a(o.offer_timeout)(o.claim_after);
  word(a, o.reclaim, 3);
  word(a, o.placement, 5);
  a(o.revoke_grace)(o.minimum_runtime)(o.revokes_per_minute)(o.min_offer)(o.roles)(o.is_audited)(
      o.gangs_before);
}
template <class A>
void fields(A& a, typename A::template Of<MasterOptions>& o) {
  a(o.leader)(o.cluster_if_new)(o.started_at)(o.heartbeat)(o.agent_timeout)(o.silence)(
      o.reregistration_timeout)(o.brake)(o.task_start_timeout)(o.ended_kept)(o.policy)(o.allocator)(
      o.keeps_history)(o.history_age)(o.master)(o.name)(o.secrets_key);
}
template <class A>
void fields(A& a, typename A::template Of<proto::StandbyCall>& standby) {
  a(standby.master)(standby.name)(standby.keeps_history);
}

// --- events -------------------------------------------------------------------------------------

template <class A>
void fields(A& a, typename A::template Of<FrameMalformed>& event) {
  a(event.peer)(event.error);
}
template <class A>
void fields(A& a, typename A::template Of<PeerShed>& event) {
  a(event.peer)(event.error);
}
template <class A>
void fields(A& a, typename A::template Of<PeerLost>& event) {
  a(event.peer)(event.is_closed);
}
template <class A>
void fields(A& a, typename A::template Of<OperatorKill>& event) {
  a(event.call)(event.by)(event.task)(event.grace)(event.framework);
}
template <class A>
void fields(A& a, typename A::template Of<FrameworkCall>& event) {
  a(event.call)(event.framework)(event.id)(event.by)(event.timeout)(event.data)(event.role);
}
template <class A>
void fields(A& a, typename A::template Of<Tick>& event) {
  a(event.is_deaf)(event.waiting);
}
template <class A>
void fields(A& a, typename A::template Of<DrainAgent>& event) {
  a(event.call)(event.by)(event.agent)(event.grace);
}
template <class A>
void fields(A& a, typename A::template Of<UndrainAgent>& event) {
  a(event.call)(event.by)(event.agent);
}
template <class A>
void fields(A& a, typename A::template Of<SetRole>& event) {
  a(event.call)(event.by)(event.role)(event.weight)(event.guarantee)(event.limit)(event.users)(
      event.unset);
}
template <class A>
void fields(A& a, typename A::template Of<ReserveForRole>& event) {
  a(event.call)(event.by)(event.agent)(event.role)(event.amounts)(event.unreserve);
}
template <class A>
void fields(A& a, typename A::template Of<TearDownFramework>& event) {
  a(event.call)(event.by)(event.framework);
}
template <class A>
void fields(A& a, typename A::template Of<MakeJoinToken>& event) {
  a(event.call)(event.by)(event.key);
  word(a, event.kind, kKeyKindCount);
  a(event.name)(event.valid_for);
}
template <class A>
void fields(A& a, typename A::template Of<JoinCluster>& event) {
  a(event.call)(event.by)(event.key)(event.runs_as);
}
template <class A>
void fields(A& a, typename A::template Of<RotateKey>& event) {
  a(event.call)(event.by)(event.key);
}
template <class A>
void fields(A& a, typename A::template Of<KeyUsed>& event) {
  a(event.key);
}
template <class A>
void fields(A& a, typename A::template Of<RevokeKey>& event) {
  a(event.call)(event.by)(event.key);
  bool has_kind = event.kind.has_value();
  a(has_kind);
  if constexpr (A::kReads) {
    if (has_kind) a.enumerator(event.kind.emplace(), kKeyKindCount);
  } else {
    if (has_kind) a(*event.kind);
  }
  a(event.name);
}
template <class A>
void fields(A& a, typename A::template Of<DeclareGone>& event) {
  a(event.call)(event.by)(event.agent);
}
template <class A>
void fields(A& a, typename A::template Of<LiftBrake>& event) {
  a(event.call)(event.by)(event.span);
}
template <class A>
void fields(A& a, typename A::template Of<StandBy>& event) {
  a(event.call)(event.peer)(event.by)(event.standby);
}
template <class A>
void fields(A& a, typename A::template Of<SetSecret>& event) {
  a(event.call)(event.by)(event.name)(event.sealed)(event.key_id);
}
template <class A>
void fields(A& a, typename A::template Of<RemoveSecret>& event) {
  a(event.call)(event.by)(event.name)(event.owner);
}

// --- results ------------------------------------------------------------------------------------

namespace {

// Hashes each field unchanged.
class HashedFields final : public TraceFields {
 public:
  explicit HashedFields(std::function<void(std::string_view)> add) : add_(std::move(add)) {}
  void word(std::string_view key, std::string_view value) override {
    add_(key);
    add_(value);
  }
  void number(std::string_view key, int64_t value) override {
    add_(key);
    add_({reinterpret_cast<const char*>(&value), sizeof value});
  }
  void free_text(std::string_view key, std::string_view value) override { word(key, value); }

 private:
  std::function<void(std::string_view)> add_;
};

}  // namespace

// FNV-1a of the bytes and their end.
void TraceHash::add(std::string_view bytes) {
  constexpr uint64_t kPrime = 0x100'0000'01b3;
  for (const char byte : bytes) value_ = (value_ ^ static_cast<unsigned char>(byte)) * kPrime;
  value_ = (value_ ^ 0xff) * kPrime;
}

void TraceHash::add(const MasterOutbox& out) {
  HashedFields fields([this](std::string_view bytes) { add(bytes); });
  for (const TraceEvent& event : out.trace) {
    add(event.what());
    event.fields(fields);
  }
  for (const proto::RegistryWrite& write : out.records) {
    add(proto::table_of(write.row));
    add(proto::key_of(write.row));
    add(write.erase ? "erased" : "written");
  }
  for (const MasterAction& action : out.actions) {
    fields.number("action", static_cast<int64_t>(action.index()));
    if (const auto* send = std::get_if<Send>(&action)) {
      fields.number("peer", static_cast<int64_t>(send->peer.value()));
      add(proto::message_name(*send->envelope.message));
    } else if (const auto* drop = std::get_if<Drop>(&action)) {
      fields.number("peer", static_cast<int64_t>(drop->peer.value()));
    } else if (const auto* answer = std::get_if<Answer>(&action)) {
      fields.number("call", static_cast<int64_t>(answer->call));
      add(answer->result ? *answer->result : answer->result.error().message());
    }
  }
}

// --- writing ------------------------------------------------------------------------------------

std::string RecordingWriter::begin_record(char kind) {
  std::string record(1, kind);
  ArchiveWriter(record, [](const PrincipalPtr&) { return uint64_t{0}; })(records_++);
  return record;
}

// Each row is a separate record, since all rows together may exceed the maximum.
std::vector<std::string> RecordingWriter::begin(std::string_view version,
                                                const MasterOptions& options,
                                                const MasterSnapshot& snapshot) {
  const auto nobody = [](const PrincipalPtr&) { return uint64_t{0}; };
  std::vector<std::string> records = {begin_record(kBegin)};
  ArchiveWriter(records.back(), nobody)(kRecordingFormat)(version)(options);
  for (const proto::RegistryRow& row : snapshot.rows) {
    records.push_back(begin_record(kRow));
    ArchiveWriter(records.back(),
                  nobody)(proto::table_of(row))(proto::key_of(row))(proto::encode_row(row));
  }
  records.push_back(begin_record(kBegun));
  return records;
}

uint64_t RecordingWriter::number_of(const PrincipalPtr& by, std::vector<std::string>& records) {
  if (const auto known = principals_.find(by); known != principals_.end()) return known->second;
  const bool begins_anew = principals_.size() == kPrincipalsMax;
  if (begins_anew) principals_.clear();
  records.push_back(begin_record(kPrincipal));
  ArchiveWriter archive(records.back(), [](const PrincipalPtr&) { return uint64_t{0}; });
  archive(begins_anew)(*by);
  return principals_.emplace(by, principals_.size() + 1).first->second;
}

namespace {

// The message without the values of its tasks' environments, which no decision depends on; only
// their sizes count. None: it has none.
std::optional<proto::Envelope> without_values(const proto::Envelope& envelope) {
  const auto* accept = std::get_if<proto::Accept>(&*envelope.message);
  if (accept == nullptr) return std::nullopt;
  proto::Accept hidden = *accept;
  bool has_any = false;
  for (proto::Operation& operation : hidden.operations) {
    auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) continue;
    for (proto::TaskSpec& task : launch->tasks) {
      for (auto& [name, value] : task.environment) {
        has_any |= !value.empty();
        value.assign(value.size(), 'x');
      }
    }
  }
  if (!has_any) return std::nullopt;
  proto::Envelope copy = envelope;
  copy.message = proto::Message(std::move(hidden));
  return copy;
}

}  // namespace

void RecordingWriter::add(const MasterEvent& event, Time now, std::span<const std::byte> frame,
                          std::vector<std::string>& records) {
  std::string rest;
  ArchiveWriter archive(rest, [&](const PrincipalPtr& by) { return number_of(by, records); });
  archive(now)(event.index());
  if (const auto* received = std::get_if<FrameReceived>(&event)) {
    const std::optional<proto::Envelope> hidden = without_values(received->envelope);
    if (frame.empty() || hidden) {
      const Result<std::span<const std::byte>> bytes =
          encoder_.encode(hidden ? *hidden : received->envelope);
      CHECK(bytes) << bytes.error().message();
      frame = *bytes;
    }
    archive(received->peer)(received->by);
    archive(std::string_view(reinterpret_cast<const char*>(frame.data()), frame.size()));
  } else {
    std::visit(
        [&](const auto& one) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(one)>, FrameReceived>) archive(one);
        },
        event);
  }
  records.push_back(begin_record(kEvent) + rest);
}

std::string RecordingWriter::sum(uint64_t steps, uint64_t hash) {
  std::string record = begin_record(kSum);
  ArchiveWriter(record, [](const PrincipalPtr&) { return uint64_t{0}; })(steps)(hash);
  return record;
}

std::string RecordingWriter::end(std::string_view why) {
  std::string record = begin_record(kEnd);
  ArchiveWriter(record, [](const PrincipalPtr&) { return uint64_t{0}; })(why);
  return record;
}

// --- reading ------------------------------------------------------------------------------------

namespace {

// The event with this index, read from `archive`.
template <size_t kIndex = 0>
bool emplace(MasterEvent& event, uint64_t index, ArchiveReader& archive) {
  if constexpr (kIndex < std::variant_size_v<MasterEvent>) {
    if (index != kIndex) return emplace<kIndex + 1>(event, index, archive);
    auto& one = event.emplace<kIndex>();
    if constexpr (kIndex != kFrameIndex) archive(one);
    return true;
  } else {
    return false;
  }
}

Result<MasterEvent> read_event(uint64_t index, ArchiveReader& archive) {
  MasterEvent event;
  if (!emplace(event, index, archive)) return corrupt("an event of an unknown kind");
  if (index == kFrameIndex) {
    auto& frame = std::get<FrameReceived>(event);
    std::string bytes;
    archive(frame.peer)(frame.by)(bytes);
    if (archive.ok()) {
      Result<proto::Envelope> envelope = proto::decode(std::as_bytes(std::span(bytes)));
      if (!envelope) return corrupt(envelope.error().message());
      frame.envelope = *std::move(envelope);
    }
  }
  if (!archive.is_done()) return corrupt("an event is incomplete");
  return event;
}

}  // namespace

Result<void> RecordingReader::read_begin(std::string_view bytes) {
  ArchiveReader archive(bytes, principals_);
  uint64_t format = 0;
  archive(format);
  if (archive.ok() && format != kRecordingFormat) {
    return Error::unsupported(
               text("the recording has format ", format, ", this version reads ", kRecordingFormat))
        .with_hint("replay it with the version of Proffer that wrote it");
  }
  RecordingBegins& begins = begins_.emplace();
  archive(begins.version)(begins.options);
  if (!archive.is_done()) return corrupt("its beginning is incomplete");
  if (Result<void> checked = check_roles(begins.options.allocator.roles); !checked) {
    return corrupt(checked.error().message());
  }
  return {};
}

Result<void> RecordingReader::read_row(std::string_view bytes) {
  if (!begins_) return corrupt("a row of the registry where none is expected");
  ArchiveReader archive(bytes, principals_);
  std::string table;
  std::string key;
  std::string row_bytes;
  archive(table)(key)(row_bytes);
  if (!archive.is_done()) return corrupt("a row of the registry is incomplete");
  Result<proto::RegistryRow> row = proto::decode_row(table, key, row_bytes);
  if (!row) return corrupt(row.error().message());
  begins_->snapshot.rows.push_back(*std::move(row));
  return {};
}

Result<std::optional<RecordedEntry>> RecordingReader::read(std::string_view record) {
  if (record.empty()) return corrupt("an empty record");
  uint64_t number = 0;
  ArchiveReader head(record.substr(1), principals_);
  head(number);
  if (!head.ok()) return corrupt("a record is incomplete");
  if (number != records_++) return corrupt("records are missing here");
  const std::string_view bytes = head.rest();
  ArchiveReader archive(bytes, principals_);
  switch (record.front()) {
    case kBegin:
    case kRow: {
      Result<void> read = record.front() == kBegin ? read_begin(bytes) : read_row(bytes);
      if (!read) return std::move(read).error();
      return std::optional<RecordedEntry>();
    }
    case kBegun: {
      if (!begins_ || !bytes.empty()) return corrupt("it has no beginning");
      RecordedEntry entry(*std::exchange(begins_, std::nullopt));
      return std::optional(std::move(entry));
    }
    case kPrincipal: {
      bool begins_anew = false;
      Principal by;
      archive(begins_anew)(by);
      if (!archive.is_done()) return corrupt("a principal is incomplete");
      if (begins_anew) principals_.clear();
      if (principals_.size() >= kPrincipalsMax) return corrupt("too many principals");
      principals_.push_back(std::make_shared<Principal>(std::move(by)));
      return std::optional<RecordedEntry>();
    }
    case kEvent: {
      RecordedEvent recorded;
      uint64_t index = 0;
      archive(recorded.now)(index);
      if (!archive.ok()) return corrupt("an event is incomplete");
      Result<MasterEvent> event = read_event(index, archive);
      if (!event) return std::move(event).error();
      recorded.event = *std::move(event);
      return std::optional<RecordedEntry>(std::move(recorded));
    }
    case kSum: {
      RecordedSum sum;
      archive(sum.steps)(sum.hash);
      if (!archive.is_done()) return corrupt("a sum is incomplete");
      return std::optional<RecordedEntry>(sum);
    }
    case kEnd: {
      RecordingEnds ends;
      archive(ends.why);
      if (!archive.is_done()) return corrupt("its end is incomplete");
      return std::optional<RecordedEntry>(std::move(ends));
    }
    default:
      return corrupt("a record of an unknown kind");
  }
}

}  // namespace proffer::master
