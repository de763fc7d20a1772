// Rows and records as bytes. They use the readers and writers of frames. An error here means a
// damaged store instead of a wrong peer, hence kCorruption.

#include "proto/codec/records.h"

#include <capnp/serialize.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "proto/codec/stream.h"
#include "proto/codec/wire_reader.h"
#include "proto/codec/wire_writer.h"

namespace proffer::proto {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// `write` fills the root of the new message.
template <class Wire, class Write>
std::string to_bytes(const Write& write) {
  capnp::word scratch[256] = {};
  capnp::MallocMessageBuilder builder{kj::arrayPtr(scratch, 256)};
  write(builder.initRoot<Wire>());
  const auto segments = builder.getSegmentsForOutput();
  std::string bytes;
  if (segments.size() == 1) {
    const uint32_t table[2] = {0, static_cast<uint32_t>(segments[0].size())};
    const auto content = segments[0].asBytes();
    bytes.reserve(sizeof table + content.size());
    bytes.append(reinterpret_cast<const char*>(table), sizeof table);
    bytes.append(reinterpret_cast<const char*>(content.begin()), content.size());
  } else {
    const auto flat = capnp::messageToFlatArray(segments);
    bytes.assign(reinterpret_cast<const char*>(flat.begin()), flat.size() * sizeof(capnp::word));
  }
  CHECK_LE(bytes.size(), kCheckpointRecordBytesMax);
  return bytes;
}

template <class Wire, class Value>
Result<Value> from_bytes(std::string_view bytes, std::string_view what) {
  Result<Value> result{Value{}};
  Value& value = *result;
  Result<void> read =
      read_stream(std::as_bytes(std::span(bytes.data(), bytes.size())), kCheckpointRecordBytesMax,
                  [&](capnp::MessageReader& message) -> Result<void> {
                    WireReader reader;
                    reader.read(message.getRoot<Wire>(), value);
                    if (!reader.ok()) return reader.take_error();
                    return {};
                  });
  if (read) return result;
  const Error& error = read.error();
  const bool newer = error.code() == ErrorCode::kUnsupported;
  return Error(newer ? ErrorCode::kUnsupported : ErrorCode::kCorruption, error.message()).in(what);
}

}  // namespace

std::string table_of(const RegistryRow& row) {
  return std::visit(Overloaded{[](const FrameworkRecord&) { return "frameworks"; },
                               [](const AgentRecord&) { return "agents"; },
                               [](const RoleRecord&) { return "roles"; },
                               [](const StoreRecord&) { return "store"; },
                               [](const ReservationRecord&) { return "reservations"; },
                               [](const KnownKey&) { return "keys"; },
                               [](const ClusterRecord&) { return "cluster"; },
                               [](const SecretRecord&) { return "secrets"; }},
                    row);
}

std::string key_of(const RegistryRow& row) {
  return std::visit(
      Overloaded{[](const FrameworkRecord& r) { return r.framework.str(); },
                 [](const AgentRecord& r) { return r.agent.str(); },
                 [](const RoleRecord& r) { return r.role.str(); },
                 [](const StoreRecord& r) { return text(r.framework.str(), "/", r.key); },
                 [](const ReservationRecord& r) { return text(r.agent.str(), "/", r.role.str()); },
                 [](const KnownKey& r) { return r.key.str(); },
                 [](const ClusterRecord&) { return std::string("id"); },
                 [](const SecretRecord& r) { return text(r.owner, "/", r.name); }},
      row);
}

std::string encode_row(const RegistryRow& row) {
  return to_bytes<wire::RegistryRow>([&](wire::RegistryRow::Builder out) { write_row(row, out); });
}

Result<RegistryRow> decode_row(std::string_view table, std::string_view key,
                               std::string_view bytes) {
  const std::string what = text("registry row ", quoted(key), " of ", quoted(table));
  Result<RegistryRow> row = from_bytes<wire::RegistryRow, RegistryRow>(bytes, what);
  if (row && (table_of(*row) != table || key_of(*row) != key)) {
    return Error::corruption(
        text(what, " says that it is ", quoted(key_of(*row)), " of ", quoted(table_of(*row))));
  }
  return row;
}

std::string encode_record(const CheckpointRecord& record) {
  return to_bytes<wire::CheckpointRecord>(
      [&](wire::CheckpointRecord::Builder out) { write_record(record, out); });
}

Result<CheckpointRecord> decode_record(std::string_view bytes) {
  return from_bytes<wire::CheckpointRecord, CheckpointRecord>(bytes, "checkpoint record");
}

std::string encode_history(const HistoryRecord& record) {
  return to_bytes<wire::HistoryRecord>(
      [&](wire::HistoryRecord::Builder out) { write_history(record, out); });
}

Result<HistoryRecord> decode_history(std::string_view bytes) {
  return from_bytes<wire::HistoryRecord, HistoryRecord>(bytes, "history record");
}

}  // namespace proffer::proto
