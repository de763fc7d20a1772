#pragma once

// How the registry lies in ZooKeeper: the names of its nodes and what is in them. Pure.
//
//   ROOT/epoch                      which epoch has begun, how many commits there have been
//   ROOT/leader                     ephemeral: where the leader may be reached
//   ROOT/rows/TABLE/SHARD/KEY       one node per row; SHARD is two hex digits of KEY's hash, so
//   that
//                                   no folder grows too long to be listed
//   ROOT/rows/TABLE/SHARD/KEY/N     parts of a value that is too large for one node
//   ROOT/journal/N, …/commit        a batch that is too large for one transaction, while it is
//   being
//                                   applied
//
// A node holds at most 1 MiB, and so does a transaction (jute.maxbuffer).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "store/leadership.h"
#include "store/store.h"

namespace proffer {

inline constexpr size_t kZooKeeperNodeBytesMax = size_t{600} << 10;         // of one value or part
inline constexpr size_t kZooKeeperTransactionBytesMax = size_t{768} << 10;  // with names
// What a write costs besides its value and its path.
inline constexpr size_t kZooKeeperWriteBytes = 200;

// Any bytes <-> a node's name: 'k', then each byte that is not of A-Z a-z 0-9 _ - as '%' and two
// hex digits.
std::string zookeeper_name(std::string_view key);
std::optional<std::string> key_of_zookeeper_name(std::string_view name);

// "role", "eng/ads" -> "role/5f" and "role/5f/keng%2Fads".
std::string zookeeper_shard(std::string_view table, std::string_view key);
std::string zookeeper_path(std::string_view table, std::string_view key);

// What ROOT/epoch holds, one line for people:
//   epoch 3 commits 17 writer 9f86d081884c7d65
struct ZooKeeperEpoch {
  int64_t epoch = 0;
  int64_t commits = 0;
  std::string writer = {};  // a random name of one life of a master; "none"
  bool operator==(const ZooKeeperEpoch&) const = default;
};
std::string to_text(const ZooKeeperEpoch& epoch);
std::optional<ZooKeeperEpoch> parse_zookeeper_epoch(std::string_view text);

// What ROOT/leader holds: a line each. The address is empty while an operator's command holds it.
std::string to_zookeeper_leader(const MasterPlace& place);
// None: it names no master.
std::optional<MasterPlace> parse_zookeeper_leader(std::string_view text);

// What a row's node and its parts hold.
struct ZooKeeperValue {
  std::string node = {};
  std::vector<std::string> parts = {};
};
ZooKeeperValue to_zookeeper_value(std::string_view value);
// How many parts a row's node wants; none: it is no such node.
std::optional<size_t> zookeeper_parts(std::string_view node);
// None: something is missing, or it is no such node.
std::optional<std::string> zookeeper_value(std::string_view node,
                                           const std::vector<std::string>& parts);

// A batch as bytes, for the journal.
std::string to_journal(const std::vector<StoreRecord>& batch);
std::optional<std::vector<StoreRecord>> parse_journal(std::string_view bytes);

}  // namespace proffer
