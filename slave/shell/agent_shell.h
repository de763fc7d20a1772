#pragma once

// The agent as a process: the master's connection, executors, the checkpoint, HTTP and the clock
// around the core. It makes no decisions.

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
  AgentOptions core = {};  // fresh_secret, http_address, boot_id and seed are set here
  std::optional<Resources> resources = {};                     // none: those of this machine
  std::optional<ResourceVector> system_reserved = {};          // none: system_reserve()
  Masters masters = {};                                        // one of them leads
  std::optional<ClientKeys> keys = {};                         // for masters on other machines
  std::function<ClientKeys(const ClientKeys&)> keys_now = {};  // as Dealer::Options
  // May run the master, besides root and this process's user. The master decides the users of
  // tasks.
  std::optional<uint32_t> master_uid = {};
  // HTTP port in addition to the socket; it requires a token.
  std::optional<Address> http_port = {};
  // Allowed names in the Host header, besides loopback names.
  std::vector<std::string> http_names = {};
  // TLS port that serves files to other machines with tokens of the master. 0: any free port. None:
  // not served.
  std::optional<uint16_t> https_port = {};
  // The host for other machines; empty: the local address of the connection to the master.
  std::string https_host = {};
  std::optional<uint32_t> operators_group = {};  // members may read files of all users
  HousekeepingOptions housekeeping = {};
  int64_t fetch_max = int64_t{16} << 30;  // limit on bytes fetched for one executor
  int64_t cache_max = int64_t{4} << 30;   // size of the cache of fetched files; 0: no cache
  std::string work_dir = {};
  LimitsWanted limits = LimitsWanted::kWherePossible;
  GroupOptions groups = {};  // agent and its CPUs are set here
  // For this process. Tasks get the limit with which it was started. Zero: as many as needed.
  DescriptorLimits descriptors = {};
};

class AgentShell {
 public:
  // Takes the directory's lock, reads the checkpoint, binds the executors' socket and HTTP, writes
  // address.json, and connects. Errors: a wrong or used directory, another agent's directory, a
  // damaged checkpoint or one of a newer version, a port in use.
  static Result<std::unique_ptr<AgentShell>> start(Loop& loop, AgentShellOptions options);
  // Executors continue.
  ~AgentShell();
  AgentShell(const AgentShell&) = delete;
  AgentShell& operator=(const AgentShell&) = delete;

  // SIGTERM: stops the loop, at once unless tasks must be killed first.
  void stop(bool kill_tasks);

  // Why the loop stopped, unless that was requested.
  const Result<void>& outcome() const;

 private:
  struct Impl;
  explicit AgentShell(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::agent
