#pragma once

// The addresses at which the agents of map tasks serve their files.

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/http_get.h"

namespace proffer::batch {

// The TaskResult::http_address of a map task whose agent serves other machines: reducers ask their
// own agent for its address and a token. Otherwise http_address is the path of a socket, or
// host:port.
std::string source_of_agent(std::string_view agent);

// The agent of this process.
struct OwnAgent {
  std::string name = {};
  std::string http_address = {};  // address of its files, on this machine
  bool serves_other_machines = false;
  std::string task = {};  // the task that asks it
};

class Sources {
 public:
  Sources(std::string framework, std::vector<std::string> addresses, OwnAgent own);

  // The address of the agent `index`. It is looked up once a minute, and again if `is_refused`: the
  // last address did not work. Blocks while the agent of this machine asks the master. Any thread.
  // Errors: kUnavailable, and the agent's errors.
  Result<HttpPlace> place(size_t index, bool is_refused);

 private:
  using Clock = std::chrono::steady_clock;
  struct Source {
    std::string agent = {};  // the agent to look up; empty: the address is known
    HttpPlace place = {};
    Clock::time_point until = {};
  };

  std::string framework_;
  OwnAgent own_;
  std::mutex mutex_;
  std::vector<Source> sources_;  // guarded by mutex_, except `agent`
};

}  // namespace proffer::batch
