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
#include "net/curve_keys.h"
#include "net/loop.h"
#include "store/zookeeper_options.h"

namespace proffer::master {

struct MasterShellOptions {
  MasterOptions core = {};  // leader and started_at are filled in here
  std::string socket = {};  // its path; empty: none
  // By keys if there are any; else plain (--insecure_tcp), which the caller allows on loopback
  // only.
  std::optional<Address> tcp = {};
  std::optional<KeyPair> keys = {};  // the master's own
  // Where other machines find it, for join tokens: hosts without a port have that of `tcp`. Empty:
  // the addresses of this machine. With an ensemble: where they find each master, this one first.
  std::vector<Address> advertised = {};
  std::optional<Address> http_port = {};     // for HTTP beside the socket; only with a token
  std::vector<std::string> http_names = {};  // by which it is asked for besides loopback ones
  std::string data_dir = {};
  // Several masters share the registry in this ensemble, and one of them leads. None: the registry
  // is in data_dir.
  std::optional<ZooKeeperOptions> zookeeper = {};
  bool accepts_older_registry = false;           // one that lacks its latest commits
  uint64_t history_bytes = uint64_t{256} << 20;  // of ended tasks and of the use of roles; 0: none
  Duration history_age = hours(24 * 30);
  uint64_t events_bytes = uint64_t{64} << 20;  // of the event log; 0: none
  std::string record = {};                    // the directory of recordings for replay; empty: none
  uint64_t record_bytes = uint64_t{1} << 30;  // of these
  std::string version = {};                   // of Proffer, for recordings
};

inline constexpr Duration kLastEventsWithin = milliseconds(500);

class MasterShell {
 public:
  // Takes the directory's lock, binds, and writes address.json. With a registry of its own it leads
  // from then on; with an ensemble it is a standby until it is elected, and answers whoever speaks
  // to it where the leader is; the port that it serves by keys is held, and closed until it leads
  // (ADR 0056). Errors: a wrong or used directory, a port in use, a damaged registry.
  static Result<std::unique_ptr<MasterShell>> start(Loop& loop, MasterShellOptions options);
  ~MasterShell();
  MasterShell(const MasterShell&) = delete;
  MasterShell& operator=(const MasterShell&) = delete;

  // Stops the loop, at once or in a moment: a leader serves no more, and stays until its standbys
  // have the last events, at most kLastEventsWithin.
  void end();

  // Why the loop was stopped: the registry failed, or it leads no longer.
  const Result<void>& outcome() const;
  // Whether it leads no longer, in an ensemble; or was elected, and lost the lead, or ZooKeeper,
  // before it served.
  bool was_deposed() const;

 private:
  struct Impl;
  explicit MasterShell(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer::master
