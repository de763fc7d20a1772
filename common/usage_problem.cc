#include "common/usage_problem.h"

#include "common/text.h"

namespace proffer {

std::string plain_usage_problem(std::string_view reported) {
  constexpr std::string_view kOne = "The following argument was not expected: ";
  constexpr std::string_view kSeveral = "The following arguments were not expected: ";
  if (reported.starts_with(kOne)) {
    return text("unexpected argument ", quoted(reported.substr(kOne.size())));
  }
  if (reported.starts_with(kSeveral)) {
    return text("unexpected arguments ", quoted(reported.substr(kSeveral.size())));
  }
  if (reported == "A subcommand is required") return "a subcommand is missing";
  return std::string(reported);
}

}  // namespace proffer
