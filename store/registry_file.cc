// The database of the registry. Read prepare_file for the order of checks when it is opened, and
// write for a commit.

#include "store/registry_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "store/crc32c.h"

namespace proffer {
namespace {

constexpr int kSchemaVersion = 2;
// The schema before rows had checksums.
constexpr const char* kFirstSchema =
    "CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
    "  PRIMARY KEY (kind, key)) WITHOUT ROWID;"
    "CREATE TABLE leader (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL);"
    "INSERT INTO leader (id, epoch) VALUES (1, 0);";
constexpr const char* kSecondSchema =
    "ALTER TABLE record ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;"
    "UPDATE record SET crc = row_crc(kind, key, value);"
    "ALTER TABLE leader ADD COLUMN commits INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE leader ADD COLUMN records INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE leader ADD COLUMN crcs INTEGER NOT NULL DEFAULT 0;"
    "UPDATE leader SET records = (SELECT count(*) FROM record),"
    "  crcs = (SELECT coalesce(sum(crc), 0) FROM record);"
    "CREATE TRIGGER record_added AFTER INSERT ON record BEGIN"
    "  UPDATE leader SET records = records + 1, crcs = crcs + new.crc; END;"
    "CREATE TRIGGER record_changed AFTER UPDATE ON record BEGIN"
    "  UPDATE leader SET crcs = crcs - old.crc + new.crc; END;"
    "CREATE TRIGGER record_erased AFTER DELETE ON record BEGIN"
    "  UPDATE leader SET records = records - 1, crcs = crcs - old.crc; END;"
    "PRAGMA user_version = 2;";

constexpr const char* kDamagedHint =
    "restore a dump with `proffer registry restore --replace`, or a copy of all files of the "
    "directory";

// The SQL function row_crc(kind, key, value).
void row_crc(sqlite3_context* context, int, sqlite3_value** values) {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    const void* data = sqlite3_value_blob(values[i]);
    const auto size = static_cast<size_t>(sqlite3_value_bytes(values[i]));
    if (data != nullptr) bytes.append(static_cast<const char*>(data), size);
    if (i < 2) bytes += '\0';
  }
  sqlite3_result_int64(context, crc32c(bytes));
}

std::string database_of(const std::string& directory) { return directory + "/registry.db"; }
std::string seal_of(const std::string& directory) { return directory + "/registry.seal"; }

RegistryProgress further(const RegistryProgress& a, const RegistryProgress& b) {
  return {.epoch = std::max(a.epoch, b.epoch), .commits = std::max(a.commits, b.commits)};
}

bool is_reached(const RegistryProgress& known, const RegistryProgress& now) {
  return known.epoch <= now.epoch && known.commits <= now.commits;
}

Error lacks(const std::string& path, const RegistryProgress& now, const RegistryProgress& known) {
  return Error::corruption(text("registry ", quoted(path),
                                " lacks its latest commits: it is at epoch ", now.epoch,
                                " and commit ", now.commits, ", and was at epoch ", known.epoch,
                                " and commit ", known.commits, " (", quoted("registry.seal"), ")"));
}

std::string set_aside_of(const std::string& directory, int n) {
  return text(directory, "/set-aside-", n);
}

// The distance of the next epoch, if the progress of the registry is unknown: agents refuse an
// epoch below the one that they know.
constexpr int64_t kEpochMargin = 1'000'000;

// The progress as far as it can be read, even from damaged files, and from those that were set
// aside: the process that was to replace them may have ended before it wrote anything.
RegistryProgress known_progress(const std::string& directory) {
  RegistryProgress known;
  if (const auto seal = RegistrySeal::read(seal_of(directory)); seal && *seal) known = **seal;
  const Result<RegistrySnapshot> found = RegistryFile::read_directory(directory);
  if (found) known = further(known, found->progress);
  std::error_code error;
  for (int n = 1; std::filesystem::exists(set_aside_of(directory, n), error); ++n) {
    known = further(known, known_progress(set_aside_of(directory, n)));
  }
  return known;
}

Error system_failure(std::string_view what, const std::string& path, int error) {
  const std::string message = text(what, " ", quoted(path), ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return Error::resource_exhausted(message).with_hint("make room on the disk, then try again");
  }
  return Error::unavailable(message);
}

Result<void> set_aside(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string to;
  for (int n = 1; to.empty() || fs::exists(to, error); ++n) to = set_aside_of(directory, n);
  if (::mkdir(to.c_str(), 0700) != 0) return system_failure("cannot make", to, errno);
  for (const char* name : {"registry.db", "registry.db-wal", "registry.db-shm", "registry.seal"}) {
    const std::string from = text(directory, "/", name);
    if (::rename(from.c_str(), text(to, "/", name).c_str()) != 0 && errno != ENOENT) {
      return system_failure("cannot move", from, errno);
    }
  }
  return {};
}

// Empty and with mode 0600: SQLite would make a file that all users can read. The rest of an
// interrupted dump is removed.
Result<void> make_private_file(const std::string& path) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return system_failure("cannot make", path, errno);
  ::close(fd);
  return {};
}

