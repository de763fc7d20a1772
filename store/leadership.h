#pragma once

// Which of several masters leads, behind one interface. A master that keeps its registry in a
// directory of its own is elected at once (elected_at_once.h); several masters that share a
// ZooKeeper ensemble elect one of them (zookeeper_leadership.h).
//
// A master campaigns once in its life. It is a standby until `gained`, leads from then on, and ends
// with `lost`: a deposed leader's process ends, and its restart is a standby (ADR 0053).
//
// Thread rule: everything here is called on the loop thread, and calls back there.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "store/store.h"

namespace proffer {

// Where a master may be reached, as it says itself.
struct MasterPlace {
  std::string address = {};    // of messages: host:port, or the path of a socket
  std::string http_port = {};  // host:port of its HTTP; empty: it serves HTTP at a socket only
  bool operator==(const MasterPlace&) const = default;
};

class Leadership {
 public:
  struct Events {
    // This master leads in `epoch`, which is above all earlier ones and durable; `rows` is all that
    // is stored, by table and key, values never none. May be called from within campaign().
    std::function<void(LeaderEpoch epoch, std::vector<StoreRecord> rows)> gained = {};
    // It is a standby: the ensemble has elected another, or (none) it is not known which. Not told
    // by every kind of leadership. Only before `gained`.
    std::function<void(const std::optional<MasterPlace>& leader)> follows = {};
    // It leads no longer, or never can. Told once, as the last event; nothing may be told to
    // anybody from then on. May be called from within campaign().
    // Errors: kFailedPrecondition: another master leads; kUnavailable: the session with the
    // ensemble may have expired; kCorruption, kInvalidArgument and others: the engine's.
    std::function<void(Error why)> lost = {};
  };

  virtual ~Leadership() = default;
  Leadership() = default;
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // `here` is where this master may be reached: what the others tell of it once it leads. Call it
  // once.
  virtual void campaign(MasterPlace here, Events events) = 0;

  // Whether this master, after `gained`, may still act and tell at `now`. False means that another
  // may lead by now; `lost` follows. Cheap: asked before each step and each delivery.
  virtual bool may_serve(Time now) const = 0;

  // What the leader writes to. Only between `gained` and `lost`.
  virtual Store& store() = 0;

  // Where the master is that leads now; none: unknown, or it is this one.
  virtual std::optional<MasterPlace> other_leader() const = 0;
};

}  // namespace proffer
