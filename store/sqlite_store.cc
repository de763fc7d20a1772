// The registry in SQLite. `Queue::pump` is the whole story of a write: what has queued up while the
// disk was busy becomes one transaction on a worker, and then its callers hear of it, in order. The
// database is touched by one thread at a time: by the loop before the first append, afterwards by
// the one commit under way.

#include "store/sqlite_store.h"

#include <deque>
#include <utility>

#include <sqlite3.h>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "store/directory_lock.h"

namespace proffer {
namespace {

constexpr int kSchemaVersion = 1;
constexpr const char* kSchema =
    "CREATE TABLE record (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,"
    "  PRIMARY KEY (kind, key)) WITHOUT ROWID;"
    "CREATE TABLE leader (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL);"
    "INSERT INTO leader (id, epoch) VALUES (1, 0);"
    "PRAGMA user_version = 1;";

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
  static Result<std::shared_ptr<Database>> open(const std::string& directory);
  ~Database() { sqlite3_close(db_); }

  Result<int64_t> raise_epoch();
  Result<std::vector<StoreRecord>> load();
  // One transaction that fails unless the latest epoch is `epoch`.
  Result<void> commit(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);

 private:
  Database(DirectoryLock lock, std::string path) : lock_(std::move(lock)), path_(std::move(path)) {}

  Result<void> prepare_file();
  Result<void> write(const std::vector<std::vector<StoreRecord>>& batches, int64_t epoch);
  Result<int64_t> number(std::string_view sql);
  Result<void> run(const char* sql);
  Error failure(int code) const;

  DirectoryLock lock_;  // taken before, and given up after, the database is open
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
    const std::string& directory) {
  Result<DirectoryLock> lock = DirectoryLock::take(directory);
  if (!lock) return std::move(lock).error();
  std::shared_ptr<Database> database(
      new Database(std::move(lock).value(), directory + "/registry.db"));
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (int code = sqlite3_open_v2(database->path_.c_str(), &database->db_, flags, nullptr);
      code != SQLITE_OK) {
    return database->failure(code);
  }
  // Somebody reads it with the sqlite3 program: wait for them a little rather than fail.
  sqlite3_busy_timeout(database->db_, 5'000);
  sqlite3_extended_result_codes(database->db_, 1);
  if (Result<void> ready = database->prepare_file(); !ready) return std::move(ready).error();
  return database;
}

// Checks what is there, and makes the tables if nothing is.
Result<void> SqliteStore::Database::prepare_file() {
  const Result<int64_t> version = number("PRAGMA user_version");
  if (!version) return version.error();
  if (*version > kSchemaVersion) {
    return Error::unsupported(text("registry ", quoted(path_), " has schema ", *version,
                                   ", this program knows schemas up to ", kSchemaVersion))
        .with_hint("start the newer Proffer that wrote it, or give this one another directory");
  }
  {
    Statement check;
    if (int code = check.prepare(db_, "PRAGMA quick_check(1)"); code != SQLITE_OK) {
      return failure(code);
    }
    if (int code = check.step(); code != SQLITE_ROW) return failure(code);
    if (const std::string answer = check.bytes(0); answer != "ok") {
      return Error::corruption(text("registry ", quoted(path_), " is damaged: ", quoted(answer)))
          .with_hint("put back a copy of it, or start with an empty directory");
    }
  }
  for (const char* sql : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"}) {
    if (Result<void> set = run(sql); !set) return set;
  }
  if (*version == kSchemaVersion) return {};
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  Result<void> made = run(kSchema);
  if (made) made = run("COMMIT");
  if (!made) (void)run("ROLLBACK");
  return made;
}

Result<int64_t> SqliteStore::Database::raise_epoch() {
  if (Result<void> begun = run("BEGIN IMMEDIATE"); !begun) return std::move(begun).error();
  Result<void> raised = run("UPDATE leader SET epoch = epoch + 1 WHERE id = 1");
  Result<int64_t> epoch = number("SELECT epoch FROM leader WHERE id = 1");
  if (raised && epoch) raised = run("COMMIT");
  if (!raised || !epoch) {
    (void)run("ROLLBACK");
    return raised ? std::move(epoch).error() : std::move(raised).error();
  }
  return epoch;
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
  Result<void> result = write(batches, epoch);
  if (result) result = run("COMMIT");
  if (!result) (void)run("ROLLBACK");  // Fails if the engine has rolled back by itself.
  return result;
}

// The inside of a commit's transaction.
Result<void> SqliteStore::Database::write(const std::vector<std::vector<StoreRecord>>& batches,
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
                             "INSERT INTO record (kind, key, value) VALUES (?1, ?2, ?3) "
                             "ON CONFLICT (kind, key) DO UPDATE SET value = ?3");
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
  return {};
}

// The one number that the statement answers.
Result<int64_t> SqliteStore::Database::number(std::string_view sql) {
  Statement statement;
  if (int code = statement.prepare(db_, sql); code != SQLITE_OK) return failure(code);
  const int code = statement.step();
  if (code == SQLITE_DONE) {
    return Error::corruption(text("registry ", quoted(path_), " lacks its leader row"));
  }
  if (code != SQLITE_ROW) return failure(code);
  return statement.number(0);
}

Result<void> SqliteStore::Database::run(const char* sql) {
  if (int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    return failure(code);
  }
  return {};
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
      return Error::corruption(message).with_hint(
          "put back a copy of it, or start with an empty directory");
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
                                                       RunOffLoop run_off_loop) {
  Result<std::shared_ptr<Database>> database = Database::open(directory);
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