Result<void> flush(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return system_failure("cannot open", path, errno);
  const bool is_flushed = ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  if (!is_flushed) return system_failure("cannot flush", path, error);
  return {};
}

Result<void> flush_and_rename(const std::string& from, const std::string& to) {
  if (Result<void> flushed = flush(from, 0); !flushed) return flushed;
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    return system_failure("cannot rename to", to, errno);
  }
  const std::string directory = std::filesystem::absolute(to).parent_path().string();
  return flush(directory, O_DIRECTORY);
}

constexpr const char* kSet =
    "INSERT INTO record (kind, key, value, crc)"
    "  VALUES (?1, ?2, ?3, row_crc(?1, ?2, ?3))"
    "  ON CONFLICT (kind, key)"
    "  DO UPDATE SET value = excluded.value, crc = excluded.crc";
constexpr const char* kErase = "DELETE FROM record WHERE kind = ?1 AND key = ?2";

// A prepared statement that the destructor finalizes.
class Statement {
 public:
  Statement() = default;
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  bool is_prepared() const { return handle_ != nullptr; }
  int prepare(sqlite3* db, std::string_view sql) {
    return sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr);
  }
  void bind(int index, const std::string& value) {
    CHECK_EQ(
        sqlite3_bind_text64(handle_, index, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8),
        SQLITE_OK);
  }
  void bind_blob(int index, const std::string& value) {
    CHECK_EQ(sqlite3_bind_blob64(handle_, index, value.data(), value.size(), SQLITE_STATIC),
             SQLITE_OK);
  }
  void bind(int index, int64_t value) {
    CHECK_EQ(sqlite3_bind_int64(handle_, index, value), SQLITE_OK);
  }
  int step() { return sqlite3_step(handle_); }
  void reset() { sqlite3_reset(handle_); }
  int64_t number(int column) const { return sqlite3_column_int64(handle_, column); }
  std::string bytes(int column) const {
    const void* data = sqlite3_column_blob(handle_, column);
    const int size = sqlite3_column_bytes(handle_, column);
    return data == nullptr ? std::string()
                           : std::string(static_cast<const char*>(data), static_cast<size_t>(size));
  }

 private:
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace

