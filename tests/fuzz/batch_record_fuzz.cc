// Records that a batch scheduler reads from its store; an order also comes from a user.

#include "common/check.h"
#include "frameworks/batch/core/records.h"
#include "frameworks/batch/core/schedule.h"
#include "frameworks/batch/core/waiting.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace batch_record_fuzz {
namespace {

template <class Record>
void check(std::string_view bytes, Result<Record> (*decode)(std::string_view)) {
  const Result<Record> record = decode(bytes);
  if (!record) return check_told(record.error());
  const std::string encoded = batch::encode(*record);
  const Result<Record> again = decode(encoded);
  CHECK(again) << again.error().message();
  CHECK(*again == *record);
  CHECK(batch::encode(*again) == encoded);
}

}  // namespace
}  // namespace batch_record_fuzz

void fuzz_batch_record(Input input) {
  const std::string_view bytes = text_of(input);
  batch_record_fuzz::check(bytes, batch::decode_scheduler);
  batch_record_fuzz::check(bytes, batch::decode_order_record);
  batch_record_fuzz::check(bytes, batch::decode_state);
  batch_record_fuzz::check(bytes, batch::decode_block);
  batch_record_fuzz::check(bytes, batch::decode_elements);
  batch_record_fuzz::check(bytes, batch::decode_ended);
  batch_record_fuzz::check(bytes, batch::decode_waiting);
  batch_record_fuzz::check(bytes, batch::decode_schedule);
  if (const Result<batch::ScheduleOrder> schedule = batch::decode_schedule_order(bytes)) {
    CHECK(batch::check_schedule(*schedule));
    CHECK(*batch::decode_schedule_order(batch::encode_schedule_order(*schedule)) == *schedule);
  } else {
    check_told(schedule.error());
  }
  if (const Result<batch::Submission> stages = batch::decode_submission(bytes)) {
    CHECK(batch::check_submission(*stages));
    CHECK(*batch::decode_submission(batch::encode_submission(*stages)) == *stages);
  } else {
    check_told(stages.error());
  }
  const Result<batch::JobOrder> order = batch::decode_order(bytes);
  if (!order) return check_told(order.error());
  CHECK(batch::check_order(*order));
  CHECK(*batch::decode_order(batch::encode_order(*order)) == *order);
}

}  // namespace proffer::fuzz
