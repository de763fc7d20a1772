#pragma once

// The store of a single master: one SQLite database with a write-ahead log and synchronous=FULL.
// Acknowledged appends survive a power failure. store/registry_file.h describes the files.

#include <memory>
#include <string>

#include "store/registry_file.h"
#include "store/store.h"

namespace proffer {

class SqliteStore final : public LocalStore {
 public:
  // Opens the registry in a directory; O(rows). Errors as RegistryFile::open().
  static Result<std::unique_ptr<SqliteStore>> open(const std::string& directory,
                                                   RunOffLoop run_off_loop,
                                                   const RegistryFileOptions& options = {});
  // As RegistryFile::remark(), before the first append.
  const std::string& remark() const;
  // A commit that a worker has begun is completed; its `done` is not called.
  ~SqliteStore() override;

  Result<LeaderEpoch> begin_epoch() override;
  Result<std::vector<StoreRecord>> load() override;
  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override;

 private:
  struct Queue;
  SqliteStore(std::shared_ptr<RegistryFile> database, RunOffLoop run_off_loop);

  std::shared_ptr<Queue> queue_;
};

}  // namespace proffer
