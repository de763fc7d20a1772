#pragma once

#include <string>
#include <string_view>

namespace proffer {

// A problem of a command line that CLI11 reported, in the words of Proffer's other errors.
std::string plain_usage_problem(std::string_view reported);

}  // namespace proffer
