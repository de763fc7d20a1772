#pragma once

// Where to read the files of tasks: at a Unix socket of this machine, or over TLS at an agent on
// another machine, with a token that the master makes.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/ids.h"
#include "common/result.h"
#include "net/address.h"
#include "net/http_get.h"

namespace proffer::cli {

// For one thread.
class FilePlaces {
 public:
  explicit FilePlaces(Masters masters) : masters_(std::move(masters)) {}

  // The place where `agent` serves files of the framework. `http_address` is the master's value for
  // it: a socket on the master's machine, or empty. If that is not this machine, the master is
  // asked; a token is for all tasks of the framework on the agent, and is used for half of its
  // lifetime. Errors: the master's, with a hint if the agent serves only its own machine.
  Result<HttpPlace> find(const FrameworkId& framework, const AgentId& agent,
                         const std::string& http_address);
  // The place did not work: the agent may have restarted.
  void forget(const FrameworkId& framework, const AgentId& agent) {
    known_.erase({framework, agent});
  }

 private:
  struct Known {
    HttpPlace place = {};
    std::chrono::steady_clock::time_point until = {};
  };

  Masters masters_;
  std::optional<bool> is_beside_master_ = {};
  std::map<std::pair<FrameworkId, AgentId>, Known> known_;
};

}  // namespace proffer::cli
