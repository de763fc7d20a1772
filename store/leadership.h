#pragma once

// Determines which of several masters leads, behind one interface. A master with a registry in its
// own directory leads at once (elected_at_once.h). Masters that share a ZooKeeper ensemble elect
// one of them (zookeeper_leadership.h).
//
// A master campaigns once in its life. It is a standby until `gained`, leads from then on, and ends
// with `lost`: the process of a deposed leader ends, and after its restart it is a standby (ADR
// 0053).
//
// Thread rule: all calls and callbacks are on the loop thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "store/store.h"

namespace proffer {

// The addresses of a master, as it states them itself.
struct MasterPlace {
  std::string address = {};    // for messages: host:port, or the path of a socket
  std::string http_port = {};  // host:port of its HTTP; empty: it serves HTTP only on a socket
  bool operator==(const MasterPlace&) const = default;
};

class Leadership {
 public:
  struct Events {
    // This master leads in `epoch`, which is durable and above all earlier ones; `rows` is the
    // whole content of the store, by table and key, values never none. May be called within
    // campaign().
    std::function<void(LeaderEpoch epoch, std::vector<StoreRecord> rows)> gained = {};
    // This master is a standby: the ensemble has elected another one, or (none) the leader is
    // unknown. Not all kinds of leadership call it. Only before `gained`.
    std::function<void(const std::optional<MasterPlace>& leader)> follows = {};
    // This master has lost the lead, or can never lead. Called once, as the last event; no peer may
    // get a message from then on. May be called within campaign(). Errors: kFailedPrecondition:
    // another master leads; kUnavailable: the session with the ensemble may have expired;
    // kCorruption, kInvalidArgument and others: those of the engine.
    std::function<void(Error why)> lost = {};
  };

  virtual ~Leadership() = default;
  Leadership() = default;
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // `here`: the addresses of this master, which the others publish once it leads. Call it once.
  virtual void campaign(MasterPlace here, Events events) = 0;

  // Whether this master, after `gained`, may still act and send at `now`. False: another master may
  // already lead; `lost` follows. Cheap: it is called before each step and each delivery.
  virtual bool may_serve(Time now) const = 0;

  // The leader's store. Only between `gained` and `lost`.
  virtual Store& store() = 0;

  // The addresses of the present leader; none: unknown, or it is this master.
  virtual std::optional<MasterPlace> other_leader() const = 0;
};

}  // namespace proffer
