#pragma once

// What several masters share, in the place of ZooKeeper: an election, and a registry in which each
// request happens at one moment. Requests take time to get there, answers to come back, and a
// session of which nothing was heard for its timeout expires: then another master is elected.
//
// A write of a session that has expired may still arrive, as by a server that has not heard of it:
// only the epoch keeps it out. What must never happen is told to the world as violated: an epoch
// that is not above all before, and a write behind the begin of a later epoch.

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
  // Called when something has been written.
  void set_on_written(std::function<void()> on_written) { on_written_ = std::move(on_written); }

  // --- the election: it wants to lead from now on, until `elected` is called or it withdraws -----
  uint64_t campaign(std::function<void(Session)> elected);
  void withdraw(uint64_t candidate);

  // --- requests, at the moment at which they arrive ----------------------------------------------
  // A sign of life. False: the session has expired.
  bool hear(Session session);
  Result<LeaderEpoch> begin_epoch(Session session);
  Result<std::vector<StoreRecord>> load(Session session);
  Result<void> commit(Session session, std::vector<StoreRecord> batch);

  // --- the way there, and back -------------------------------------------------------------------
  Duration delay();

  // --- what goes wrong ---------------------------------------------------------------------------
  // Everything on its way takes up to longer than a session lasts.
  void set_slow(bool slow) { slow_ = slow; }
  // What the leader asks arrives only after so long, when its session has expired as a rule.
  // Nothing if nobody leads.
  void cut_off_leader(Duration lasts);
  // From when on it is not cut off.
  Time reachable_at(Session session) const;

  // Whether it has expired: its master must know without being told.
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
  Session leader_ = 0;  // whose session is alive; 0: nobody's
  Time heard_;          // of the leader
  std::set<Session> expired_;
  std::map<Session, Time> cut_off_;                         // until when
  std::map<Session, std::unique_ptr<MemoryStore>> stores_;  // each knows the epoch that it began
  Session newest_ = 0;                                      // that has begun an epoch
  LeaderEpoch newest_epoch_;
  std::function<void()> on_written_;
};

}  // namespace proffer::sim
