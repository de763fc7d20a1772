#pragma once

// Refuses browser requests from pages of other sites. A browser that shows such a page can be made
// to send requests to this server, either from the page itself or by a name of that site that
// resolves to 127.0.0.1 (DNS rebinding). The headers Host and Origin show both.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/http_server.h"

namespace proffer {

// Host must be a loopback name, `bound`, or one of `names`, with any port (for tunnels); it may be
// missing, as with some tools. Origin, if present, must equal the target of the request.
std::optional<HttpRefusal> refuse_strangers(const HttpRequest& request, std::string_view bound,
                                            const std::vector<std::string>& names);

// "cluster.example,proxy": host names for `names`, in lower case. Errors: kInvalidArgument.
Result<std::vector<std::string>> parse_http_names(std::string_view text);

}  // namespace proffer
