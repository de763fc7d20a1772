#include "master/core/registry.h"

namespace proffer::master {
namespace {

template <class Table, class Key, class Record>
void put_or_erase(Table& table, const Key& key, const Record& record, bool erase) {
  if (erase) {
    table.erase(key);
  } else {
    table.insert_or_assign(key, record);
  }
}

template <class Table, class Key>
const typename Table::mapped_type* find_in(const Table& table, const Key& key) {
  const auto found = table.find(key);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

void Registry::apply(const proto::RegistryWrite& write) {
  if (const auto* agent = std::get_if<proto::AgentRecord>(&write.row)) {
    put_or_erase(agents_, agent->agent, *agent, write.erase);
  } else if (const auto* framework = std::get_if<proto::FrameworkRecord>(&write.row)) {
    put_or_erase(frameworks_, framework->framework, *framework, write.erase);
  } else if (const auto* role = std::get_if<proto::RoleRecord>(&write.row)) {
    put_or_erase(roles_, role->role, *role, write.erase);
  } else if (const auto* key = std::get_if<KnownKey>(&write.row)) {
    put_or_erase(keys_, key->key, *key, write.erase);
  } else if (const auto* entry = std::get_if<proto::StoreRecord>(&write.row)) {
    stores_.apply(*entry, write.erase);
  } else if (const auto* part = std::get_if<proto::ReservationRecord>(&write.row)) {
    put_or_erase(reservations_, std::pair(part->agent, part->role), *part, write.erase);
  } else if (const auto* secret = std::get_if<proto::SecretRecord>(&write.row)) {
    put_or_erase(secrets_, std::pair(secret->owner, secret->name), *secret, write.erase);
  } else if (const auto* cluster = std::get_if<proto::ClusterRecord>(&write.row)) {
    cluster_ = write.erase ? proto::ClusterRecord() : *cluster;
  }
}

std::vector<proto::RegistryRow> Registry::rows() const {
  std::vector<proto::RegistryRow> rows;
  rows.reserve(agents_.size() + frameworks_.size() + keys_.size() + roles_.size() +
               reservations_.size() + secrets_.size() + stores_.entries());
  for (const auto& [id, record] : agents_) rows.emplace_back(record);
  for (const auto& [id, record] : frameworks_) rows.emplace_back(record);
  for (const auto& [key, record] : keys_) rows.emplace_back(record);
  for (const auto& [name, record] : roles_) rows.emplace_back(record);
  for (const auto& [key, record] : reservations_) rows.emplace_back(record);
  for (const auto& [key, record] : secrets_) rows.emplace_back(record);
  if (!cluster_.cluster.empty()) rows.emplace_back(cluster_);
  for (const auto& [id, store] : stores_.all()) {
    for (const auto& [key, entry] : store.entries) {
      rows.emplace_back(proto::StoreRecord{
          .framework = id, .key = key, .value = entry.value, .version = entry.version});
    }
  }
  return rows;
}

const proto::AgentRecord* Registry::find(const AgentId& agent) const {
  return find_in(agents_, agent);
}

std::vector<const proto::ReservationRecord*> Registry::reservations(const AgentId& agent) const {
  std::vector<const proto::ReservationRecord*> found;
  for (auto at = reservations_.lower_bound({agent, RoleName()});
       at != reservations_.end() && at->first.first == agent; ++at) {
    found.push_back(&at->second);
  }
  return found;
}

const KnownKey* Registry::find(const PublicKey& key) const { return find_in(keys_, key); }

const proto::FrameworkRecord* Registry::find(const FrameworkId& framework) const {
  return find_in(frameworks_, framework);
}

}  // namespace proffer::master
