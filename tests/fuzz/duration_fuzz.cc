// Texts of durations.

#include "common/check.h"
#include "common/limits.h"
#include "common/time.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_duration(Input input) {
  const Result<Duration> duration = parse_duration(text_of(input));
  if (!duration) return check_told(duration.error());
  CHECK(*duration >= Duration() && *duration <= kDurationMax) << duration->nanos();
  const std::string printed = to_text(*duration);
  const Result<Duration> again = parse_duration(printed);
  CHECK(again && *again == *duration) << printed;
  CHECK_EQ(to_text(*again), printed);
}

}  // namespace proffer::fuzz
