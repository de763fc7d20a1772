#pragma once

// Writes values into the builders of the schema. For the codec only.

#include "proto/history.h"
#include "proto/records.h"
#include "wire.capnp.h"

namespace proffer::proto {

// `message` must not be Unknown.
void write_message(const Message& message, wire::Envelope::Builder out);
void write_row(const RegistryRow& row, wire::RegistryRow::Builder out);
void write_record(const CheckpointRecord& record, wire::CheckpointRecord::Builder out);
void write_history(const HistoryRecord& record, wire::HistoryRecord::Builder out);

}  // namespace proffer::proto
