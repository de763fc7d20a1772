#include "proto/masters.h"

#include "common/check.h"

namespace proffer::proto {

std::string_view to_text(MasterRole role) {
  switch (role) {
    case MasterRole::kLeads:
      return "leads";
    case MasterRole::kStandby:
      return "standby";
    case MasterRole::kAway:
      return "away";
  }
  LOG(FATAL) << "role of a master " << static_cast<int>(role);
  return {};
}

std::optional<MasterRole> parse_master_role(std::string_view text) {
  for (const MasterRole role : {MasterRole::kLeads, MasterRole::kStandby, MasterRole::kAway}) {
    if (to_text(role) == text) return role;
  }
  return std::nullopt;
}

}  // namespace proffer::proto
