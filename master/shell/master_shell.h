#pragma once

// The master as a process: sockets, the registry, HTTP and the clock around the core. It makes no
// decisions.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "master/core/master.h"
#include "net/address.h"
#include "net/curve_keys.h"
#include "net/loop.h"
#include "store/zookeeper_options.h"

namespace proffer::master {

struct MasterShellOptions {
  MasterOptions core = {};  // leader and started_at are set here
  std::string socket = {};  // path of the Unix socket; empty: none
  // With CURVE if there are keys, else plain (--insecure_tcp), which the caller allows on loopback
  // only.
  std::optional<Address> tcp = {};
  std::optional<KeyPair> keys = {};  // the masters' own
  // The hosts at which other machines reach this master, for join tokens; the port of `tcp` is
  // added to hosts without a port. Empty: the addresses of this machine. With an ensemble: the
  // hosts of all masters, this one first.
  std::vector<Address> advertised = {};
  // HTTP port in addition to the socket; it requires a token.
  std::optional<Address> http_port = {};
  // Allowed names in the Host header, besides loopback names.
  std::vector<std::string> http_names = {};
  std::string data_dir = {};
  // Several masters share the registry in this ensemble, and one of them leads. None: the registry
  // is in data_dir.
  std::optional<ZooKeeperOptions> zookeeper = {};
  bool accepts_older_registry = false;  // accept a registry without its latest commits
  // Size of the history of ended tasks and role use; 0: none.
  uint64_t history_bytes = uint64_t{256} << 20;
  Duration history_age = hours(24 * 30);
  uint64_t events_bytes = uint64_t{64} << 20;  // size of the event log; 0: none
  std::string record = {};                     // directory of recordings for replay; empty: none
  uint64_t record_bytes = uint64_t{1} << 30;   // size of all recordings
  std::string version = {};                    // version of Proffer, for recordings
};

inline constexpr Duration kLastEventsWithin = milliseconds(500);

class MasterShell {
 public:
  // Takes the directory's lock, binds, and writes address.json. With its own registry the master
  // leads from then on. With an ensemble it is a standby until it is elected, and answers its peers
  // with the address of the leader; the CURVE port is bound, and closed until it leads (ADR 0056).
  // Errors: a wrong or used directory, a port in use, a damaged registry.
  static Result<std::unique_ptr<MasterShell>> start(Loop& loop, MasterShellOptions options);
  ~MasterShell();
  MasterShell(const MasterShell&) = delete;
  MasterShell& operator=(const MasterShell&) = delete;

  // Stops the loop, now or soon: a leader stops to serve, and waits until its standbys have the
  // last events, at most for kLastEventsWithin.
  void end();

  // Why the loop stopped: the registry failed, or the master lost the lead.
  const Result<void>& outcome() const;
  // Whether this master of an ensemble lost the lead; also if it was elected and lost the lead or
  // ZooKeeper before it served.
  bool was_deposed() const;

 private:
  struct Impl;
  explicit MasterShell(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::master
