#pragma once

// Durable state of a master (its registry) behind one interface. Its user cannot tell the engines
// apart: a database file (sqlite_store.h), a ZooKeeper ensemble (zookeeper_store.h), or memory that
// the simulator holds (memory_store.h).
//
// How a master comes by its epoch and by what is stored is told by its Leadership (leadership.h).
// From then on it calls append() for each step that has records. Every append checks in the same
// transaction that no later epoch has begun, so nothing that an older leader still writes can land
// behind what its successor has read.
//
// Thread rule: everything here is called on the loop thread, and calls back there.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"

namespace proffer {

// One row of the registry: what `key` of `table` is from now on.
struct StoreRecord {
  std::string table = {};                 // a short name: "framework", "agent", "role"; not empty
  std::string key = {};                   // text, unique within the table
  std::optional<std::string> value = {};  // bytes that the store does not look into; none: erased
  bool operator==(const StoreRecord&) const = default;
};

// How a store waits for its disk: `work` runs on a worker thread, then `done` on the loop thread.
// Loop::work in the real shell; tests run them step by step. Neither may run within the call.
using RunOffLoop = std::function<void(std::function<void()> work, std::function<void()> done)>;

// Failure is final. Whether a failed batch is on disk is unknown, so it is never retried as if
// nothing had happened: after the first error each later append() fails with the same error, and
// the process should end and recover from what is on disk.
class Store {
 public:
  using Done = std::function<void(Result<void>)>;

  virtual ~Store() = default;
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Makes all of `batch` durable, or none of it. `done` is called later, never from within
  // append(), in the order of the appends; not at all if the store is destroyed first. Batches that
  // arrive while the disk is busy share one flush. An empty batch writes nothing but keeps its
  // place in the order.
  // Errors: kFailedPrecondition: another leader has begun a later epoch; kResourceExhausted: disk
  // full, or kStoreQueuedMax batches wait; kCorruption, kUnavailable, kInternal: the engine's.
  virtual void append(std::vector<StoreRecord> batch, Done done) = 0;

  // Batches whose `done` has not been called. When zero, a step without records may tell at once.
  virtual size_t pending() const = 0;
};

// A store that lies with its master: the process that has opened it leads. The order of a master's
// life is begin_epoch(), load(), append().
class LocalStore : public Store {
 public:
  // Becomes the leader: makes an epoch above all earlier ones durable and returns it. Blocks; call
  // it once, before load() and append(). Errors: kResourceExhausted (disk full), kUnavailable.
  virtual Result<LeaderEpoch> begin_epoch() = 0;

  // Everything stored, by table and key; values are never none. Blocks; call it before the first
  // append(). Errors: kCorruption, kUnavailable.
  virtual Result<std::vector<StoreRecord>> load() = 0;
};

}  // namespace proffer
