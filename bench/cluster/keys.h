#pragma once

// Keys of a master and of all its peers, so that a phase runs with CURVE.

#include <string>
#include <vector>

#include "common/keys.h"
#include "net/curve_keys.h"

namespace proffer::bench {

struct ClusterKeys {
  KeyPair master = {};
  std::vector<ClientKeys> agents = {};      // by number of the agent
  std::vector<ClientKeys> frameworks = {};  // by number of the framework; keys of this user
};
ClusterKeys make_cluster_keys(int agents, int frameworks);

// Writes the data directory of a master that is not running yet: its own key, and a registry in
// which the keys of all others have joined. Ends the program if it fails.
void write_cluster_keys(const ClusterKeys& keys, const std::string& data_dir);

}  // namespace proffer::bench
