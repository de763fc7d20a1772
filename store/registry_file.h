#pragma once

// The registry's database on a disk: what a master keeps (store/sqlite_store.h), and what
// `proffer registry` reads and mends while no master does. Everything blocks. Thread rule: one
// thread at a time.
//
// The directory holds `lock`, `registry.db` (with -wal and -shm while open) and `registry.seal`
// (store/registry_seal.h). The database can be read by the sqlite3 program at any time:
//   record(kind, key, value, crc)                one row per StoreRecord, kind being its table
//   leader(id = 1, epoch, commits, records, crcs)  the latest leader epoch, how many commits there
//                                                have been, how many rows there are, and the sum of
//                                                their checksums
// So damage is found when the registry is opened, wherever it is: in a row (its CRC-32C), in the
// tree of pages (SQLite), by a row too few (the leader's sums), or by commits too few (the seal).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "store/directory_lock.h"
#include "store/registry_seal.h"
#include "store/store.h"

struct sqlite3;

namespace proffer {

struct RegistryFileOptions {
  // Goes on from a registry that lacks its latest commits, with an epoch above all that there were.
  bool accepts_older = false;
};

class RegistryFile {
 public:
  // Locks the directory (made if missing), then opens or makes the database in it and checks all of
  // it. O(rows). Errors: kFailedPrecondition: another process uses the directory; kUnsupported: a
  // newer Proffer wrote the database; kCorruption: it is damaged, or lacks commits that have been
  // acknowledged; kResourceExhausted: disk full; kUnavailable: it cannot be opened.
  static Result<std::shared_ptr<RegistryFile>> open(const std::string& directory,
                                                    const RegistryFileOptions& options = {});
  ~RegistryFile();
  RegistryFile(const RegistryFile&) = delete;
  RegistryFile& operator=(const RegistryFile&) = delete;

  // Makes an epoch above all earlier ones durable and returns it.
  Result<int64_t> raise_epoch();
  // Everything stored, by table and key.
  Result<std::vector<StoreRecord>> load();
  // One transaction that fails with kFailedPrecondition unless the latest epoch is `epoch`.
  Result<void> commit(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);

 private:
  RegistryFile(DirectoryLock lock, RegistrySeal seal, std::string path)
      : lock_(std::move(lock)), seal_(std::move(seal)), path_(std::move(path)) {}

  Result<void> prepare_file(const RegistryFileOptions& options);
  Result<void> check_pages();
  Result<void> bring_up_to_date(int64_t version);
  Result<void> check_rows();
  Result<void> check_progress(const RegistryFileOptions& options);
  Result<int64_t> write(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);
  Result<RegistryProgress> progress();
  Result<int64_t> number(std::string_view sql);
  Error damaged(const std::string& what) const;
  Result<void> run(const char* sql);
  Error failure(int code) const;

  DirectoryLock lock_;  // taken before, and given up after, the database is open
  RegistrySeal seal_;
  RegistryProgress floor_;  // the next epoch and commit are above it
  std::string path_;
  sqlite3* db_ = nullptr;
};

}  // namespace proffer
