#pragma once

// A token that states which user may read which paths of an agent, and its expiry. The master makes
// it with a key that it shares with this agent only (HMAC-SHA-256). So the agent needs no further
// request to verify it, and other agents refuse it.

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer {

struct FileToken {
  Time until = {};           // by the agent's clock, in milliseconds, rounded down
  std::string user = {};     // the bearer has this user's rights; without control characters
  bool is_operator = false;  // of the cluster
  std::string prefix = {};   // of the permitted paths: "/v1/files/F1/"
  bool operator==(const FileToken&) const = default;
};

// Printable, without spaces; about 300 bytes.
std::string seal(const FileToken& token, const Secret& key);
// Errors: kPermissionDenied if it was not made with this key, has expired, or expires more than
// kFileTokenAge and a minute after `now`, which the master never allows.
Result<FileToken> unseal(std::string_view sealed, const Secret& key, Time now);

}  // namespace proffer
