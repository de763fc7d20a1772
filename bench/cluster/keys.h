#pragma once

// Keys of a master and of everybody who connects to it, so that a phase runs by CURVE.

#include <string>
#include <vector>

#include "common/keys.h"
#include "net/curve_keys.h"

namespace proffer::bench {

struct ClusterKeys {
  KeyPair master = {};
  std::vector<ClientKeys> agents = {};      // by the number of the agent
  std::vector<ClientKeys> frameworks = {};  // by the number of the framework; keys of this user
};
ClusterKeys make_cluster_keys(int agents, int frameworks);

// Writes what a master that is not running yet finds in its data directory: its own key, and a
// registry in which the keys of all others have joined. Ends the program if it cannot.
void write_cluster_keys(const ClusterKeys& keys, const std::string& data_dir);

}  // namespace proffer::bench
