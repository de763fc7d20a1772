#pragma once

// The layout of the registry in ZooKeeper: the names of its nodes and their contents. Pure.
//
//   ROOT/epoch                      the latest epoch, and the number of commits
//   ROOT/leader                     ephemeral: the addresses of the leader
//   ROOT/rows/TABLE/SHARD/KEY       one node per row; SHARD is two hex digits of KEY's hash, which
//                                   keeps folders short enough to be listed
//   ROOT/rows/TABLE/SHARD/KEY/N     parts of a value that is too large for one node
//   ROOT/journal/N, …/commit        a batch that is too large for one transaction, while it is
//                                   applied
//
// A node has at most 1 MiB, and so does a transaction (jute.maxbuffer).

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
inline constexpr size_t kZooKeeperTransactionBytesMax = size_t{768} << 10;  // including names
// The overhead of a write, besides its value and its path.
inline constexpr size_t kZooKeeperWriteBytes = 200;

// Converts any bytes to a node's name and back: 'k', then each byte other than A-Z a-z 0-9 _ - as
// '%' and two hex digits.
std::string zookeeper_name(std::string_view key);
std::optional<std::string> key_of_zookeeper_name(std::string_view name);

// "role", "eng/ads" -> "role/5f" and "role/5f/keng%2Fads".
std::string zookeeper_shard(std::string_view table, std::string_view key);
std::string zookeeper_path(std::string_view table, std::string_view key);

// The content of ROOT/epoch, one readable line:
//   epoch 3 commits 17 writer 9f86d081884c7d65
struct ZooKeeperEpoch {
  int64_t epoch = 0;
  int64_t commits = 0;
  std::string writer = {};  // a random name for one life of a master; "none"
  bool operator==(const ZooKeeperEpoch&) const = default;
};
std::string to_text(const ZooKeeperEpoch& epoch);
std::optional<ZooKeeperEpoch> parse_zookeeper_epoch(std::string_view text);

// The content of ROOT/leader, a line per field. The address is empty while an operator's command
// has the lead.
std::string to_zookeeper_leader(const MasterPlace& place);
// None: it is not the address of a master.
std::optional<MasterPlace> parse_zookeeper_leader(std::string_view text);

// The contents of a row's node and of its parts.
struct ZooKeeperValue {
  std::string node = {};
  std::vector<std::string> parts = {};
};
ZooKeeperValue to_zookeeper_value(std::string_view value);
// The number of parts of a row's node; none: it is no such node.
std::optional<size_t> zookeeper_parts(std::string_view node);
// None: a part is missing, or it is no such node.
std::optional<std::string> zookeeper_value(std::string_view node,
                                           const std::vector<std::string>& parts);

// Encodes a batch for the journal.
std::string to_journal(const std::vector<StoreRecord>& batch);
std::optional<std::vector<StoreRecord>> parse_journal(std::string_view bytes);

}  // namespace proffer
