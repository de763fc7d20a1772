// The registry in SQLite. `Queue::pump` is the whole story of a write: what has queued up while the
// disk was busy becomes one transaction on a worker, and then its callers hear of it, in order. The
// database is touched by one thread at a time: by the loop before the first append, afterwards by
// the one commit under way.

#include "store/sqlite_store.h"

#include <deque>
#include <utility>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {

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

  std::shared_ptr<RegistryFile> database = {};
  RunOffLoop run_off_loop = {};
  LeaderEpoch epoch = {};
  std::deque<Waiting> waiting = {};
  size_t in_flight = 0;  // batches whose `done` is owed by the commit under way
  std::optional<Error> failed = {};
  bool abandoned = false;  // the store is gone
};

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
