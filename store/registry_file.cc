// The database of the registry. What is done when it is opened, and in which order, is in
// prepare_file; the inside of a commit is write.

#include "store/registry_file.h"

#include <algorithm>
#include <utility>

#include <sqlite3.h>

#include "common/check.h"
#include "common/text.h"
#include "store/checkpoint_log.h"

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
    "put back a copy of all files of the directory, or start with an empty directory";

// In SQL: row_crc(kind, key, value).
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

// A prepared statement that is finalized when it goes.
class Statement {
 public:
  Statement() = default;
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

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
  Result<RegistrySeal> seal = RegistrySeal::open(directory + "/registry.seal");
  if (!seal) return std::move(seal).error();
  std::shared_ptr<RegistryFile> database(new RegistryFile(
      std::move(lock).value(), std::move(seal).value(), directory + "/registry.db"));
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (int code = sqlite3_open_v2(database->path_.c_str(), &database->db_, flags, nullptr);
      code != SQLITE_OK) {
    return database->failure(code);
  }
  // Somebody reads it with the sqlite3 program: wait for them a little rather than fail.
  sqlite3_busy_timeout(database->db_, 5'000);
  sqlite3_extended_result_codes(database->db_, 1);
  CHECK_EQ(sqlite3_create_function(database->db_, "row_crc", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                   nullptr, &row_crc, nullptr, nullptr),
           SQLITE_OK);
  if (Result<void> ready = database->prepare_file(options); !ready) return std::move(ready).error();
  return database;
}

// Checks what is there, and makes the tables if nothing is.
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
  // What is in the database itself is checked page by page each time, so the log begins empty.
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

// SQLite does not see what is wrong within a value, nor that a row is gone as a whole.
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
                        " does not match what is there"));
  }
  if (code != SQLITE_DONE) return failure(code);
  const Result<int64_t> is_whole = number(
      "SELECT records = (SELECT count(*) FROM record)"
      "  AND crcs = (SELECT coalesce(sum(crc), 0) FROM record) FROM leader WHERE id = 1");
  if (!is_whole) return is_whole.error();
  if (*is_whole == 0) return damaged("there are not the rows that were written");
  return {};
}

// Whether it has all commits that the seal knows.
Result<void> RegistryFile::check_progress(const RegistryFileOptions& options) {
  const Result<RegistryProgress> now = progress();
  if (!now) return now.error();
  floor_ = *now;
  if (!seal_.found()) return {};
  const RegistryProgress& known = *seal_.found();
  if (known.epoch <= now->epoch && known.commits <= now->commits) return {};
  if (!options.accepts_older) {
    return Error::corruption(
               text("registry ", quoted(path_), " lacks what was written last: it is at epoch ",
                    now->epoch, " and commit ", now->commits, ", and has been at epoch ",
                    known.epoch, " and commit ", known.commits, " (", quoted("registry.seal"), ")"))
        .with_hint(
            "put back the newest copy of all files of the directory; or start once with "
            "--accept_older_registry: frameworks and agents that only the lost part knew have to "
            "begin anew");
  }
  floor_ = {.epoch = std::max(known.epoch, now->epoch),
            .commits = std::max(known.commits, now->commits)};
  return {};
}

Result<RegistryProgress> RegistryFile::progress() {
  const Result<int64_t> epoch = number("SELECT epoch FROM leader WHERE id = 1");
  if (!epoch) return epoch.error();
  const Result<int64_t> commits = number("SELECT commits FROM leader WHERE id = 1");
  if (!commits) return commits.error();
  return RegistryProgress{.epoch = *epoch, .commits = *commits};
}

RegistryFile::~RegistryFile() { sqlite3_close(db_); }

Result<int64_t> RegistryFile::raise_epoch() {
  const RegistryProgress next{.epoch = floor_.epoch + 1, .commits = floor_.commits + 1};
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return std::move(begun).error();
  Result<void> raised = run(
      text("UPDATE leader SET epoch = ", next.epoch, ", commits = ", next.commits, " WHERE id = 1")
          .c_str());
  if (raised) raised = run("COMMIT");
  if (!raised) {
    (void)run("ROLLBACK");
    return std::move(raised).error();
  }
  if (Result<void> sealed = seal_.write(next); !sealed) return std::move(sealed).error();
  if (Result<void> sealed = seal_.sync(); !sealed) return std::move(sealed).error();
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
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  const Result<int64_t> commits = write(batches, epoch);
  Result<void> result = commits ? run("COMMIT") : Result<void>(commits.error());
  if (!result) {
    (void)run("ROLLBACK");  // Fails if the engine has rolled back by itself.
    return result;
  }
  return seal_.write({.epoch = epoch, .commits = *commits});
}

// The inside of a commit's transaction. Returns how many commits there have been with it.
Result<int64_t> RegistryFile::write(const std::vector<std::vector<StoreRecord>>& batches,
                                    int64_t epoch) {
  const Result<int64_t> latest = number("SELECT epoch FROM leader WHERE id = 1");
  if (!latest) return latest.error();
  if (*latest != epoch) {
    return Error::failed_precondition(
        text("this master led in epoch ", epoch, ", but epoch ", *latest, " has begun"));
  }
  Statement put;
  Statement erase;
  if (int code = put.prepare(db_,
                             "INSERT INTO record (kind, key, value, crc)"
                             "  VALUES (?1, ?2, ?3, row_crc(?1, ?2, ?3))"
                             "  ON CONFLICT (kind, key)"
                             "  DO UPDATE SET value = excluded.value, crc = excluded.crc");
      code != SQLITE_OK) {
    return failure(code);
  }
  if (int code = erase.prepare(db_, "DELETE FROM record WHERE kind = ?1 AND key = ?2");
      code != SQLITE_OK) {
    return failure(code);
  }
  for (const std::vector<StoreRecord>& batch : batches) {
    for (const StoreRecord& record : batch) {
      Statement& statement = record.value ? put : erase;
      statement.bind(1, record.table);
      statement.bind(2, record.key);
      if (record.value) statement.bind_blob(3, *record.value);
      const int code = statement.step();
      if (code != SQLITE_DONE) return failure(code);
      statement.reset();
    }
  }
  return number("UPDATE leader SET commits = commits + 1 WHERE id = 1 RETURNING commits");
}

// The one number that the statement answers.
Result<int64_t> RegistryFile::number(std::string_view sql) {
  Statement statement;
  if (int code = statement.prepare(db_, sql); code != SQLITE_OK) return failure(code);
  const int code = statement.step();
  if (code == SQLITE_DONE) return damaged("it lacks its leader row");
  if (code != SQLITE_ROW) return failure(code);
  return statement.number(0);
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
