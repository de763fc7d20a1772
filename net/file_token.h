#pragma once

// A token that says which user may read which paths of an agent, and until when. The master makes
// it with a key that it shares with this agent alone (HMAC-SHA-256), so the agent needs to ask
// nobody, and no other agent takes it.

#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"

namespace proffer {

struct FileToken {
  Time until = {};           // by the agent's clock; in milliseconds, rounded down
  std::string user = {};     // whose rights the bearer has; without control characters
  bool is_operator = false;  // of the cluster
  std::string prefix = {};   // of the paths that it opens: "/v1/files/F1/"
  bool operator==(const FileToken&) const = default;
};

// Printable, without spaces; some 300 bytes.
std::string seal(const FileToken& token, const Secret& key);
// Errors: kPermissionDenied if it was not made with this key, or `now` is not before its end, or
// its end is further away than kFileTokenAge and a minute, which the master never says.
Result<FileToken> unseal(std::string_view sealed, const Secret& key, Time now);

}  // namespace proffer
