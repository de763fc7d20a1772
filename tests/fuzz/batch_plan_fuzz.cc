// The entries of a job's plan, which its tasks read from the output directory.

#include "common/check.h"
#include "frameworks/batch/core/plan.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_batch_plan(Input input) {
  const std::string_view bytes = text_of(input);
  if (const Result<batch::Split> split = batch::decode_split(bytes)) {
    CHECK(*batch::decode_split(batch::encode_split(*split)) == *split);
  } else {
    check_told(split.error());
  }
  if (const Result<batch::ShippedFiles> files = batch::decode_files(bytes)) {
    for (const auto& [name, content] : files->contents) CHECK(batch::check_shipped_name(name));
    for (const auto& [name, file] : files->large) CHECK(batch::check_shipped_name(name));
    CHECK(*batch::decode_files(batch::encode_files(*files)) == *files);
  } else {
    check_told(files.error());
  }
  if (const Result<batch::PlanRequest> request = batch::decode_plan_request(bytes)) {
    CHECK(*batch::decode_plan_request(batch::encode_plan_request(*request)) == *request);
  } else {
    check_told(request.error());
  }
}

}  // namespace proffer::fuzz
