#pragma once

// The status of an agent, as its HTTP server gives it.

#include <optional>
#include <string>

#include "proto/status.h"

namespace proffer::cli {

// Blocks for some seconds at most. Nothing: the agent does not answer.
std::optional<proto::AgentStatus> ask_agent(const std::string& http_address);

}  // namespace proffer::cli
