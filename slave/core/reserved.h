#pragma once

// Parts of this agent that its flag reserves for a role.

#include <map>
#include <string_view>
#include <vector>

#include "common/offers.h"

namespace proffer::agent {

using ReservedByRole = std::map<RoleName, ResourceVector>;

// "ads=cpus:1;mem:1GiB,batch=cpus:2"; empty text: nothing. Errors: kInvalidArgument names the wrong
// part.
Result<ReservedByRole> parse_reserved(std::string_view text);

// Splits the agent's total into slices: one per role, in their order, and the rest, without ports
// and without empty slices. Errors: kInvalidArgument: the total has too little for a role.
Result<std::vector<Slice>> to_slices(const Resources& total, const ReservedByRole& reserved);

}  // namespace proffer::agent
