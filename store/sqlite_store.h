#pragma once

// The store of a single master: one SQLite database, write-ahead log, synchronous=FULL. What
// append() has acknowledged survives a loss of power.
//
// The directory holds `lock`, `registry.db` (with -wal and -shm while open) and `registry.seal`
// (store/registry_seal.h). The database can be read by the sqlite3 program at any time:
//   record(kind, key, value, crc)                one row per StoreRecord, kind being its table
//   leader(id = 1, epoch, commits, records, crcs)  the latest leader epoch, how many commits there
//                                                have been, how many rows there are, and the sum of
//                                                their checksums
// So damage is found when the registry is opened, wherever it is: in a row (its CRC-32C), in the
// tree of pages (SQLite), by a row too few (the leader's sums), or by commits too few (the seal).

#include <memory>
#include <string>

#include "store/store.h"

namespace proffer {

struct SqliteStoreOptions {
  // Goes on from a registry that lacks its latest commits, with an epoch above all that there were.
  bool accepts_older = false;
};

class SqliteStore final : public Store {
 public:
  // Locks the directory (made if missing), then opens or makes the database in it and checks all of
  // it. O(rows). Errors: kFailedPrecondition: another process uses the directory; kUnsupported: a
  // newer Proffer wrote the database; kCorruption: it is damaged, or lacks commits that have been
  // acknowledged; kResourceExhausted: disk full; kUnavailable: it cannot be opened.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory,
                                                   RunOffLoop run_off_loop,
                                                   const SqliteStoreOptions& options = {});
  // A commit that a worker has begun is finished there; its `done` is not called.
  ~SqliteStore() override;

  Result<LeaderEpoch> begin_epoch() override;
  Result<std::vector<StoreRecord>> load() override;
  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override;

 private:
  class Database;
  struct Queue;
  SqliteStore(std::shared_ptr<Database> database, RunOffLoop run_off_loop);

  std::shared_ptr<Queue> queue_;
};

}  // namespace proffer
