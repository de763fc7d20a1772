#pragma once

// Small files that a later life needs: identities and keys. After a kill -9 or a loss of power each
// is what it was before, or all that was written, and never empty.

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "common/result.h"

namespace proffer {

// Replaces `path`, or makes it: by `path`.new, which is flushed before it gets the name, and so is
// the folder then. Errors: kUnavailable with the path and why; the former one is still there.
Result<void> write_file_durably(const std::string& path, std::string_view bytes, mode_t mode);
// The same where nothing is yet. Errors: kAlreadyExists; kUnavailable.
Result<void> make_file_durably(const std::string& path, std::string_view bytes, mode_t mode);

// Flushes the names in the folder of `path`. False with errno.
bool sync_folder_of(const std::string& path);

// `lines` and one more, "sum <16 hexadecimal digits>", by which a flipped bit is found: behind them
// all, or behind the first, so that a cut is found, too, where lines may be left out. It is not of
// cryptography: who can write the file can write the sum.
enum class SumPlace : uint8_t { kLast, kSecond };
std::string with_sum(std::string_view lines, SumPlace place = SumPlace::kLast);
// False: there is a line of a sum, and it is not that of the others. Files of earlier versions have
// none.
bool is_sum_right(std::string_view bytes);

}  // namespace proffer
