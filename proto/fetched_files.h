#pragma once

// The rules for all files of one task together. check_fetched_file() of messages.h has the rules
// for one file.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::proto {

// Parses the form that people write:
// "URI[,sha256=SUM][,name=NAME][,executable][,extract][,uncached]". A comma that none of these
// words follows belongs to the URI; a name has no comma. Errors: kInvalidArgument.
Result<FetchedFile> parse_fetched_file(std::string_view text);
// The reverse of parse_fetched_file(), unless the name has a comma.
std::string to_text(const FetchedFile& file);

// The file's name in the sandbox. Empty: the files of an archive are put directly into the sandbox.
std::string stored_name(const FetchedFile& file);
// True if tasks of other users that name the same file may share it: its checksum is known, and its
// source is public.
bool is_shareable(const FetchedFile& file);
// The most bytes of all URIs and names together, since they are sent with each task.
inline constexpr size_t kFetchedTextBytesMax = 32 * 1024;
// Errors: kInvalidArgument names the file that is wrong and what is allowed.
Result<void> check_fetched_files(const std::vector<FetchedFile>& files);

}  // namespace proffer::proto
