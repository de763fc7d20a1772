// The registry in SQLite. `Queue::pump` is the whole story of a write: what has queued up while the
// disk was busy becomes one transaction on a worker, and then its callers hear of it, in order. The
// database is touched by one thread at a time: by the loop before the first append, afterwards by
// the one commit under way.

#include "store/sqlite_store.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <sqlite3.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "store/checkpoint_log.h"
#include "store/directory_lock.h"
#include "store/registry_seal.h"

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

// The database file and the lock of its directory. Calls block.
class SqliteStore::Database {
 public:
  static Result<std::shared_ptr<Database>> open(const std::string& directory,
                                                const SqliteStoreOptions& options);
  ~Database() { sqlite3_close(db_); }

  Result<int64_t> raise_epoch();
  Result<std::vector<StoreRecord>> load();
  // One transaction that fails unless the latest epoch is `epoch`.
  Result<void> commit(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);

 private:
  Database(DirectoryLock lock, RegistrySeal seal, std::string path)
      : lock_(std::move(lock)), seal_(std::move(seal)), path_(std::move(path)) {}

  Result<void> prepare_file(const SqliteStoreOptions& options);
  Result<void> check_pages();
  Result<void> bring_up_to_date(int64_t version);
  Result<void> check_rows();
  Result<void> check_progress(const SqliteStoreOptions& options);
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

// Batches on their way to the disk. Outlives the store while a commit is under way.
struct SqliteStore::Queue : std::enable_shared_from_this<SqliteStore::Queue> {
  struct Waiting {
    std::vector<StoreRecord> batch = {};
    Done done = {};
  };
  // What a worker commits. Nobody else touches it until the worker is done.
  struct Group {
    std::vector<std::vector<StoreRecord>> batches = {};
    std::vector<Done> dones = {};
    bool has_records = false;
    Result<void> result = {};
  };

  void pump();
  void finish(Group& group);

