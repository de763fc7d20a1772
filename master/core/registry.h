#pragma once

// The durable state of the master, from which it restarts.

#include <map>
#include <vector>

#include "master/core/framework_store.h"
#include "master/core/secrets.h"
#include "proto/records.h"

namespace proffer::master {

class Registry {
 public:
  // The only place where rows change, live and in replay. A put of an existing row and an erase of
  // a missing row change nothing.
  void apply(const proto::RegistryWrite& write);

  // All rows, agents first, each kind in order of its key.
  std::vector<proto::RegistryRow> rows() const;
  const proto::AgentRecord* find(const AgentId& agent) const;
  const proto::FrameworkRecord* find(const FrameworkId& framework) const;

  const std::map<AgentId, proto::AgentRecord>& agents() const { return agents_; }
  const std::map<FrameworkId, proto::FrameworkRecord>& frameworks() const { return frameworks_; }
  const std::map<RoleName, proto::RoleRecord>& roles() const { return roles_; }
  const std::map<PublicKey, KnownKey>& keys() const { return keys_; }
  const KnownKey* find(const PublicKey& key) const;
  const SecretTable& secrets() const { return secrets_; }
  const FrameworkStores& stores() const { return stores_; }
  const ClusterId& cluster() const { return cluster_.cluster; }  // empty: not named
  const std::vector<proto::LedMaster>& led() const { return cluster_.led; }
  // The reservations of one agent, by role. Valid until the next write.
  std::vector<const proto::ReservationRecord*> reservations(const AgentId& agent) const;
  const std::map<std::pair<AgentId, RoleName>, proto::ReservationRecord>& reservations() const {
    return reservations_;
  }

 private:
  std::map<AgentId, proto::AgentRecord> agents_;
  std::map<FrameworkId, proto::FrameworkRecord> frameworks_;
  std::map<PublicKey, KnownKey> keys_;
  std::map<RoleName, proto::RoleRecord> roles_;
  std::map<std::pair<AgentId, RoleName>, proto::ReservationRecord> reservations_;
  SecretTable secrets_;
  FrameworkStores stores_;
  proto::ClusterRecord cluster_;
};

}  // namespace proffer::master
