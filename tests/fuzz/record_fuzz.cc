// One record of an agent's checkpoint.

#include "common/check.h"
#include "proto/codec/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_record(Input input) {
  const Result<proto::CheckpointRecord> record = proto::decode_record(text_of(input));
  if (!record) return check_told(record.error());
  // Shared pointers can make a value too large to encode; the agent only encodes values from
  // frames. Half of the maximum size is safe.
  if (input.size() > kFrameBytesMax / 2) return;
  const std::string bytes = proto::encode_record(*record);
  const Result<proto::CheckpointRecord> again = proto::decode_record(bytes);
  CHECK(again) << again.error().message();
  CHECK(*again == *record);
  CHECK(proto::encode_record(*again) == bytes) << "equal records, other bytes";
}

}  // namespace proffer::fuzz