  std::shared_ptr<Database> database = {};
  RunOffLoop run_off_loop = {};
  LeaderEpoch epoch = {};
  std::deque<Waiting> waiting = {};
  size_t in_flight = 0;  // batches whose `done` is owed by the commit under way
  std::optional<Error> failed = {};
  bool abandoned = false;  // the store is gone
};

// --- The database.

Result<std::shared_ptr<SqliteStore::Database>> SqliteStore::Database::open(
    const std::string& directory, const SqliteStoreOptions& options) {
  Result<DirectoryLock> lock = DirectoryLock::take(directory);
  if (!lock) return std::move(lock).error();
  Result<RegistrySeal> seal = RegistrySeal::open(directory + "/registry.seal");
  if (!seal) return std::move(seal).error();
  std::shared_ptr<Database> database(
      new Database(std::move(lock).value(), std::move(seal).value(), directory + "/registry.db"));
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
Result<void> SqliteStore::Database::prepare_file(const SqliteStoreOptions& options) {
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

Result<void> SqliteStore::Database::check_pages() {
  Statement check;
  if (int code = check.prepare(db_, "PRAGMA quick_check(1)"); code != SQLITE_OK) {
    return failure(code);
  }
  if (int code = check.step(); code != SQLITE_ROW) return failure(code);
  if (const std::string answer = check.bytes(0); answer != "ok") return damaged(quoted(answer));
  return {};
}

Result<void> SqliteStore::Database::bring_up_to_date(int64_t version) {
  if (version == kSchemaVersion) return {};
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> made = version == 0 ? run(kFirstSchema) : Result<void>();
  if (made) made = run(kSecondSchema);
  if (made) made = run("COMMIT");
  if (!made) (void)run("ROLLBACK");
  return made;
}

// SQLite does not see what is wrong within a value, nor that a row is gone as a whole.
Result<void> SqliteStore::Database::check_rows() {
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
Result<void> SqliteStore::Database::check_progress(const SqliteStoreOptions& options) {
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

Result<RegistryProgress> SqliteStore::Database::progress() {
  const Result<int64_t> epoch = number("SELECT epoch FROM leader WHERE id = 1");
  if (!epoch) return epoch.error();
  const Result<int64_t> commits = number("SELECT commits FROM leader WHERE id = 1");
  if (!commits) return commits.error();
  return RegistryProgress{.epoch = *epoch, .commits = *commits};
}

Result<int64_t> SqliteStore::Database::raise_epoch() {
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

Result<std::vector<StoreRecord>> SqliteStore::Database::load() {
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

Result<void> SqliteStore::Database::commit(const std::vector<std::vector<StoreRecord>>& batches,
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
Result<int64_t> SqliteStore::Database::write(const std::vector<std::vector<StoreRecord>>& batches,
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
Result<int64_t> SqliteStore::Database::number(std::string_view sql) {
  Statement statement;
  if (int code = statement.prepare(db_, sql); code != SQLITE_OK) return failure(code);
  const int code = statement.step();
  if (code == SQLITE_DONE) return damaged("it lacks its leader row");
  if (code != SQLITE_ROW) return failure(code);
  return statement.number(0);
}

Result<void> SqliteStore::Database::run(const char* sql) {
  if (int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    return failure(code);
  }
  return {};
}

Error SqliteStore::Database::damaged(const std::string& what) const {
  return Error::corruption(text("registry ", quoted(path_), " is damaged: ", what))
      .with_hint(kDamagedHint);
}

Error SqliteStore::Database::failure(int code) const {
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

// --- The queue.

// Commits what waits, unless a commit is under way already: its end pumps again.
void SqliteStore::Queue::pump() {
  if (in_flight > 0 || waiting.empty()) return;
  auto group = std::make_shared<Group>();
  while (!waiting.empty() && group->dones.size() < kStoreGroupMax) {
    Waiting next = std::move(waiting.front());
    waiting.pop_front();
    group->has_records = group->has_records || !next.batch.empty();
    group->batches.push_back(std::move(next.batch));
    group->dones.push_back(std::move(next.done));
  }
  in_flight = group->dones.size();
  if (failed) group->result = *failed;
  // The worker holds the database, not the queue: only the loop thread may let go of a `done`.
  const bool writes = group->has_records && !failed;
  run_off_loop(
      [database = database, group, writes, leader = static_cast<int64_t>(epoch.value())] {
        if (writes) group->result = database->commit(group->batches, leader);
      },
      [self = shared_from_this(), group] { self->finish(*group); });
}

void SqliteStore::Queue::finish(Group& group) {
  if (!group.result && !failed) failed = group.result.error();
  for (Done& done : group.dones) {
    if (abandoned) return;
    --in_flight;
    done(group.result);
  }
  if (!abandoned) pump();
}

// --- The store.

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::string& directory,
                                                       RunOffLoop run_off_loop,
                                                       const SqliteStoreOptions& options) {
  Result<std::shared_ptr<Database>> database = Database::open(directory, options);
  if (!database) return std::move(database).error();
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database).value(), std::move(run_off_loop)));
}

SqliteStore::SqliteStore(std::shared_ptr<Database> database, RunOffLoop run_off_loop)
    : queue_(std::make_shared<Queue>()) {
  queue_->database = std::move(database);
  queue_->run_off_loop = std::move(run_off_loop);
}

SqliteStore::~SqliteStore() {
  queue_->abandoned = true;
  queue_->waiting.clear();
  queue_->database.reset();
}

Result<LeaderEpoch> SqliteStore::begin_epoch() {
  CHECK(!queue_->epoch) << "an epoch has begun already: " << queue_->epoch.value();
  const Result<int64_t> epoch = queue_->database->raise_epoch();
  if (!epoch) return epoch.error();
  queue_->epoch = LeaderEpoch(static_cast<uint64_t>(*epoch));
  return queue_->epoch;
}

Result<std::vector<StoreRecord>> SqliteStore::load() {
  CHECK_EQ(pending(), 0U) << "load() comes before append()";
  return queue_->database->load();
}

void SqliteStore::append(std::vector<StoreRecord> batch, Done done) {
  CHECK(queue_->epoch) << "append() comes after begin_epoch()";
  for (const StoreRecord& record : batch) {
    CHECK(!record.table.empty()) << "record '" << record.key << "' without a table";
    CHECK(!record.value || record.value->size() <= kStoreValueBytesMax)
        << record.table << " '" << record.key << "' has " << record.value->size() << " bytes";
  }
  if (queue_->waiting.size() >= kStoreQueuedMax && !queue_->failed) {
    queue_->failed = Error::resource_exhausted(
        text("more than ", kStoreQueuedMax, " writes wait for the disk of the registry"));
  }
  queue_->waiting.push_back(Queue::Waiting{.batch = std::move(batch), .done = std::move(done)});
  queue_->pump();
}

size_t SqliteStore::pending() const { return queue_->waiting.size() + queue_->in_flight; }

}  // namespace proffer
