#pragma once

// Masters that share a ZooKeeper ensemble: a server and a master on each machine. Which files a
// machine needs, and their text. Pure.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::cli {

struct EnsembleMachine {
  int id = 0;             // of the ZooKeeper server; never changes
  std::string host = {};  // a DNS name or an IP address, by which the other machines reach it
  bool operator==(const EnsembleMachine&) const = default;
};

struct Ensemble {
  std::string path = {};                       // of the cluster in ZooKeeper: "/proffer"
  int port = 0;                                // of the masters
  std::vector<EnsembleMachine> machines = {};  // by id
  bool operator==(const Ensemble&) const = default;
};

inline constexpr std::string_view kDefaultPath = "/proffer";
inline constexpr int kDefaultMasterPort = 5050;
// Fewer do not survive the loss of one. More than kMastersMax masters have no list of addresses.
inline constexpr size_t kEnsembleMachinesMin = 3;

// What an operator asked for.
struct EnsembleRequest {
  std::vector<std::string> hosts = {};
  std::optional<std::string> path = {};
  std::optional<std::string> port = {};
};

// `before`: the ensemble that an earlier call made. It may grow by one machine, and nothing else
// changes: machines keep their ids. Errors: kInvalidArgument for a wrong value, kFailedPrecondition
// for one that differs from `before`.
Result<Ensemble> plan_ensemble(const EnsembleRequest& request,
                               const std::optional<Ensemble>& before);

// The file in which `init` keeps it; parses back. Errors: kCorruption.
inline constexpr std::string_view kEnsembleFile = "ensemble";
std::string to_text(const Ensemble& ensemble);
Result<Ensemble> parse_ensemble(std::string_view text);

// The same on all machines of an ensemble.
struct EnsembleSecrets {
  std::string quorum_pem = {};  // TLS key and certificate of the ZooKeeper servers
  std::string password = {};    // of the masters, for their data in ZooKeeper
  std::string master_key = {};  // the masters' key file
  bool operator==(const EnsembleSecrets&) const = default;
};

// A file of each machine: its name in the machine's directory, and its place on the machine.
struct SetupFile {
  std::string_view name;
  std::string_view place;
  std::string_view user;  // the owner there
  bool is_private;        // mode 0600; never replaced by another content
};
inline constexpr SetupFile kZooCfg = {"zoo.cfg", "/etc/zookeeper/conf/zoo.cfg", "root", false};
inline constexpr SetupFile kMyid = {"myid", "/etc/zookeeper/conf/myid", "root", false};
inline constexpr SetupFile kJavaSettings = {"zookeeper.default", "/etc/default/zookeeper", "root",
                                            false};
inline constexpr SetupFile kQuorumPem = {"quorum.pem", "/etc/zookeeper/quorum.pem", "zookeeper",
                                         true};
inline constexpr SetupFile kPassword = {"zookeeper.secret", "/etc/proffer/zookeeper.secret",
                                        "proffer", true};
inline constexpr SetupFile kSetupMasterKey = {"master.key", "/var/lib/proffer/master/master.key",
                                              "proffer", true};
inline constexpr SetupFile kMasterFlags = {"master.flags", "/etc/proffer/master.flags", "root",
                                           false};
inline constexpr std::array kSetupFiles = {kZooCfg,   kMyid,           kJavaSettings, kQuorumPem,
                                           kPassword, kSetupMasterKey, kMasterFlags};

struct MachineFile {
  SetupFile file;
  std::string content;
};
// In the order of kSetupFiles.
std::vector<MachineFile> files_of(const Ensemble& ensemble, const EnsembleMachine& machine,
                                  const EnsembleSecrets& secrets);

// "[fd00::1]" for an IPv6 address, else the host itself.
std::string bracketed(const std::string& host);

}  // namespace proffer::cli
