#include "common/principal.h"

namespace proffer {

std::string audit_name(const Principal* by) {
  if (by == nullptr) return "?";
  if (by->may_only_join) return "join-token";
  if (by->is_master) return "master";
  return by->agent.empty() ? by->user : "agent:" + by->agent.str();
}

}  // namespace proffer
