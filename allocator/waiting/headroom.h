#pragma once

// Prevents starvation below a limit. In a role that small tasks keep near its limit a large ask
// would never fit, regardless of agents set aside for it. So if an ask that has waited for
// claim_after meets a limit when its turn comes, room is kept for it below all limits above it at
// the same time: other asks may use that much less until it is served. Begin with keep().
//
// If two asks have room kept, the earlier is served first, so they do not block each other. Two
// asks have room below one limit only if both fit there: room is collected for one ask at a time. A
// guarantee of a lower role takes precedence over the room.
//
// If tasks never end, room is kept in vain. So if nothing ends in such a role for some time, the
// room is given up for six times as long, and then kept for twice as long: an ask is served within
// some multiple of the longest task, and room that never suffices is unused for a seventh of the
// time.

#include <map>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Claims;

class Headroom {
 public:
  Headroom(Cluster& cluster, const Claims& claims) : cluster_(cluster), claims_(claims) {}

  // Keeps all the room that the ask needs, or none, so that asks do not block each other.
  void keep(AskEntry& ask, Time now);
  // Releases the room for others. (When the ask is served it uses the room itself; then no other
  // ask gets more.)
  void drop(AskEntry& ask);
  // The ask got resources. Returns whether it had room kept.
  bool note_served(AskEntry& ask);
  // The role's limit has changed.
  void drop_useless(const Role& role);
  void review(Time now);
  std::optional<Time> next_deadline() const;
  void forget(const AskEntry& ask) { kept_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  struct Kept {
    Role* role = nullptr;
    ResourceVector use = {};  // the role's use at the last review
  };
  struct Room {
    std::vector<Kept> below = {};  // empty: no room is kept for it
    uint64_t order = 0;            // earlier asks have lower numbers
    Time review = {};
    // the time without an end after which room is given up; zero: not tried yet
    Duration patience = {};
    Time after = {};  // no room is kept again before this
  };

  bool moves(const AskEntry& ask) const;

  Cluster& cluster_;
  const Claims& claims_;
  AskTable<Room> kept_;
  std::map<uint64_t, AskEntry*> all_;  // asks with room kept, by order
  uint64_t count_ = 0;
};

}  // namespace proffer::fair
