#include "master/shell/key_principals.h"

#include <array>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "net/users.h"

namespace proffer::master {
namespace {

// Addresses of interfaces that are up, without link-local ones, which are useless without an
// interface.
std::vector<std::string> own_addresses(bool loopback) {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    if (((one->ifa_flags & IFF_LOOPBACK) != 0) != loopback) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (one->ifa_addr->sa_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
      inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) continue;
      inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    }
    if (text[0] != '\0') found.emplace_back(text.data());
  }
  freeifaddrs(all);
  return found;
}

bool is_v6(const std::string& host) { return host.find(':') != std::string::npos; }

}  // namespace

Principal principal_of(const KnownKey& key) {
  Principal principal{.user = key.name, .uid = kNoUid, .key = key.key};
  principal.may_only_join = key.is_token();
  if (key.is_token()) return principal;
  if (key.kind == KeyKind::kAgent) {
    principal.agent = AgentId(key.name);
    principal.user = key.runs_as;
    // It is root on its own machine, so it counts as root.
    if (key.runs_as == "root") principal.uid = 0;
  } else if (const std::optional<uint32_t> uid = find_uid(key.name)) {
    principal.uid = *uid;
    principal.groups = groups_of(*uid);
  }
  return principal;
}

std::vector<std::string> reachable_at(const Address& bound, const std::vector<Address>& named) {
  std::vector<std::string> found;
  for (const Address& one : named) {
    found.push_back(to_text(Address{one.host, one.port == 0 ? bound.port : one.port}));
  }
  const bool is_all = bound.host == "0.0.0.0" || bound.host == "::";
  if (found.empty() && !is_all) found.push_back(to_text(bound));
  for (const bool loopback : {false, true}) {
    if (!found.empty()) break;
    for (const std::string& host : own_addresses(loopback)) {
      if (bound.host == "0.0.0.0" && is_v6(host)) continue;
      found.push_back(to_text(Address{host, bound.port}));
    }
  }
  if (found.size() > kAddressesMax) found.resize(kAddressesMax);
  return found;
}

}  // namespace proffer::master
