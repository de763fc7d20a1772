#pragma once

// Parts of this agent that only one role may use, by its flag.

#include <map>
#include <string_view>
#include <vector>

#include "common/offers.h"

namespace proffer::agent {

using ReservedByRole = std::map<RoleName, ResourceVector>;

// "ads=cpus:1;mem:1GiB,batch=cpus:2"; empty text: nothing. Errors: kInvalidArgument names the part.
Result<ReservedByRole> parse_reserved(std::string_view text);

// The agent's total in slices: one for each role, in their order, and the rest; none of zero, and
// without ports. Errors: kInvalidArgument, the total has too little for a role.
Result<std::vector<Slice>> to_slices(const Resources& total, const ReservedByRole& reserved);

}  // namespace proffer::agent
