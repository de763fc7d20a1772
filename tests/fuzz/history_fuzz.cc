// One entry of a master's history.

#include "common/check.h"
#include "proto/codec/records.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_history(Input input) {
  const Result<proto::HistoryRecord> record = proto::decode_history(text_of(input));
  if (!record) return check_told(record.error());
  const std::string bytes = proto::encode_history(*record);
  const Result<proto::HistoryRecord> again = proto::decode_history(bytes);
  CHECK(again) << again.error().message();
  CHECK(*again == *record);
  CHECK(proto::encode_history(*again) == bytes) << "equal records, other bytes";
}

}  // namespace proffer::fuzz
