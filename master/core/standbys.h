#pragma once

// The masters that do not lead and are connected to this one, which does; and which masters have
// led, as the registry keeps it. So whoever reads the history knows whose part is missing
// (ADR 0072).

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

// What the registry says once `begins` leads: the leads of others are over, and who led for the
// last time before `forgotten` is left out, since its history has no more of it.
std::vector<proto::LedMaster> with_lead(std::vector<proto::LedMaster> led,
                                        const proto::LedMaster& begins, Time forgotten);

}  // namespace proffer::master
