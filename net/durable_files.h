#pragma once

// Writes small files that the next life needs: identities and keys. After a kill -9 or a power
// failure each file has its old content or the complete new one, and is never empty.

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/result.h"

namespace proffer {

// Replaces or makes `path`: writes `path`.new, flushes it, renames it, and flushes the folder.
// Errors: kUnavailable with the path and the reason; the old file is unchanged.
Result<void> write_file_durably(const std::string& path, std::string_view bytes, mode_t mode);
// The same for a new file. Errors: kAlreadyExists; kUnavailable.
Result<void> make_file_durably(const std::string& path, std::string_view bytes, mode_t mode);

// Flushes the folder of `path`. False with errno.
bool sync_folder_of(const std::string& path);

// Adds a line "sum <16 hexadecimal digits>" to `lines`, which detects a flipped bit. It comes last,
// or second, which also detects a missing end in files with optional lines. It is not
// cryptographic: a user that can write the file can compute the sum.
enum class SumPlace : uint8_t { kLast, kSecond };
std::string with_sum(std::string_view lines, SumPlace place = SumPlace::kLast);
// False: there is a sum line, and it does not match the other lines. Files of earlier versions have
// none.
bool is_sum_right(std::string_view bytes);

}  // namespace proffer
