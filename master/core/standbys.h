#pragma once

// The standbys that are connected to this leader, and the masters that have led, as the registry
// keeps them. A reader of the history learns from them which part is missing (ADR 0072).

#include <map>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "proto/masters.h"

namespace proffer::master {

struct Standby {
  proto::StandbyCall says = {};
  PeerId peer = {};
  Time since = {};
  Time heard_at = {};
};

class Standbys {
 public:
  const Standby* find(PeerId peer) const;
  const Standby* find(const proto::MasterId& master) const;
  // The latest connection of a master counts. False: there are kStandbysMax others.
  bool put(const proto::StandbyCall& says, PeerId peer, Time now);
  void erase(const proto::MasterId& master) { all_.erase(master); }
  const std::map<proto::MasterId, Standby>& all() const { return all_; }

 private:
  std::map<proto::MasterId, Standby> all_;
};

// The registry's list once `begins` leads. The leads of the others have ended. Masters whose last
// lead ended before `forgotten` are left out, since no history goes back that far.
std::vector<proto::LedMaster> with_lead(std::vector<proto::LedMaster> led,
                                        const proto::LedMaster& begins, Time forgotten);

}  // namespace proffer::master
