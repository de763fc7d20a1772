#pragma once

// The store of several masters: a registry in a ZooKeeper ensemble (store/zookeeper_rows.h
// describes the layout). Acknowledged appends are on the disks of most servers.
//
// Each transaction replaces ROOT/epoch, provided that the node is unchanged since the last
// transaction of this store. So a transaction of a deposed leader fails, and after a lost answer
// the node shows whether the transaction was carried out. Batches that arrive during a transaction
// share the next one. A batch that is too large for one transaction is first written to a journal,
// and the next leader applies it again if this one ends meanwhile.
//
// A lost connection is no failure: pending work continues when the session is connected again.
// ZooKeeperLeadership makes the store once its master is elected.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"
#include "store/zookeeper_rows.h"
#include "store/zookeeper_session.h"

namespace proffer {

class ZooKeeperStore final : public Store {
 public:
  struct TakenOver {
    LeaderEpoch epoch = {};
    std::vector<StoreRecord> rows = {};  // by table and key
  };

  // `writer` is a word that no other store ever uses. The session must outlive the store.
  ZooKeeperStore(Loop& loop, ZooKeeperSession& session, std::string root, std::string writer);
  ~ZooKeeperStore() override;

  // Begins an epoch above all earlier ones and at least `at_least`, then reads everything. Call it
  // once, before append(). O(rows). Errors: kCorruption: nodes were not written by this program;
  // kFailedPrecondition: another master has begun an epoch meanwhile; kUnavailable, kInternal.
  void take_over(std::function<void(Result<TakenOver>)> done, int64_t at_least = 0);

  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
