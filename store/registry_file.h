#pragma once

// The registry's database on a disk, which a master writes (store/sqlite_store.h), and which
// `proffer registry` reads, and repairs while no master uses it. A dump of a registry is such a
// database, too, in one file of any name. All calls block. Only one thread may use it at a time.
//
// The directory holds `lock`, `registry.db` (with -wal and -shm while open) and `registry.seal`
// (store/registry_seal.h). The database can be read by the sqlite3 program at any time:
//   record(kind, key, value, crc)                one row per StoreRecord, kind being its table
//   leader(id = 1, epoch, commits, records, crcs)  the latest leader epoch, how many commits there
//                                                have been, how many rows there are, and the sum of
//                                                their checksums
// So opening the registry finds damage anywhere: in a row (its CRC-32C), in the tree of pages
// (SQLite), as missing rows (the leader's sums), or as missing commits (the seal).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "store/directory_lock.h"
#include "store/registry_seal.h"
#include "store/registry_snapshot.h"
#include "store/store.h"

struct sqlite3;

namespace proffer {

// Traces of a master's life in a directory, beside the registry's own files: with them a missing or
// older registry is distinguished from a new one.
struct TracesOfAMaster {
  std::vector<std::string> files = {};  // names in the directory
  int64_t epoch = 0;                    // in which a master has led; 0: unknown
};

struct RegistryFileOptions {
  // Accepts a registry that lacks its latest commits, and continues with an epoch above all earlier
  // ones.
  bool accepts_older = false;
  // First moves existing files, damaged or not, to the directory `set-aside-<n>` in it, and begins
  // an empty registry. Epochs and commits continue from the earlier ones, as far as these can be
  // read.
  bool sets_aside = false;
  TracesOfAMaster traces = {};
};

class RegistryFile {
 public:
  // Locks the directory (made if missing), then opens or makes the database in it and checks all of
  // it. O(rows). Errors: kFailedPrecondition: another process uses the directory; kUnsupported: a
  // newer Proffer wrote the database; kCorruption: it or its seal is damaged, it lacks acknowledged
  // commits, or it is missing; kResourceExhausted: disk full; kUnavailable: it cannot be opened.
  static Result<std::shared_ptr<RegistryFile>> open(const std::string& directory,
                                                    const RegistryFileOptions& options = {});
  // Reads and checks the whole database of a directory, or a dump; a master may write meanwhile.
  // Changes nothing. O(rows). Errors: kNotFound: there is none; otherwise those of open(), but
  // without a lock.
  static Result<RegistrySnapshot> read_directory(const std::string& directory);
  static Result<RegistrySnapshot> read_dump(const std::string& file);
  // Writes a registry to a new file (mode 0600: it has secrets of frameworks), completely or not at
  // all, and returns the content of the file. Errors: kAlreadyExists: the file exists; otherwise
  // those of open().
  static Result<RegistrySnapshot> write_dump(const RegistrySnapshot& snapshot,
                                             const std::string& file);
  ~RegistryFile();
  RegistryFile(const RegistryFile&) = delete;
  RegistryFile& operator=(const RegistryFile&) = delete;

  // What open() accepted without a proof of completeness; empty: there is no remark.
  const std::string& remark() const { return remark_; }
  // The latest epoch and commit of this registry and of earlier ones that were set aside.
  const RegistryProgress& progress() const { return floor_; }
  // Makes an epoch above all earlier ones durable and returns it.
  Result<int64_t> raise_epoch();
  // Everything stored, by table and key.
  Result<std::vector<StoreRecord>> load();
  // One transaction that fails with kFailedPrecondition unless the latest epoch is `epoch`.
  Result<void> commit(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);

  // Only for a registry that no master uses. The next master leads in an epoch above `epoch`, which
  // must be from progress().epoch to kRegistryEpochMax. `batch` is written in the same transaction.
  Result<void> set_epoch(int64_t epoch, const std::vector<StoreRecord>& batch = {});
  // The same, but `records` replace everything stored.
  Result<void> replace(const std::vector<StoreRecord>& records, int64_t epoch);

 private:
  explicit RegistryFile(std::string path);

  static Result<RegistrySnapshot> read(const std::string& file);
  Result<void> open_database(int flags);
  Result<void> change(bool erases, const std::vector<StoreRecord>& batch, int64_t epoch);
  static Result<void> write_database(const RegistrySnapshot& snapshot, const std::string& file);
  Result<void> set_progress(const RegistryProgress& progress);
  Result<void> put(const std::vector<std::vector<StoreRecord>>& batches);
  Result<void> open_seal(const std::string& directory, const RegistryFileOptions& options);
  Result<void> refuse_if_gone(const RegistryFileOptions& options) const;
  Result<void> prepare_file(const RegistryFileOptions& options);
  Result<void> check_pages();
  Result<void> bring_up_to_date(int64_t version);
  Result<void> check_rows();
  Result<void> check_progress(const RegistryFileOptions& options);
  Result<int64_t> write(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);
  Result<RegistryProgress> stored_progress();
  Result<int64_t> number(std::string_view sql);
  Result<void> step(std::string_view sql);
  Error damaged(const std::string& what) const;
  Result<void> run(const char* sql);
  Error failure(int code) const;
  struct Statements;

  // The lock of a directory (a dump has none): taken before the database is opened, released after
  // it is closed.
  std::optional<DirectoryLock> lock_;
  std::optional<RegistrySeal> seal_;
  RegistryProgress floor_;  // the next epoch and commit are above it
  std::string remark_;
  std::string path_;
  sqlite3* db_ = nullptr;
  std::unique_ptr<Statements> statements_;  // for each commit
};

}  // namespace proffer
