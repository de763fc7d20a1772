// Messages between a batch scheduler and its executors, and entries of indices.

#include "common/check.h"
#include "frameworks/batch/core/fnv.h"
#include "frameworks/batch/core/work.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace batch_work_fuzz {
namespace {

template <class Value>
void check(std::string_view bytes, Result<Value> (*decode)(std::string_view),
           std::string (*encode)(const Value&)) {
  const Result<Value> value = decode(bytes);
  if (!value) {
    CHECK(value.error().code() == ErrorCode::kCorruption);
    return check_told(value.error());
  }
  const std::string encoded = encode(*value);
  CHECK_LE(encoded.size(), bytes.size());  // our encoding is the shortest
  const Result<Value> again = decode(encoded);
  CHECK(again) << again.error().message();
  CHECK(*again == *value);
  CHECK(encode(*again) == encoded);
}

// Adds the checksum, which a fuzzer does not guess.
std::string sealed(std::string_view bytes) {
  batch::Fnv1a64 seal;
  seal.add(bytes);
  std::string out(bytes);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(seal.value() >> shift);
  return out;
}

}  // namespace
}  // namespace batch_work_fuzz

void fuzz_batch_work(Input input) {
  const std::string_view bytes = text_of(input);
  batch_work_fuzz::check(bytes, batch::decode_work, batch::encode_work);
  batch_work_fuzz::check(bytes, batch::decode_result, batch::encode_result);
  batch_work_fuzz::check(bytes, batch::decode_plan_result, batch::encode_plan_result);
  batch_work_fuzz::check(bytes, batch::decode_failure, batch::encode_failure);
  batch_work_fuzz::check(bytes, batch::decode_index_entry, batch::encode_index_entry);
  batch_work_fuzz::check(bytes, batch::decode_range_result, batch::encode_range_result);
  batch_work_fuzz::check(bytes, batch::decode_element_end, batch::encode_element_end);
  batch_work_fuzz::check(bytes, batch::decode_arguments, batch::encode_arguments);
  batch_work_fuzz::check(bytes, batch::decode_progress, batch::encode_progress);
  batch_work_fuzz::check(bytes, batch::decode_block_header, batch::encode_block_header);
  if (bytes.size() == batch::kElementEndBytes - 8) {
    batch_work_fuzz::check(std::string_view(batch_work_fuzz::sealed(bytes)),
                           batch::decode_element_end, batch::encode_element_end);
  }
  // For any cut of its standard error, lines that are no reports are passed on, and reports are
  // counted.
  batch::ReportLines whole;
  std::string passed = whole.feed(bytes);
  passed += whole.finish();
  batch::ReportLines pieces;
  std::string passed_in_pieces = pieces.feed(bytes.substr(0, bytes.size() / 2));
  passed_in_pieces += pieces.feed(bytes.substr(bytes.size() / 2));
  passed_in_pieces += pieces.finish();
  CHECK(passed == passed_in_pieces && whole.counters() == pieces.counters());
  CHECK(whole.status() == pieces.status());
  CHECK_LE(whole.counters().size(), batch::kCountersMax);
  if (bytes.size() != batch::kIndexEntryBytes - 8) return;
  batch_work_fuzz::check(std::string_view(batch_work_fuzz::sealed(bytes)),
                         batch::decode_index_entry, batch::encode_index_entry);
}

}  // namespace proffer::fuzz
