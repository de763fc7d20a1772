#pragma once

// The status of an agent, and the use of its tasks.

#include <string>

#include "cli/file_places.h"
#include "cli/http_questions.h"
#include "common/ids.h"
#include "common/result.h"

namespace proffer::cli {

// The question to the agent for the use of the framework's tasks. The answer is a status
// (proto::AgentStatus); from another machine than the master's it has only the executors of that
// framework. `http_address`: the master's value for the agent. Blocks while it asks the master for
// the address. Errors: as FilePlaces::find.
Result<HttpQuestion> usage_question(FilePlaces& places, const FrameworkId& framework,
                                    const AgentId& agent, const std::string& http_address);

}  // namespace proffer::cli
