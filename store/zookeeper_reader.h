#pragma once

// Reads a registry in ZooKeeper as a whole: its rows, and the journal of a batch that the leader of
// then was writing (store/zookeeper_rows.h says how they lie there). It changes nothing. Rows are
// of one moment only if nobody writes meanwhile: a leader has fenced all others before it reads,
// and `proffer registry` compares ROOT/epoch before and after.
//
// Loop thread; calls back from the loop, never from within a call.

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
  std::vector<StoreRecord> rows = {};  // by table and key, as they are with the journal
  std::unordered_map<std::string, size_t> parts_of = {};  // by the path of each row that is there
  std::unordered_set<std::string> folders = {};           // that are there, below ROOT/rows
  std::vector<std::string> journal_nodes = {};            // that are there, below ROOT/journal
  std::optional<std::vector<StoreRecord>> journal = {};   // if it is whole
};

// "What ZooKeeper has at PATH below ROOT is not what a master writes."
Error not_written_by_masters(const std::string& root, const std::string& path);

class ZooKeeperReader {
 public:
  // The session must outlive the reader.
  ZooKeeperReader(ZooKeeperSession& session, std::string root);
  // `done` is not called any more.
  ~ZooKeeperReader();
  ZooKeeperReader(const ZooKeeperReader&) = delete;
  ZooKeeperReader& operator=(const ZooKeeperReader&) = delete;

  // Call it once. O(rows). Errors: kCorruption: nodes are missing or not what a master writes.
  void read(std::function<void(Result<ZooKeeperRows>)> done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
