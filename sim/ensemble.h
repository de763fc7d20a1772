#pragma once

// The shared service of several masters, in place of ZooKeeper: an election, and a registry in
// which each request takes effect at one moment. Requests and answers take time to arrive. A
// session that is silent for its timeout expires, and then another master is elected.
//
// A write of an expired session may still arrive, as through a server that does not know of the
// expiry: only the epoch rejects it. The ensemble reports two violations to the world: an epoch
// that is not above all earlier epochs, and a write after a later epoch has begun.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/world.h"
#include "store/memory_store.h"

namespace proffer::sim {

class Ensemble {
 public:
  using Session = uint64_t;

  explicit Ensemble(World& world);

  Duration session_timeout() const { return kSessionTimeout; }
  const std::shared_ptr<MemoryDisk>& disk() const { return disk_; }
  // Called after each successful commit.
  void set_on_written(std::function<void()> on_written) { on_written_ = std::move(on_written); }

  // --- the election: a candidate runs until `elected` is called or it withdraws
  // -------------------
  uint64_t campaign(std::function<void(Session)> elected);
  void withdraw(uint64_t candidate);

  // --- requests, at the moment at which they arrive ----------------------------------------------
  // A heartbeat. False: the session has expired.
  bool hear(Session session);
  Result<LeaderEpoch> begin_epoch(Session session);
  Result<std::vector<StoreRecord>> load(Session session);
  Result<void> commit(Session session, std::vector<StoreRecord> batch);

  // --- the way there, and back -------------------------------------------------------------------
  Duration delay();

  // --- faults
  // --------------------------------------------------------------------------------------
  // Requests and answers may take longer than the session timeout.
  void set_slow(bool slow) { slow_ = slow; }
  // Requests of the leader arrive only after this time; by then its session has usually expired.
  // Does nothing if there is no leader.
  void cut_off_leader(Duration lasts);
  // The time at which the session's cut-off ends.
  Time reachable_at(Session session) const;

  // Whether the session has expired: then its master must have stopped serving.
  bool has_expired(Session session) const { return expired_.contains(session); }

 private:
  static constexpr Duration kSessionTimeout = seconds(4);

  void elect();
  void plan_election();
  void watch(Session session);

  World& world_;
  Prng chance_;
  bool slow_ = false;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  std::map<uint64_t, std::function<void(Session)>> candidates_;
  uint64_t candidates_made_ = 0;
  Session sessions_ = 0;
  Session leader_ = 0;  // the leader's session; 0: there is no leader
  Time heard_;          // the leader's last heartbeat
  std::set<Session> expired_;
  std::map<Session, Time> cut_off_;                         // until this time
  std::map<Session, std::unique_ptr<MemoryStore>> stores_;  // each knows the epoch that it began
  Session newest_ = 0;                                      // the last session that began an epoch
  LeaderEpoch newest_epoch_;
  std::function<void()> on_written_;
};

}  // namespace proffer::sim