Result<std::shared_ptr<RegistryFile>> RegistryFile::open(const std::string& directory,
                                                         const RegistryFileOptions& options) {
  Result<DirectoryLock> lock = DirectoryLock::take(directory);
  if (!lock) return std::move(lock).error();
  std::shared_ptr<RegistryFile> database(new RegistryFile(database_of(directory)));
  database->lock_.emplace(std::move(lock).value());
  if (options.sets_aside) {
    database->floor_ = known_progress(directory);
    if (Result<void> moved = set_aside(directory); !moved) return std::move(moved).error();
  }
  Result<void> ready = database->open_seal(directory, options);
  if (ready) ready = database->refuse_if_gone(options);
  if (ready) ready = database->open_database(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (ready) ready = database->prepare_file(options);
  // At once, since a master may start before the replacement is written.
  if (ready && options.sets_aside) ready = database->set_epoch(database->floor_.epoch);
  if (!ready) return std::move(ready).error();
  return database;
}

Result<void> RegistryFile::open_seal(const std::string& directory,
                                     const RegistryFileOptions& options) {
  const std::string path = seal_of(directory);
  Result<RegistrySeal> seal = RegistrySeal::open(path);
  if (!seal && seal.error().code() == ErrorCode::kCorruption && options.accepts_older) {
    seal_.emplace(RegistrySeal::anew(path));
    return {};
  }
  if (!seal) return std::move(seal).error();
  seal_.emplace(*std::move(seal));
  return {};
}

// Before SQLite makes a file, which would refuse a master that should have been started with --zk.
// A database without a byte counts as not begun, even with other files beside it.
Result<void> RegistryFile::refuse_if_gone(const RegistryFileOptions& options) const {
  struct stat found = {};
  const bool is_there = ::stat(path_.c_str(), &found) == 0 && found.st_size > 0;
  const std::vector<std::string>& traces = options.traces.files;
  if (is_there || traces.empty() || options.accepts_older || seal_->found()) return {};
  std::string names;
  for (const std::string& name : traces) names += text(names.empty() ? "" : ", ", quoted(name));
  return Error::corruption(text("registry ", quoted(path_),
                                " is missing: a master has run here, as ", names, " beside it ",
                                traces.size() == 1 ? "says" : "say"))
      .with_hint(
          "restore a dump with `proffer registry restore`, or the newest copy of all files of the "
          "directory; if the registry is in ZooKeeper, start with --zk; or start once with "
          "--accept_older_registry to create an empty registry: running tasks then belong to "
          "another cluster");
}

// Parsing the statements of a commit took more time than the rest, apart from the disk.
struct RegistryFile::Statements {
  // The destructor resets it: a statement that has not ended keeps a transaction open.
  class InUse {
   public:
    explicit InUse(Statement& statement) : statement_(statement) {}
    ~InUse() { statement_.reset(); }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    Statement* operator->() const { return &statement_; }

   private:
    Statement& statement_;
  };

  // nullptr: it cannot be prepared, as `code` states. The text must stay at its address.
  Statement* prepared(sqlite3* db, std::string_view sql, int& code) {
    Statement& statement = by_text[sql];
    if (!statement.is_prepared() && (code = statement.prepare(db, sql)) != SQLITE_OK) {
      by_text.erase(sql);
      return nullptr;
    }
    return &statement;
  }

  std::map<std::string_view, Statement> by_text = {};
};

RegistryFile::RegistryFile(std::string path)
    : path_(std::move(path)), statements_(std::make_unique<Statements>()) {}

RegistryFile::~RegistryFile() {
  statements_.reset();
  sqlite3_close(db_);
}

Result<void> RegistryFile::open_database(int flags) {
  if (int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr); code != SQLITE_OK) {
    return failure(code);
  }
  // The sqlite3 program may be reading it: wait a little before failing.
  sqlite3_busy_timeout(db_, 5'000);
  sqlite3_extended_result_codes(db_, 1);
  CHECK_EQ(sqlite3_create_function(db_, "row_crc", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                   &row_crc, nullptr, nullptr),
           SQLITE_OK);
  return {};
}

// --- Read-only functions.

Result<RegistrySnapshot> RegistryFile::read_directory(const std::string& directory) {
  // The seal comes first, since a master that writes may advance the database meanwhile.
  const Result<std::optional<RegistryProgress>> seal = RegistrySeal::read(seal_of(directory));
  if (!seal) return seal.error();
  Result<RegistrySnapshot> found = read(database_of(directory));
  if (found && *seal && !is_reached(**seal, found->progress)) {
    return lacks(database_of(directory), found->progress, **seal)
        .with_hint("restore the newest copy of all files of the directory");
  }
  return found;
}

Result<RegistrySnapshot> RegistryFile::read_dump(const std::string& file) {
  Result<RegistrySnapshot> found = read(file);
  if (found || found.error().code() != ErrorCode::kCorruption) return found;
  return std::move(found).error().with_hint(
      "use a file of `proffer registry dump` or `proffer backup`; if it is one, it was damaged "
      "afterwards: use another one");
}

Result<RegistrySnapshot> RegistryFile::read(const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0) {
    if (errno != ENOENT) return system_failure("cannot read", file, errno);
    return Error::not_found(text("there is no registry ", quoted(file)));
  }
  RegistryFile database(file);
  // The whole read sees one moment.
  Result<void> begun = database.open_database(SQLITE_OPEN_READONLY);
  if (begun) begun = database.run("BEGIN");
  if (!begun) return std::move(begun).error();
  const Result<int64_t> version = database.number("PRAGMA user_version");
  if (!version) return version.error();
  if (*version == 0) {
    return Error::not_found(text("registry ", quoted(file), " is empty"))
        .with_hint("if a restore was interrupted, run it again");
  }
  if (*version != kSchemaVersion) {
    return Error::unsupported(text("registry ", quoted(file), " has schema ", *version,
                                   ", and only schema ", kSchemaVersion, " can be read"))
        .with_hint(*version < kSchemaVersion
                       ? "start a master of this version: it upgrades an older registry"
                       : "use the newer Proffer that wrote it");
  }
  Result<void> checked = database.check_pages();
  if (checked) checked = database.check_rows();
  if (!checked) return std::move(checked).error();
  const Result<RegistryProgress> progress = database.stored_progress();
  if (!progress) return progress.error();
  Result<std::vector<StoreRecord>> records = database.load();
  if (!records) return std::move(records).error();
  return RegistrySnapshot{
      .schema = *version, .progress = *progress, .records = std::move(records).value()};
}

