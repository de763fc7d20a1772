#pragma once

// Converts the path of a Unix socket to a socket address.

#include <string>

#include <sys/un.h>

#include "common/result.h"

namespace proffer {

// Errors: kInvalidArgument: empty, with a NUL, or longer than 107 bytes.
Result<sockaddr_un> local_address(const std::string& path);

}  // namespace proffer
