#pragma once

// Small files of an app, mostly configuration: texts with ~{NAME} where a variable of the
// instance's environment goes. The shell of the command writes them, so that they need nothing of
// the agent.

#include <map>
#include <string>

#include "common/result.h"

namespace proffer::service {

inline constexpr size_t kFilesMax = 16;
// Of the names and texts of an app together: they are sent with each task.
inline constexpr size_t kFilesBytesMax = 32 * 1024;
// A quote takes four bytes in the script.
inline constexpr size_t kFilesScriptBytesMax = 64 * 1024;

// A task with files has their script in this variable, and begins with kFilesCommand.
inline constexpr const char* kFilesVariable = "PROFFER_FILES";
inline constexpr const char* kFilesCommand = "eval \"$PROFFER_FILES\"\n";

using AppFiles = std::map<std::string, std::string>;  // texts by name

// Errors: kInvalidArgument names the file and says what is allowed.
Result<void> check_files(const AppFiles& files);
// Of checked files: a script for a POSIX shell that writes them and then forgets itself. It ends
// the shell with a message if a file cannot be written or a variable is not set.
std::string files_script(const AppFiles& files);

}  // namespace proffer::service
