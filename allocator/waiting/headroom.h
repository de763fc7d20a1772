#pragma once

// Nobody starves below a limit either. In a role that small tasks keep near its limit a large ask
// would never fit, whatever agents are set aside for it. So an ask that has waited for claim_after
// and that is stopped by a limit when its turn comes has room kept for it: below all limits above
// it at once, what others may use is so much less until it is served. keep() is the story.
//
// Where two asks have room kept, the earlier is served first, so no two wait for each other. Two
// have it below one limit only if there is room for both already: it is taken from the others for
// one ask at a time. A guarantee of a role below comes before it.
//
// Where tasks never end, room is kept in vain. So if nothing has ended in such a role for some time
// it is given up, for six times as long, and then kept for twice as long: an ask is served within
// some times the longest task, and what will never be enough is out of use for a seventh of the
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

  // All that it needs at once or nothing, so that no two wait for each other.
  void keep(AskEntry& ask, Time now);
  // Others may use it. (When the ask is served it uses that itself; then nobody finds more.)
  void drop(AskEntry& ask);
  // It was given something. Whether it had room kept.
  bool note_served(AskEntry& ask);
  // The role's limit is another one now.
  void drop_useless(const Role& role);
  void review(Time now);
  std::optional<Time> next_deadline() const;
  void forget(const AskEntry& ask) { kept_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  struct Kept {
    Role* role = nullptr;
    ResourceVector use = {};  // of the role when we last looked at it
  };
  struct Room {
    std::vector<Kept> below = {};  // none: nothing is kept for it
    uint64_t order = 0;            // the earliest is first
    Time review = {};
    Duration patience = {};  // how long nothing may end there; zero: not tried yet
    Time after = {};         // not kept again before this
  };

  bool moves(const AskEntry& ask) const;

  Cluster& cluster_;
  const Claims& claims_;
  AskTable<Room> kept_;
  std::map<uint64_t, AskEntry*> all_;  // asks with room kept, by order
  uint64_t count_ = 0;
};

}  // namespace proffer::fair
