#pragma once

// Whether a request comes from a page of ours, or of nobody: a browser that shows a stranger's page
// can be made to ask this server too, by a name of the stranger's that means 127.0.0.1 (DNS
// rebinding), or from the page itself. It says so in the headers Host and Origin.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/http_server.h"

namespace proffer {

// Host must be a loopback name, `bound`, or one of `names`, with any port (of a tunnel, say); tools
// may leave it out. Origin, if there is one, must be where the request goes.
std::optional<HttpRefusal> refuse_strangers(const HttpRequest& request, std::string_view bound,
                                            const std::vector<std::string>& names);

// "cluster.example,proxy": host names for `names`, in lower case. Errors: kInvalidArgument.
Result<std::vector<std::string>> parse_http_names(std::string_view text);

}  // namespace proffer
