#pragma once

// The store of several masters: a registry in a ZooKeeper ensemble (store/zookeeper_rows.h says how
// it lies there). What append() has acknowledged is on the disks of most of its servers.
//
// Each transaction replaces ROOT/epoch, on condition that the node is as this store left it. So a
// transaction of a deposed leader fails, and one whose answer was lost is known to have been
// carried out, or not, by what that node says. Batches that arrive while a transaction is under way
// share the next one. A batch that is too large for one transaction is written to a journal first,
// and applied again by the next leader if this one ends meanwhile.
//
// A lost connection is no failure: what is under way goes on when the session is connected again.
// Made by ZooKeeperLeadership once its master is elected.

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

  // `writer` is a word that no other store ever had or will have. The session must outlive the
  // store.
  ZooKeeperStore(Loop& loop, ZooKeeperSession& session, std::string root, std::string writer);
  ~ZooKeeperStore() override;

  // Begins an epoch above all earlier ones, and not below `at_least`; then reads everything. Call
  // it once, before append(). O(rows). Errors: kCorruption: nodes are not what this program writes;
  // kFailedPrecondition: another master has begun an epoch meanwhile; kUnavailable, kInternal.
  void take_over(std::function<void(Result<TakenOver>)> done, int64_t at_least = 0);

  void append(std::vector<StoreRecord> batch, Done done) override;
  size_t pending() const override;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace proffer
