#pragma once

// What an agent tells of itself, and of what its tasks use.

#include <string>

#include "cli/file_places.h"
#include "cli/http_questions.h"
#include "common/ids.h"
#include "common/result.h"

namespace proffer::cli {

// Asks the agent what tasks of the framework use; the answer is a status (proto::AgentStatus), of a
// machine beyond the master's with the executors of that framework alone. `http_address`: as the
// master says of the agent. Blocks while the master is asked for the way. Errors: as
// FilePlaces::find.
Result<HttpQuestion> usage_question(FilePlaces& places, const FrameworkId& framework,
                                    const AgentId& agent, const std::string& http_address);

}  // namespace proffer::cli
