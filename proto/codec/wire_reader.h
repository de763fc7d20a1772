#pragma once

// Reads messages of the schema into values, and checks every rule of the schema. For the codec
// only.

#include <optional>

#include "common/result.h"
#include "common/text.h"
#include "proto/history.h"
#include "proto/records.h"
#include "wire.capnp.h"

namespace proffer::proto {

inline std::string_view view_of(capnp::Text::Reader in) { return {in.begin(), in.size()}; }
Error too_long(std::string_view what, size_t size, size_t max);

// Fills values and remembers the first fault. The values are valid only if there is no fault. kj
// may throw from any of these functions if a pointer is invalid.
class WireReader {
 public:
  void read(wire::Envelope::Reader in, Message& out);
  void read(wire::RegistryRow::Reader in, RegistryRow& out);
  void read(wire::CheckpointRecord::Reader in, CheckpointRecord& out);
  void read(wire::HistoryRecord::Reader in, HistoryRecord& out);

  bool ok() const { return !error_.has_value(); }
  Error take_error() { return *std::move(error_); }

 private:
  void refuse(Error error) {
    if (ok()) error_ = std::move(error);
  }
  void accept(Result<void> checked) {
    if (!checked) refuse(std::move(checked).error());
  }

  // --- fields: `what` names them in errors -----------------------------------------------------
  void text(capnp::Text::Reader in, std::string_view what, size_t bytes_max, std::string& out);
  void c_text(capnp::Text::Reader in, std::string_view what, size_t bytes_max, std::string& out);
  void data(capnp::Data::Reader in, std::string_view what, size_t bytes_max, std::string& out);
  void words(capnp::Text::Reader in, std::string& out);
  void name(capnp::Text::Reader in, std::string_view what, std::string& out);
  template <class Tag>
  void name(capnp::Text::Reader in, std::string_view what, Id<Tag>& out);
  template <class Tag>
  void optional_name(capnp::Text::Reader in, std::string_view what, Id<Tag>& out);
  void role(capnp::Text::Reader in, RoleName& out);
  void secret(capnp::Text::Reader in, Secret& out);
  void cluster(capnp::Text::Reader in, ClusterId& out);  // optional
  void store_key(capnp::Text::Reader in, std::string& out);
  void span(int64_t nanos, std::string_view what, Duration& out);
  void time(int64_t nanos, Time& out);
  void whole(int64_t in, std::string_view what, int64_t min, int64_t max, int64_t& out);
  template <class Enum, class Wire>
  void enumerator(Wire in, std::string_view what, size_t count, Enum& out);
  // Checks that a list has at most `max` entries.
  bool count(size_t size, std::string_view what, size_t max);

  // --- parts of messages -----------------------------------------------------------------------
  void offer_ids(capnp::List<uint64_t>::Reader in, std::vector<OfferId>& out);
  void amounts(wire::Amounts::Reader in, ResourceVector& out);
  void ports(capnp::List<wire::PortRange>::Reader in, PortSet& out);
  void resources(wire::Resources::Reader in, Resources& out);
  void attributes(capnp::List<wire::Attribute>::Reader in, Attributes& out);
  void slices(capnp::List<wire::Slice>::Reader in, std::vector<Slice>& out);
  void constraint(wire::Constraint::Reader in, Constraint& out);
  void preference(wire::Preference::Reader in, Preference& out);
  void ask(wire::Ask::Reader in, Ask& out);
  void offer(wire::Offer::Reader in, Offer& out);
  void refusal(wire::Refusal::Reader in, Refusal& out);
  void environment(capnp::List<wire::Variable>::Reader in, Environment& out);
  void spec(wire::TaskSpec::Reader in, TaskSpec& out);
  void labels(capnp::List<wire::Label>::Reader in, Labels& out);
  void fetched_file(wire::FetchedFile::Reader in, FetchedFile& out);
  void users(capnp::List<capnp::Text>::Reader in, std::string_view what, size_t most,
             std::set<std::string>& out);
  void health(wire::HealthCheck::Reader in, const std::vector<std::string>& port_names,
              HealthCheck& out);
  void readiness(wire::Readiness::Reader in, const std::vector<std::string>& port_names,
                 Readiness& out);
  void claim(wire::TaskClaim::Reader in, TaskClaim& out);
  void named_ports(capnp::List<wire::NamedPort>::Reader in, std::string_view what,
                   std::map<std::string, uint16_t>& out);
  void assignment(wire::Assignment::Reader in, Assignment& out);
  void status(wire::TaskStatus::Reader in, TaskStatus& out);
  void usage(wire::TaskUsage::Reader in, TaskUsage& out);
  void agent_task(wire::AgentTask::Reader in, AgentTask& out);
  void quota(capnp::List<wire::KindAmount>::Reader in, Quota& out);
  template <class Reservation>
  void reservation(wire::Reserve::Reader in, Reservation& out);
  void launch(wire::Launch::Reader in, Launch& out);
  void operation(wire::Operation::Reader in, Operation& out);
  void error_message(wire::ErrorMessage::Reader in, ErrorMessage& out);

