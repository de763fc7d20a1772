#pragma once

// The result of each item, and its printed forms.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer::cli {

enum class Verdict : uint8_t { kPassed, kFailed, kNotTested };
std::string_view to_text(Verdict verdict);  // "passed", "FAILED", "not tested"

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string seen = {};                 // what happened, or all problems
  std::vector<std::string> output = {};  // the last lines of the scheduler's output, if it failed
  Duration took = {};
  bool operator==(const Outcome&) const = default;
};

// One line for an item: {"item","result","what","seen","output","took_s"}.
std::string outcome_json(std::string_view item, std::string_view what, const Outcome& outcome);
// Errors: kInvalidArgument for a line that outcome_json() did not write.
Result<Outcome> parse_outcome(std::string_view line);

// For people.
std::vector<std::string> outcome_lines(std::string_view item, std::string_view what,
                                       const Outcome& outcome);

// The number of items with each verdict.
struct Tally {
  int passed = 0;
  int failed = 0;
  int not_tested = 0;
  void count(Verdict verdict);
  std::string to_text() const;
};

}  // namespace proffer::cli
