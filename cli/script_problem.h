#pragma once

#include <string>

namespace proffer::cli {

// Why a script of this machine cannot be executed: its interpreter is missing. Empty if the program
// is no script, has its interpreter, or is not found here. A relative path is that of a sandbox, so
// it is not looked for.
std::string script_problem(const std::string& program);

}  // namespace proffer::cli
