#pragma once

// The path of a Unix socket as the system wants it.

#include <string>

#include <sys/un.h>

#include "common/result.h"

namespace proffer {

// Errors: kInvalidArgument: empty, with a NUL, or longer than 107 bytes.
Result<sockaddr_un> local_address(const std::string& path);

}  // namespace proffer
