// Users' requests to the batch scheduler.

#include "common/check.h"
#include "proto/json/batch_json.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_batch_call(Input input) {
  const Result<proto::BatchCall> call = proto::parse_batch_call(text_of(input));
  if (!call) return check_told(call.error());
  const Result<proto::BatchCall> again = proto::parse_batch_call(proto::batch_call_json(*call));
  CHECK(again) << again.error().message();
  CHECK(again->verb == call->verb && again->job == call->job && again->order == call->order);
}

}  // namespace proffer::fuzz
