#pragma once

// The store of the simulator and of tests: memory in the place of a disk.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "store/store.h"

namespace proffer {

// What is on the imagined disk. A value: copy it to remember a moment, compare it, put it back. It
// outlives the stores that write it, as a disk outlives its processes.
struct MemoryDisk {
  std::map<std::pair<std::string, std::string>, std::string> rows = {};  // (table, key) -> value
  LeaderEpoch epoch = {};
  bool operator==(const MemoryDisk&) const = default;
};

// Nothing is durable before flush(): the simulator decides when. A crash is the destruction of the
// store: what was not flushed is lost, and no `done` of it is called.
class MemoryStore final : public LocalStore {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk);

  Result<LeaderEpoch> begin_epoch() override;
  Result<std::vector<StoreRecord>> load() override;
  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override { return queue_.size(); }

  // Makes what is queued now durable, in order, then calls each `done`. What they append waits for
  // the next flush. A `done` may destroy the store.
  void flush();

  // The next flush fails with `error`, and so does all that follows, as a real disk does.
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