Result<RegistrySnapshot> RegistryFile::write_dump(const RegistrySnapshot& snapshot,
                                                  const std::string& file) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, error))) {
    return Error::already_exists(text("there is a file ", quoted(file)))
        .with_hint("use another file, or remove it");
  }
  const std::string unfinished = file + ".unfinished";
  Result<void> made = make_private_file(unfinished);
  if (made) made = write_database(snapshot, unfinished);
  Result<RegistrySnapshot> written =
      made ? read(unfinished) : Result<RegistrySnapshot>(std::move(made).error());
  if (written) {
    if (Result<void> kept = flush_and_rename(unfinished, file); !kept) written = kept.error();
  }
  if (!written) std::filesystem::remove(unfinished, error);
  return written;
}

// Writes to an empty file, which is useless unless it is complete: nothing is undone or flushed.
Result<void> RegistryFile::write_database(const RegistrySnapshot& snapshot,
                                          const std::string& file) {
  RegistryFile database(file);
  Result<void> written = database.open_database(SQLITE_OPEN_READWRITE);
  for (const char* sql : {"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF"}) {
    if (written) written = database.run(sql);
  }
  if (written) written = database.bring_up_to_date(0);
  if (written) written = database.run("BEGIN IMMEDIATE");
  if (written) written = database.put({snapshot.records});
  if (written) written = database.set_progress(snapshot.progress);
  if (written) written = database.run("COMMIT");
  return written;
}

// --- Functions for a master.

