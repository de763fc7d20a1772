#include "net/http_hosts.h"

#include <algorithm>

#include "common/text.h"
#include "net/address.h"

namespace proffer {
namespace {

std::string in_lower_case(std::string_view given) {
  std::string out(given);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// For http://host:port, the only form of Proffer's own origins.
std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

}  // namespace

std::optional<HttpRefusal> refuse_strangers(const HttpRequest& request, std::string_view bound,
                                            const std::vector<std::string>& names) {
  const auto count = std::count_if(request.headers.begin(), request.headers.end(),
                                   [](const auto& header) { return header.first == "host"; });
  if (count > 1) return HttpRefusal{400, "there must be one Host header"};
  const std::string host = in_lower_case(request.header("host").value_or(""));
  if (count == 1) {
    const Result<Address> address = parse_address("Host", host, 80);
    if (!address) return HttpRefusal{400, address.error().message()};
    if (!is_loopback(address->host) && address->host != bound &&
        std::find(names.begin(), names.end(), address->host) == names.end()) {
      return HttpRefusal{421, text("the Host header names ", quoted(address->host),
                                   ", which is not this server; use 127.0.0.1 or localhost, or "
                                   "start the server with --http_names=",
                                   address->host)};
    }
  }
  const std::optional<std::string_view> origin = request.header("origin");
  if (!origin) return std::nullopt;
  const std::string from = in_lower_case(host_of_origin(*origin));
  if (!from.empty() && from == host) return std::nullopt;
  return HttpRefusal{403,
                     text("pages of ", quoted(*origin), " may not send requests to this server")};
}

Result<std::vector<std::string>> parse_http_names(std::string_view text_given) {
  std::vector<std::string> names;
  if (text_given.empty()) return names;
  for (const std::string_view name : split(text_given, ',')) {
    const std::string lower = in_lower_case(trimmed(name));
    const Result<Address> address = parse_address("host name", lower, 80);
    if (!address || address->host != lower) {
      return Error::invalid_argument(text(
          quoted(name), " is not a host name; use names without a port, as in cluster.example"));
    }
    names.push_back(lower);
  }
  return names;
}

}  // namespace proffer
