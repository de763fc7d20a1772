#pragma once

// What `proffer registry` does with a registry in ZooKeeper. Everything blocks, on a loop of its
// own.

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
  // `patience`: how long ZooKeeper may be out of reach.
  explicit ZooKeeperRegistry(ZooKeeperOptions options, Duration patience = seconds(30))
      : options_(std::move(options)), patience_(patience) {}

  // "127.0.0.1:2181/proffer"
  std::string name() const { return options_.servers + options_.root; }

  // What is there at one moment; a master may be writing meanwhile. Changes nothing. O(rows).
  // Errors: kNotFound: there is none; kFailedPrecondition: it was made with another secret;
  // kCorruption: it is damaged; kUnavailable: ZooKeeper cannot be reached, or the registry changed
  // each time while it was read.
  Result<RegistrySnapshot> read() const;

  // For a registry that no master leads: `edit` is given all rows, and the batch that it answers is
  // written in one step. The next master leads in an epoch above `epoch`, and above all earlier
  // ones. Makes what is missing at the path. Returns what is there then. O(rows). Errors: as
  // read(); kFailedPrecondition: a master leads; kInvalidArgument: the batch has a row that a
  // registry does not take; those of `edit`. Then nothing is changed but the epoch.
  using Edit =
      std::function<Result<std::vector<StoreRecord>>(const std::vector<StoreRecord>& rows)>;
  Result<RegistrySnapshot> change(int64_t epoch, const Edit& edit) const;

 private:
  ZooKeeperOptions options_;
  Duration patience_;
};

}  // namespace proffer
