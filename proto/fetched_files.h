#pragma once

// The rules for the files of one task together; check_fetched_file() of messages.h has those of
// one.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::proto {

// As people write it: "URI[,sha256=SUM][,name=NAME][,executable][,extract][,uncached]". A comma
// of the URI is one that none of these words follows; a name has none. Errors: kInvalidArgument.
Result<FetchedFile> parse_fetched_file(std::string_view text);
// parse_fetched_file() gives it back, unless its name has a comma.
std::string to_text(const FetchedFile& file);

// Its name in the sandbox. Empty: the files of an archive lie in the sandbox itself.
std::string stored_name(const FetchedFile& file);
// Whether it may be handed to tasks of other users that name the same: its content is known by its
// sum, and everybody may get it from there.
bool is_shareable(const FetchedFile& file);
// Of all URIs and names together: they are sent with each task.
inline constexpr size_t kFetchedTextBytesMax = 32 * 1024;
// Errors: kInvalidArgument says which file is wrong and what is allowed.
Result<void> check_fetched_files(const std::vector<FetchedFile>& files);

}  // namespace proffer::proto
