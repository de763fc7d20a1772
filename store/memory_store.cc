// The store without a disk. flush() does all the work: it checks the epoch and applies a batch as
// one step, like an engine's transaction.

#include "store/memory_store.h"

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer {

MemoryStore::MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {
  CHECK(disk_ != nullptr);
}

Result<LeaderEpoch> MemoryStore::begin_epoch() {
  CHECK(!epoch_) << "an epoch has begun already: " << epoch_.value();
  if (failed_) return *failed_;
  disk_->epoch = LeaderEpoch(disk_->epoch.value() + 1);
  epoch_ = disk_->epoch;
  return epoch_;
}

Result<std::vector<StoreRecord>> MemoryStore::load() {
  CHECK(queue_.empty()) << "load() comes before append()";
  if (failed_) return *failed_;
  std::vector<StoreRecord> records;
  records.reserve(disk_->rows.size());
  for (const auto& [key, value] : disk_->rows) {
    records.push_back(StoreRecord{.table = key.first, .key = key.second, .value = value});
  }
  return records;
}

void MemoryStore::append(std::vector<StoreRecord> batch, Done done) {
  CHECK(epoch_) << "append() comes after begin_epoch()";
  for (const StoreRecord& record : batch) {
    CHECK(!record.table.empty()) << "record '" << record.key << "' without a table";
    CHECK(!record.value || record.value->size() <= kStoreValueBytesMax)
        << record.table << " '" << record.key << "' has " << record.value->size() << " bytes";
  }
  if (queue_.size() >= kStoreQueuedMax && !failed_) {
    failed_ = Error::resource_exhausted(text("more than ", kStoreQueuedMax, " writes wait"));
  }
  queue_.push_back(Waiting{.batch = std::move(batch), .done = std::move(done)});
}

void MemoryStore::flush() {
  std::deque<Waiting> group;
  group.swap(queue_);
  std::vector<Result<void>> results;
  results.reserve(group.size());
  for (const Waiting& waiting : group) results.push_back(commit(waiting.batch));

  const std::weak_ptr<bool> alive = alive_;
  for (size_t i = 0; i < group.size(); ++i) {
    group[i].done(std::move(results[i]));
    if (alive.expired()) return;
  }
}

Result<void> MemoryStore::commit(const std::vector<StoreRecord>& batch) {
  if (failed_) return *failed_;
  if (batch.empty()) return {};
  if (disk_->epoch != epoch_) {
    failed_ = Error::failed_precondition(text("this master led in epoch ", epoch_.value(),
                                              ", but epoch ", disk_->epoch.value(), " has begun"));
    return *failed_;
  }
  for (const StoreRecord& record : batch) {
    if (record.value) {
      disk_->rows[{record.table, record.key}] = *record.value;
    } else {
      disk_->rows.erase({record.table, record.key});
    }
  }
  return {};
}

void MemoryStore::fail(Error error) { failed_ = std::move(error); }

}  // namespace proffer
