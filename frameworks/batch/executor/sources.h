#pragma once

// Where the agents of map tasks serve their files.

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/http_get.h"

namespace proffer::batch {

// What a map task tells as TaskResult::http_address if its agent serves other machines: reducers
// ask their own agent where it is, and for a token. Else it is the path of a socket, or host:port.
std::string source_of_agent(std::string_view agent);

// The agent of this process.
struct OwnAgent {
  std::string name = {};
  std::string http_address = {};  // of its files, on this machine
  bool serves_other_machines = false;
  std::string task = {};  // that asks it
};

class Sources {
 public:
  Sources(std::string framework, std::vector<std::string> addresses, OwnAgent own);

  // The place of the agent `index`. It is asked for once a minute, and anew if `is_refused`: the
  // place that was given last did not serve. Blocks while the agent of this machine asks the
  // master. Any thread. Errors: kUnavailable and what the agent says.
  Result<HttpPlace> place(size_t index, bool is_refused);

 private:
  using Clock = std::chrono::steady_clock;
  struct Source {
    std::string agent = {};  // to be asked for; empty: the place is known
    HttpPlace place = {};
    Clock::time_point until = {};
  };

  std::string framework_;
  OwnAgent own_;
  std::mutex mutex_;
  std::vector<Source> sources_;  // guarded by mutex_, but for `agent`
};

}  // namespace proffer::batch
