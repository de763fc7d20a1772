#pragma once

// Reads a whole registry from ZooKeeper: its rows, and the journal of a batch that a former leader
// was writing (store/zookeeper_rows.h describes the nodes). It changes nothing. The rows are
// consistent only if no master writes meanwhile: a leader has fenced all others before it reads,
// and `proffer registry` compares ROOT/epoch before and after.
//
// Loop thread; callbacks come from the loop, never within a call.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/result.h"
#include "store/store.h"
#include "store/zookeeper_session.h"

namespace proffer {

inline constexpr const char* kZooKeeperDamagedHint =
    "restore the data of the ensemble from its newest snapshot, or restore a dump at a new path: "
    "proffer registry restore --zk=SERVERS/NEW";

struct ZooKeeperRows {
  std::vector<StoreRecord> rows = {};  // by table and key, with the journal applied
  std::unordered_map<std::string, size_t> parts_of = {};  // by the path of each existing row
  std::unordered_set<std::string> folders = {};           // existing ones, below ROOT/rows
  std::vector<std::string> journal_nodes = {};            // existing ones, below ROOT/journal
  std::optional<std::vector<StoreRecord>> journal = {};   // if it is complete
};

// "What ZooKeeper has at PATH below ROOT is not what a master writes."
Error not_written_by_masters(const std::string& root, const std::string& path);

class ZooKeeperReader {
 public:
  // The session must outlive the reader.
  ZooKeeperReader(ZooKeeperSession& session, std::string root);
  // `done` will not be called.
  ~ZooKeeperReader();
  ZooKeeperReader(const ZooKeeperReader&) = delete;
  ZooKeeperReader& operator=(const ZooKeeperReader&) = delete;

  // Call it once. O(rows). Errors: kCorruption: nodes are missing or were not written by a master.
  void read(std::function<void(Result<ZooKeeperRows>)> done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
