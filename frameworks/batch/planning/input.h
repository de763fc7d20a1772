#pragma once

// Input of a job: lists the files of directories, and reads small files whole.

#include <cstddef>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/splits.h"

namespace proffer::batch {

// The content of a file of at most `bytes_max` bytes. Errors: kNotFound, kUnavailable with the
// system's words, kResourceExhausted.
Result<std::string> read_file(const std::string& path, size_t bytes_max);

// More files must be packed into fewer files first.
inline constexpr size_t kInputFilesMax = 5'000'000;

// All regular files of the inputs: directories are walked recursively, sorted bytewise; links in
// them are not followed. Compressed files are detected, unless they are not to be unpacked. Errors:
// kNotFound, kUnavailable naming the path that cannot be read and why; kFailedPrecondition if the
// input is empty, unless that is allowed; kResourceExhausted.
Result<std::vector<InputFile>> find_input(const std::vector<std::string>& inputs,
                                          bool allow_empty = false, bool decompresses = true);

// The arguments of an array: the lines of a file, or the paths of the files of these inputs.
// Errors: kInvalidArgument and kResourceExhausted for arguments that no array can have,
// kFailedPrecondition if there are none, and those of find_input and read_file.
Result<std::vector<std::string>> find_arguments(const std::string& lines_of,
                                                const std::vector<std::string>& files_of);

}  // namespace proffer::batch
