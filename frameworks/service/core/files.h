#pragma once

// Small files of an app, mostly configuration: texts in which ~{NAME} is replaced by a variable of
// the instance's environment. The shell of the command writes them, so they need no support from
// the agent.

#include <map>
#include <string>

#include "common/result.h"

namespace proffer::service {

inline constexpr size_t kFilesMax = 16;
// The most bytes of all names and texts of an app, since they are sent with each task.
inline constexpr size_t kFilesBytesMax = 32 * 1024;
// The most bytes of the script, in which a quote takes four bytes.
inline constexpr size_t kFilesScriptBytesMax = 64 * 1024;

// A task with files has their script in this variable, and its command begins with kFilesCommand.
inline constexpr const char* kFilesVariable = "PROFFER_FILES";
inline constexpr const char* kFilesCommand = "eval \"$PROFFER_FILES\"\n";

using AppFiles = std::map<std::string, std::string>;  // texts by name

// Errors: kInvalidArgument names the file and what is allowed.
Result<void> check_files(const AppFiles& files);
// For checked files: a script for a POSIX shell that writes them and then unsets its variable. It
// ends the shell with a message if a file cannot be written or a variable is not set.
std::string files_script(const AppFiles& files);

}  // namespace proffer::service