  // --- messages --------------------------------------------------------------------------------
  void fill(wire::Subscribe::Reader in, Subscribe& out);
  void fill(wire::DeclareAsks::Reader in, DeclareAsks& out);
  void fill(wire::Accept::Reader in, Accept& out);
  void fill(wire::Decline::Reader in, Decline& out);
  void fill(wire::KillTask::Reader in, KillTask& out);
  void fill(wire::Acknowledge::Reader in, Acknowledge& out);
  void fill(wire::Reconcile::Reader in, Reconcile& out);
  void fill(wire::FrameworkMessage::Reader in, FrameworkMessage& out);
  void fill(wire::Subscribed::Reader in, Subscribed& out);
  void fill(wire::Offers::Reader in, Offers& out);
  void fill(wire::Rescind::Reader in, Rescind& out);
  void fill(wire::Update::Reader in, Update& out);
  void fill(wire::AskReport::Reader in, AskReport& out);
  void fill(wire::Failure::Reader in, Failure& out);
  void fill(wire::ErrorMessage::Reader in, ErrorMessage& out) { error_message(in, out); }
  void fill(wire::RegisterAgent::Reader in, RegisterAgent& out);
  void file_service(wire::FileService::Reader in, FileService& out);
  void fill(wire::RegisterTasks::Reader in, RegisterTasks& out);
  void fill(wire::AgentRegistered::Reader in, AgentRegistered& out);
  void fill(wire::RunTask::Reader in, RunTask& out);
  void fill(wire::ShutdownFramework::Reader in, ShutdownFramework& out);
  void fill(wire::ExecutorHello::Reader in, ExecutorHello& out);
  void fill(wire::ExecutorWelcome::Reader in, ExecutorWelcome& out);
  void fill(wire::ExecutorUpdate::Reader in, ExecutorUpdate& out);
  void fill(wire::Call::Reader in, Call& out);
  void fill(wire::Reply::Reader in, Reply& out);
  void fill(wire::StoreRequest::Reader in, StoreRequest& out);
  void fill(wire::StoreResult::Reader in, StoreResult& out);
  void fill(wire::FrameworkRequest::Reader in, FrameworkRequest& out);
  void fill(wire::FrameworkResponse::Reader in, FrameworkResponse& out);
  void fill(wire::RevokeNotice::Reader in, RevokeNotice& out);
  void fill(wire::RevokeWithdrawn::Reader in, RevokeWithdrawn& out);
  void fill(wire::AgentTrouble::Reader in, AgentTrouble& out);
  void fill(wire::Reconciled::Reader in, Reconciled& out);
  void fill(wire::NotLeader::Reader in, NotLeader& out);
  void fill(wire::ReleaseFiles::Reader in, ReleaseFiles& out);

  // --- records ---------------------------------------------------------------------------------
  void fill(wire::FrameworkRecord::Reader in, FrameworkRecord& out);
  void fill(wire::AgentRecord::Reader in, AgentRecord& out);
  void fill(wire::RoleRecord::Reader in, RoleRecord& out);
  void fill(wire::StoreRecord::Reader in, StoreRecord& out);
  void fill(wire::ReservationRecord::Reader in, ReservationRecord& out);
  void fill(wire::KeyRecord::Reader in, KnownKey& out);
  void fill(wire::SecretRecord::Reader in, SecretRecord& out);
  void fill(wire::ClusterRecord::Reader in, ClusterRecord& out);
  void fill(wire::LedMaster::Reader in, LedMaster& out);
  void fill(wire::AgentIdentity::Reader in, AgentIdentity& out);
  void fill(wire::ExecutorRecord::Reader in, ExecutorRecord& out);
  void fill(wire::ExecutorGone::Reader in, ExecutorGone& out);
  void fill(wire::TaskRecord::Reader in, TaskRecord& out);
  void fill(wire::UpdateRecord::Reader in, UpdateRecord& out);
  void fill(wire::AcknowledgedRecord::Reader in, AcknowledgedRecord& out);
  void span_of(int64_t from, int64_t until, Time& from_out, Time& until_out);
  void fill(wire::EndedTask::Reader in, EndedTask& out);
  template <class In, class Row>
  void wait_reasons(const In& in, std::vector<Row>& out);
  void fill(wire::RoleUse::Reader in, RoleUse& out);
  void fill(wire::RoleWait::Reader in, RoleWait& out);
  void fill(wire::LifeBegan::Reader in, LifeBegan& out);
  void fill(wire::LifeEnded::Reader in, LifeEnded& out);
  void fill(wire::HistoryGap::Reader in, HistoryGap& out);

  std::optional<Error> error_;
};

template <class Tag>
void WireReader::name(capnp::Text::Reader in, std::string_view what, Id<Tag>& out) {
  const std::string_view value = view_of(in);
  if (!is_valid_name(value)) return accept(check_name(what, value));
  out = Id<Tag>(std::string(value));
}

template <class Tag>
void WireReader::optional_name(capnp::Text::Reader in, std::string_view what, Id<Tag>& out) {
  if (in.size() > 0) name(in, what, out);
}

template <class Enum, class Wire>
void WireReader::enumerator(Wire in, std::string_view what, size_t known, Enum& out) {
  const auto raw = static_cast<uint16_t>(in);
  if (raw >= known) {
    return refuse(Error::invalid_argument(proffer::text("unknown ", what, " ", raw)));
  }
  out = static_cast<Enum>(raw);
}

}  // namespace proffer::proto
