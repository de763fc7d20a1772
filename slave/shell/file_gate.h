#pragma once

// Access to files of this agent from another machine: for bearers of a token that the master made.

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

// What tasks of a framework use is told at this path and its id. A token for its files opens it.
inline constexpr std::string_view kUsagePath = "/v1/usage/";

// What a request beyond its rights leaves in the log.
struct RefusedBearer {
  std::string user = {};  // "?" if no token says it
  std::string path = {};
  std::string peer = {};  // its address
  std::string why = {};

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "audit: refused"}; }
  void fields(TraceFields& f) const {
    f("user", user).said("action", "read files");
    f.said("of", path);
    f("peer", peer).said("error", why);
  }
};

class FileGate {
 public:
  // `key`: that the master has for this agent in this life of it. `refused` is called from the
  // server's threads.
  FileGate(Secret key, std::function<Time()> now, std::function<void(RefusedBearer)> refused);

  // The bearer with the rights of the user of that *name* on this machine; or why not: 401 for a
  // token that is none, forged or over, 403 for a path that it does not open and a user that this
  // machine does not know. Any thread; reads the user database.
  std::variant<PrincipalPtr, HttpRefusal> admit(std::string_view token, std::string_view path,
                                                std::string_view peer) const;

 private:
  Secret key_;
  std::function<Time()> now_;
  std::function<void(RefusedBearer)> refused_;
};

}  // namespace proffer::agent
