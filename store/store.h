#pragma once

// The durable state of a master (its registry) behind one interface. The engine may be a database
// file (sqlite_store.h), a ZooKeeper ensemble (zookeeper_store.h), or memory of the simulator
// (memory_store.h); users see no difference.
//
// A master gets its epoch and the stored rows from its Leadership (leadership.h). From then on it
// calls append() for each step that has records. Every append checks in the same transaction that
// no later epoch has begun, so a deposed leader cannot write after its successor has read.
//
// Thread rule: all calls and callbacks are on the loop thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"

namespace proffer {

// One row of the registry: the new value of `key` in `table`.
struct StoreRecord {
  std::string table = {};                 // a short name: "framework", "agent", "role"; not empty
  std::string key = {};                   // text, unique within the table
  std::optional<std::string> value = {};  // opaque bytes; none: erased
  bool operator==(const StoreRecord&) const = default;
};

// How a store waits for its disk: `work` runs on a worker thread, then `done` on the loop thread.
// This is Loop::work in the real shell; tests run them step by step. Neither may run within the
// call.
using RunOffLoop = std::function<void(std::function<void()> work, std::function<void()> done)>;

// Failure is final. It is unknown whether a failed batch is on disk, so it is never retried. After
// the first error each later append() fails with the same error; the process should end and recover
// from the disk.
class Store {
 public:
  using Done = std::function<void(Result<void>)>;

  virtual ~Store() = default;
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Makes all of `batch` durable, or none of it. `done` is called later, never within append(), in
  // the order of the appends; it is not called if the store is destroyed first. Batches that arrive
  // while the disk is busy share one flush. An empty batch writes nothing but keeps its place in
  // the order. Errors: kFailedPrecondition: another leader has begun a later epoch;
  // kResourceExhausted: disk full, or kStoreQueuedMax batches wait; kCorruption, kUnavailable,
  // kInternal: those of the engine.
  virtual void append(std::vector<StoreRecord> batch, Done done) = 0;

  // Batches whose `done` has not been called. If zero, the messages of a step without records may
  // leave at once.
  virtual size_t pending() const = 0;
};

// A store on the master's machine: the process that has opened it leads. The order of calls is
// begin_epoch(), load(), append().
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
