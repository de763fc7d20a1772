#pragma once

// Access from another machine to files of this agent, for bearers of a token that the master made.

#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "common/ids.h"
#include "common/principal.h"
#include "common/time.h"
#include "common/trace.h"
#include "net/http_server.h"

namespace proffer::agent {

// This path, with a framework's id, shows the resource use of its tasks. A token for its files is
// valid here.
inline constexpr std::string_view kUsagePath = "/v1/usage/";

// The log entry for a request without permission.
struct RefusedBearer {
  std::string user = {};  // "?" if there is no valid token
  std::string path = {};
  std::string peer = {};  // its address
  std::string why = {};

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "audit: refused"}; }
  void fields(TraceFields& f) const {
    f("user", user).free_text("action", "read files");
    f.free_text("of", path);
    f("peer", peer).free_text("error", why);
  }
};

class FileGate {
 public:
  // `key`: shared with the master in this life of the agent. `refused` is called from the server's
  // threads.
  FileGate(Secret key, std::function<Time()> now, std::function<void(RefusedBearer)> refused);

  // The bearer, with the rights of the user with that *name* on this machine, or a refusal: 401 for
  // a malformed, forged or expired token, 403 for a path that it does not cover and for a user that
  // is unknown here. Any thread; reads the user database.
  std::variant<PrincipalPtr, HttpRefusal> admit(std::string_view token, std::string_view path,
                                                std::string_view peer) const;

 private:
  Secret key_;
  std::function<Time()> now_;
  std::function<void(RefusedBearer)> refused_;
};

}  // namespace proffer::agent
