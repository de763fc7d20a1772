#pragma once

// The master as a process: sockets, the registry, HTTP and the clock around the core. It decides
// nothing.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "master/core/master.h"
#include "net/address.h"
#include "net/loop.h"

namespace proffer::master {

struct MasterShellOptions {
  MasterOptions core = {};  // leader and started_at are filled in here
  std::string socket = {};  // its path; empty: none
  std::optional<Address> tcp = {};
  std::optional<Address> http_port = {};     // for HTTP beside the socket; only with a token
  std::vector<std::string> http_names = {};  // by which it is asked for besides loopback ones
  std::string data_dir = {};
  bool accepts_older_registry = false;           // one that lacks its latest commits
  uint64_t history_bytes = uint64_t{256} << 20;  // of ended tasks and of the use of roles; 0: none
  Duration history_age = hours(24 * 30);
};

class MasterShell {
 public:
  // Takes the directory's lock, begins a leader epoch, restores the registry, binds, and writes
  // address.json. Errors: a wrong or used directory, a port in use, a damaged registry.
  static Result<std::unique_ptr<MasterShell>> start(Loop& loop, MasterShellOptions options);
  ~MasterShell();
  MasterShell(const MasterShell&) = delete;
  MasterShell& operator=(const MasterShell&) = delete;

  // Why the loop was stopped, if the registry failed.
  const Result<void>& outcome() const;

 private:
  struct Impl;
  explicit MasterShell(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::master