// Checks the existing tables, or makes them.
Result<void> RegistryFile::prepare_file(const RegistryFileOptions& options) {
  const Result<int64_t> version = number("PRAGMA user_version");
  if (!version) return version.error();
  if (*version > kSchemaVersion) {
    return Error::unsupported(text("registry ", quoted(path_), " has schema ", *version,
                                   ", this program knows schemas up to ", kSchemaVersion))
        .with_hint("start the newer Proffer that wrote it, or give this one another directory");
  }
  if (Result<void> checked = check_pages(); !checked) return checked;
  for (const char* sql : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"}) {
    if (Result<void> set = run(sql); !set) return set;
  }
  if (Result<void> made = bring_up_to_date(*version); !made) return made;
  if (Result<void> checked = check_rows(); !checked) return checked;
  if (Result<void> checked = check_progress(options); !checked) return checked;
  // Pages of the database file are checked at each start, so the write-ahead log begins empty.
  return run("PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<void> RegistryFile::check_pages() {
  Statement check;
  if (int code = check.prepare(db_, "PRAGMA quick_check(1)"); code != SQLITE_OK) {
    return failure(code);
  }
  if (int code = check.step(); code != SQLITE_ROW) return failure(code);
  if (const std::string answer = check.bytes(0); answer != "ok") return damaged(quoted(answer));
  return {};
}

Result<void> RegistryFile::bring_up_to_date(int64_t version) {
  if (version == kSchemaVersion) return {};
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> made = version == 0 ? run(kFirstSchema) : Result<void>();
  if (made) made = run(kSecondSchema);
  if (made) made = run("COMMIT");
  if (!made) (void)run("ROLLBACK");
  return made;
}

// SQLite does not detect damage within a value, nor a missing row.
Result<void> RegistryFile::check_rows() {
  Statement wrong;
  if (int code = wrong.prepare(
          db_, "SELECT kind, key FROM record WHERE crc <> row_crc(kind, key, value) LIMIT 1");
      code != SQLITE_OK) {
    return failure(code);
  }
  const int code = wrong.step();
  if (code == SQLITE_ROW) {
    return damaged(text("the checksum of ", wrong.bytes(0), " ", quoted(wrong.bytes(1)),
                        " does not match its content"));
  }
  if (code != SQLITE_DONE) return failure(code);
  const Result<int64_t> is_whole = number(
      "SELECT records = (SELECT count(*) FROM record)"
      "  AND crcs = (SELECT coalesce(sum(crc), 0) FROM record) FROM leader WHERE id = 1");
  if (!is_whole) return is_whole.error();
  if (*is_whole == 0) return damaged("rows are missing or too many");
  return {};
}

// Whether it has all commits in the seal.
Result<void> RegistryFile::check_progress(const RegistryFileOptions& options) {
  const Result<RegistryProgress> now = stored_progress();
  if (!now) return now.error();
  const RegistryProgress before = floor_;
  floor_ = further(before, *now);
  const RegistryProgress known = seal_->found().value_or(RegistryProgress());
  const RegistryProgress traced = {.epoch = options.traces.epoch};
  const bool has_begun = now->epoch > 0 || now->commits > 0;
  if (!seal_->found() && has_begun) {
    remark_ = text("the registry ", quoted(path_),
                   " is accepted as it is: without \"registry.seal\" beside it, missing commits "
                   "cannot be detected");
    if (options.accepts_older) floor_.epoch += kEpochMargin;
  }
  if (is_reached(known, *now) && is_reached(traced, *now)) return {};
  floor_ = further(floor_, further(known, traced));
  if (options.accepts_older) return {};
  Error error = is_reached(known, *now)
                    ? Error::corruption(text(
                          "registry ", quoted(path_), " lacks its latest commits: it is at epoch ",
                          now->epoch, ", and the event log beside it at epoch ", traced.epoch))
                    : lacks(path_, *now, known);
  return std::move(error).with_hint(
      "restore the newest copy of all files of the directory; or start once with "
      "--accept_older_registry: frameworks and agents that only the lost part knew have to "
      "register as new ones");
}

Result<RegistryProgress> RegistryFile::stored_progress() {
  const Result<int64_t> epoch = number("SELECT epoch FROM leader WHERE id = 1");
  if (!epoch) return epoch.error();
  const Result<int64_t> commits = number("SELECT commits FROM leader WHERE id = 1");
  if (!commits) return commits.error();
  return RegistryProgress{.epoch = *epoch, .commits = *commits};
}

Result<int64_t> RegistryFile::raise_epoch() {
  const RegistryProgress next{.epoch = floor_.epoch + 1, .commits = floor_.commits + 1};
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return std::move(begun).error();
  Result<void> raised = set_progress(next);
  if (raised) raised = run("COMMIT");
  if (!raised) {
    (void)run("ROLLBACK");
    return std::move(raised).error();
  }
  if (Result<void> sealed = seal_->write(next); !sealed) return std::move(sealed).error();
  if (Result<void> sealed = seal_->sync(); !sealed) return std::move(sealed).error();
  return next.epoch;
}

Result<std::vector<StoreRecord>> RegistryFile::load() {
  Statement select;
  if (int code = select.prepare(db_, "SELECT kind, key, value FROM record ORDER BY kind, key");
      code != SQLITE_OK) {
    return failure(code);
  }
  std::vector<StoreRecord> records;
  for (;;) {
    const int code = select.step();
    if (code == SQLITE_DONE) return records;
    if (code != SQLITE_ROW) return failure(code);
    records.push_back(
        StoreRecord{.table = select.bytes(0), .key = select.bytes(1), .value = select.bytes(2)});
  }
}

Result<void> RegistryFile::commit(const std::vector<std::vector<StoreRecord>>& batches,
                                  int64_t epoch) {
  if (Result<void> begun = step("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<int64_t> commits = write(batches, epoch);
  Result<void> result = commits ? step("COMMIT") : Result<void>(commits.error());
  if (!result) {
    (void)step("ROLLBACK");  // Fails if the engine has already rolled back.
    return result;
  }
  return seal_->write({.epoch = epoch, .commits = *commits});
}

// The content of a commit's transaction. Returns the total number of commits, including this one.
Result<int64_t> RegistryFile::write(const std::vector<std::vector<StoreRecord>>& batches,
                                    int64_t epoch) {
  const Result<int64_t> latest = number("SELECT epoch FROM leader WHERE id = 1");
  if (!latest) return latest.error();
  if (*latest != epoch) {
    return Error::failed_precondition(
        text("this master led in epoch ", epoch, ", but epoch ", *latest, " has begun"));
  }
  if (Result<void> done = put(batches); !done) return std::move(done).error();
  return number("UPDATE leader SET commits = commits + 1 WHERE id = 1 RETURNING commits");
}

// To be called within a transaction.
Result<void> RegistryFile::put(const std::vector<std::vector<StoreRecord>>& batches) {
  for (const std::vector<StoreRecord>& batch : batches) {
    for (const StoreRecord& record : batch) {
      int code = SQLITE_OK;
      Statement* const prepared = statements_->prepared(db_, record.value ? kSet : kErase, code);
      if (prepared == nullptr) return failure(code);
      const Statements::InUse statement(*prepared);
      statement->bind(1, record.table);
      statement->bind(2, record.key);
      if (record.value) statement->bind_blob(3, *record.value);
      code = statement->step();
      if (code != SQLITE_DONE) return failure(code);
    }
  }
  return {};
}

// --- Functions for an operator.

Result<void> RegistryFile::set_epoch(int64_t epoch, const std::vector<StoreRecord>& batch) {
  return change(false, batch, epoch);
}

Result<void> RegistryFile::replace(const std::vector<StoreRecord>& records, int64_t epoch) {
  return change(true, records, epoch);
}

// `erases`: erase all rows before the batch is written.
Result<void> RegistryFile::change(bool erases, const std::vector<StoreRecord>& batch,
                                  int64_t epoch) {
  CHECK(floor_.epoch <= epoch && epoch <= kRegistryEpochMax) << "epoch " << epoch;
  const RegistryProgress next{.epoch = epoch, .commits = floor_.commits + 1};
  Result<void> changed = run("BEGIN IMMEDIATE");
  if (!changed) return changed;
  if (erases) changed = run("DELETE FROM record");
  if (changed) changed = put({batch});
  if (changed) changed = set_progress(next);
  if (changed) changed = run("COMMIT");
  if (!changed) {
    (void)run("ROLLBACK");
    return changed;
  }
  floor_ = next;
  if (Result<void> sealed = seal_->write(next); !sealed) return sealed;
  return seal_->sync();
}

Result<void> RegistryFile::set_progress(const RegistryProgress& progress) {
  return run(text("UPDATE leader SET epoch = ", progress.epoch, ", commits = ", progress.commits,
                  " WHERE id = 1")
                 .c_str());
}

// The single number that the statement returns.
Result<int64_t> RegistryFile::number(std::string_view sql) {
  int code = SQLITE_OK;
  Statement* const prepared = statements_->prepared(db_, sql, code);
  if (prepared == nullptr) return failure(code);
  const Statements::InUse statement(*prepared);
  code = statement->step();
  if (code == SQLITE_DONE) return damaged("it lacks its leader row");
  if (code != SQLITE_ROW) return failure(code);
  return statement->number(0);
}

// For a statement without a result that is run often: its prepared form is kept.
Result<void> RegistryFile::step(std::string_view sql) {
  int code = SQLITE_OK;
  Statement* const prepared = statements_->prepared(db_, sql, code);
  if (prepared == nullptr) return failure(code);
  const Statements::InUse statement(*prepared);
  code = statement->step();
  return code == SQLITE_DONE ? Result<void>() : failure(code);
}

Result<void> RegistryFile::run(const char* sql) {
  if (int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    return failure(code);
  }
  return {};
}

Error RegistryFile::damaged(const std::string& what) const {
  return Error::corruption(text("registry ", quoted(path_), " is damaged: ", what))
      .with_hint(kDamagedHint);
}

Error RegistryFile::failure(int code) const {
  const std::string message =
      text("registry ", quoted(path_), ": ",
           db_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(db_), " (sqlite ", code, ")");
  switch (code & 0xff) {
    case SQLITE_FULL:
      return Error::resource_exhausted(message).with_hint(
          "make room on the disk, then start again");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error::corruption(message).with_hint(kDamagedHint);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error::unavailable(message);
    default:
      return Error::internal(message);
  }
}

}  // namespace proffer
