#pragma once

// The agent as a process: the master's connection, executors, the checkpoint, HTTP and the clock
// around the core. It decides nothing.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "net/address.h"
#include "net/curve_keys.h"
#include "net/descriptors.h"
#include "net/loop.h"
#include "slave/core/agent.h"
#include "slave/shell/housekeeping.h"
#include "slave/shell/isolator.h"

namespace proffer::agent {

struct AgentShellOptions {
  AgentOptions core = {};  // fresh_secret, http_address, boot_id and seed are filled in here
  std::optional<Resources> resources = {};  // none: what this machine has
  Masters masters = {};                     // one leads
  std::optional<ClientKeys> keys = {};      // by which masters on other machines are reached
  std::function<ClientKeys(const ClientKeys&)> keys_now = {};  // as Dealer::Options
  // That may run the master, beside root and this process's user: it says as which user tasks run.
  std::optional<uint32_t> master_uid = {};
  std::optional<Address> http_port = {};     // for HTTP beside the socket; only with a token
  std::vector<std::string> http_names = {};  // by which it is asked for besides loopback ones
  // For files to other machines, by TLS with tokens of the master. 0: any free one. None: not
  // served.
  std::optional<uint16_t> https_port = {};
  // By which others reach it; empty: the address by which this machine reaches its master.
  std::string https_host = {};
  std::optional<uint32_t> operators_group = {};  // its members may read files of all users
  HousekeepingOptions housekeeping = {};
  int64_t fetch_max = int64_t{16} << 30;  // bytes of all files that are fetched for one executor
  int64_t cache_max = int64_t{4} << 30;   // of fetched files that are kept for others; 0: none
  std::string work_dir = {};
  LimitsWanted limits = LimitsWanted::kWherePossible;
  GroupOptions groups = {};  // agent and its CPUs are filled in here
  // Of this process. Tasks get what it was given at its start. Zero: as many as are needed.
  DescriptorLimits descriptors = {};
};

class AgentShell {
 public:
  // Takes the directory's lock, reads the checkpoint, binds the executors' socket and HTTP, writes
  // address.json, and connects. Errors: a wrong or used directory, another agent's directory, a
  // damaged checkpoint of a newer version, a port in use.
  static Result<std::unique_ptr<AgentShell>> start(Loop& loop, AgentShellOptions options);
  // Executors run on.
  ~AgentShell();
  AgentShell(const AgentShell&) = delete;
  AgentShell& operator=(const AgentShell&) = delete;

  // SIGTERM: the loop is stopped when it is done, at once unless tasks are to be killed.
  void stop(bool kill_tasks);

  // Why the loop was stopped, if not because somebody asked.
  const Result<void>& outcome() const;

 private:
  struct Impl;
  explicit AgentShell(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::agent
