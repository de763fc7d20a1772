#pragma once

// Where the files of tasks are read: at a Unix socket of this machine, or at an agent of another
// one by TLS, with a token that the master makes.

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

  // Where `agent` serves files of the framework. `http_address` is what the master says of it: a
  // socket on the master's machine, or nothing. If that is not this machine, the master is asked; a
  // token serves for all tasks of the framework there, for half of its time. Errors: the master's,
  // with what to do if the agent serves its own machine only.
  Result<HttpPlace> find(const FrameworkId& framework, const AgentId& agent,
                         const std::string& http_address);
  // The place did not serve: the agent may have begun another life.
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
