#pragma once

// Role names and their weights.

#include <map>
#include <string_view>

#include "common/ids.h"
#include "common/result.h"

namespace proffer {

// Names of [A-Za-z0-9._-] joined by '/', at most kRoleBytesMax. Errors: kInvalidArgument.
Result<RoleName> parse_role(std::string_view text);

// Milli-weights by role. A role that is not listed has kWeightOne.
using RoleWeights = std::map<RoleName, int64_t>;

// "ads=2,batch=0.5". Errors: kInvalidArgument names the part: no '=', a wrong role or a role given
// twice, a weight outside 0.001 to 1000. Empty text is no weights.
Result<RoleWeights> parse_role_weights(std::string_view text);

}  // namespace proffer
