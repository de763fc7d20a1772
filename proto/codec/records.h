#pragma once

// Durable records as the bytes of proto/schema/wire.capnp: rows of the master's registry, entries
// of its history and of the agent's checkpoint. The store adds checksums where there are any.

#include <string>
#include <string_view>

#include "common/result.h"
#include "proto/history.h"
#include "proto/records.h"

namespace proffer::proto {

// The table of a row, for example "frameworks", and its key there: its id or name.
std::string table_of(const RegistryRow& row);
std::string key_of(const RegistryRow& row);

// Never too large, since a row holds only a few names. Texts are cut as in frames.
std::string encode_row(const RegistryRow& row);
// Errors: kCorruption if the bytes are not a row within its bounds, or not the row of this table
// and key.
Result<RegistryRow> decode_row(std::string_view table, std::string_view key,
                               std::string_view bytes);

// A record of decoded messages always fits in kFrameBytesMax; CHECKs that it does.
std::string encode_record(const CheckpointRecord& record);
// Errors: kCorruption as above; kUnsupported for a kind of record that this version does not know.
Result<CheckpointRecord> decode_record(std::string_view bytes);

// Never too large: texts are cut as in frames.
std::string encode_history(const HistoryRecord& record);
// Errors: as decode_record().
Result<HistoryRecord> decode_history(std::string_view bytes);

}  // namespace proffer::proto
