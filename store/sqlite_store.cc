// The registry in SQLite. `Queue::pump` handles a write: batches that have queued up while the disk
// was busy become one transaction on a worker, and then their callers are notified in order. One
// thread at a time uses the database: the loop before the first append, afterwards the present
// commit.

#include "store/sqlite_store.h"

#include <deque>
#include <utility>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {

// Batches that are not durable yet. Outlives the store during a commit.
struct SqliteStore::Queue : std::enable_shared_from_this<SqliteStore::Queue> {
  struct Waiting {
    std::vector<StoreRecord> batch = {};
    Done done = {};
  };
  // The batches of one commit. Only the worker uses it until the commit is done.
  struct Group {
    std::vector<std::vector<StoreRecord>> batches = {};
    std::vector<Done> dones = {};
    bool has_records = false;
    Result<void> result = {};
  };

  void pump();
  void finish(Group& group);

  std::shared_ptr<RegistryFile> database = {};
  RunOffLoop run_off_loop = {};
  LeaderEpoch epoch = {};
  std::deque<Waiting> waiting = {};
  size_t in_flight = 0;  // batches in the present commit
  std::optional<Error> failed = {};
  bool abandoned = false;  // the store is destroyed
};

// --- The queue.

// Begins a commit of the waiting batches, unless one is under way; its end calls pump() again.
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
  // The worker has the database, not the queue: only the loop thread may destroy a `done`.
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
                                                       const RegistryFileOptions& options) {
  Result<std::shared_ptr<RegistryFile>> database = RegistryFile::open(directory, options);
  if (!database) return std::move(database).error();
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database).value(), std::move(run_off_loop)));
}

SqliteStore::SqliteStore(std::shared_ptr<RegistryFile> database, RunOffLoop run_off_loop)
    : queue_(std::make_shared<Queue>()) {
  queue_->database = std::move(database);
  queue_->run_off_loop = std::move(run_off_loop);
}

SqliteStore::~SqliteStore() {
  queue_->abandoned = true;
  queue_->waiting.clear();
  queue_->database.reset();
}

const std::string& SqliteStore::remark() const { return queue_->database->remark(); }

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
