#pragma once

// The store of the simulator and of tests: memory in place of a disk.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "store/store.h"

namespace proffer {

// The content of the simulated disk. It is a value: copy it to save a state, compare it, restore
// it. It outlives the stores that write it, as a disk outlives processes.
struct MemoryDisk {
  std::map<std::pair<std::string, std::string>, std::string> rows = {};  // (table, key) -> value
  LeaderEpoch epoch = {};
  bool operator==(const MemoryDisk&) const = default;
};

// Nothing is durable before flush(), which the simulator calls. A crash is the destruction of the
// store: unflushed batches are lost, and their `done` is not called.
class MemoryStore final : public LocalStore {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk);

  Result<LeaderEpoch> begin_epoch() override;
  Result<std::vector<StoreRecord>> load() override;
  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override { return queue_.size(); }

  // Makes all queued batches durable, in order, then calls each `done`. Batches that these append
  // wait for the next flush. A `done` may destroy the store.
  void flush();

  // The next flush and everything after it fail with `error`, as with a real disk.
  void fail(Error error);

 private:
  struct Waiting {
    std::vector<StoreRecord> batch = {};
    Done done = {};
  };

  Result<void> commit(const std::vector<StoreRecord>& batch);

  std::shared_ptr<MemoryDisk> disk_;
  std::deque<Waiting> queue_;
  LeaderEpoch epoch_;
  std::optional<Error> failed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace proffer
