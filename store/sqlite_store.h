#pragma once

// The store of a single master: one SQLite database, write-ahead log, synchronous=FULL. What
// append() has acknowledged survives a loss of power.
//
// The directory holds `lock` and `registry.db` (with -wal and -shm while open). The database can be
// read by the sqlite3 program at any time:
//   record(kind, key, value)   one row per StoreRecord, kind being its table
//   leader(id = 1, epoch)      the latest leader epoch

#include <memory>
#include <string>

#include "store/store.h"

namespace proffer {

class SqliteStore final : public Store {
 public:
  // Locks the directory (made if missing), then opens or makes the database in it and checks it.
  // Errors: kFailedPrecondition: another process uses the directory; kUnsupported: a newer Proffer
  // wrote the database; kCorruption: it is damaged; kResourceExhausted: disk full; kUnavailable: it
  // cannot be opened.
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory,
                                                   RunOffLoop run_off_loop);
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
