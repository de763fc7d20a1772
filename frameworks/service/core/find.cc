// How instances find servers of other apps: `find` in an app file. Each instance gets the servers
// that are in service when it starts, in variables. It must learn of later changes itself.

#include <algorithm>

#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {

// Each slot begins with another server, so that a long list is not cut at the same place for all.
proto::Environment Service::State::found_servers(const AppSpec& spec, int64_t slot) const {
  proto::Environment found;
  size_t bytes = 0;
  for (const std::string& name : spec.find) {
    const std::string variable = find_variable(name);
    found[variable];  // empty if there is no server, or the app is gone
    const auto app = apps_.find(name);
    if (app == apps_.end()) continue;
    const std::vector<proto::ServerRow>& servers = app->second.servers;
    const std::vector<std::string>& ports = app->second.app.spec.ports;
    const size_t count = std::min(servers.size(), kFoundServersMax);
    for (size_t i = 0; i < count; ++i) {
      const auto at = (static_cast<size_t>(slot) + i) % servers.size();
      const proto::ServerRow& server = servers[at];
      for (const std::string& port : ports) {
        const auto number = server.ports.find(port);
        if (server.host.empty() || number == server.ports.end()) continue;
        const std::string address = text(server.host, ':', number->second);
        std::vector<std::string> variables = {find_variable(text(name, '_', port))};
        if (port == ports.front()) variables.push_back(variable);
        for (const std::string& one : variables) {
          std::string& value = found[one];
          bytes += (value.empty() ? one.size() : 1) + address.size();
          if (bytes > kFoundBytesMax) return found;
          value += text(value.empty() ? "" : ",", address);
        }
      }
    }
  }
  return found;
}

}  // namespace proffer::service
