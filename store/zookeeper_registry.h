#pragma once

// The operations of `proffer registry` on a registry in ZooKeeper. All calls block, with a separate
// loop.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "store/registry_snapshot.h"
#include "store/zookeeper_session.h"

namespace proffer {

class ZooKeeperRegistry {
 public:
  // `patience`: how long ZooKeeper may be unreachable.
  explicit ZooKeeperRegistry(ZooKeeperOptions options, Duration patience = seconds(30))
      : options_(std::move(options)), patience_(patience) {}

  // "127.0.0.1:2181/proffer"
  std::string name() const { return options_.servers + options_.root; }

  // The content at one moment, also while a master writes. Changes nothing. O(rows). Errors:
  // kNotFound: there is none; kFailedPrecondition: it was made with another secret; kCorruption: it
  // is damaged; kUnavailable: ZooKeeper cannot be reached, or the registry changed during each
  // attempt to read it.
  Result<RegistrySnapshot> read() const;

  // For a registry that no master leads: `edit` gets all rows, and the batch that it returns is
  // written atomically. The next master leads in an epoch above `epoch` and above all earlier ones.
  // Makes missing nodes. Returns the new content. O(rows). Errors: as read(); kFailedPrecondition:
  // a master leads; kInvalidArgument: the batch has a row that is invalid in a registry; those of
  // `edit`. After an error only the epoch may have changed.
  using Edit =
      std::function<Result<std::vector<StoreRecord>>(const std::vector<StoreRecord>& rows)>;
  Result<RegistrySnapshot> change(int64_t epoch, const Edit& edit) const;

 private:
  ZooKeeperOptions options_;
  Duration patience_;
};

}  // namespace proffer
