#pragma once

// Questions of the command line to the scheduler, through the master, and how answers and errors
// are shown.

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/shell/commands.h"
#include "net/terminal.h"
#include "proto/json/batch_json.h"

namespace proffer::batch {

// So long an answer is waited for.
inline constexpr Duration kAnswerMax = seconds(10);

inline constexpr int kRefusedCode = 1;
inline constexpr int kUsageCode = 2;
inline constexpr int kUnreachableCode = 3;

// Errors: the scheduler's; kUnavailable and kTimeout if a master or scheduler that is away was
// asked again for so long (`patience`) in vain; each with what to do.
Result<std::string> ask(const CommandOptions& options, const proto::BatchCall& call,
                        const RoleName& role = {}, Duration patience = {});
Result<proto::BatchJob> ask_for_job(const CommandOptions& options, const proto::BatchCall& call,
                                    const RoleName& role = {}, Duration patience = {});
// All pages, the oldest job first; of all jobs, or of the stages of a pipeline.
Result<std::vector<proto::BatchJob>> ask_for_list(const CommandOptions& options, bool with_ended,
                                                  const std::string& pipeline = {},
                                                  Duration patience = {});

// Sleeps between two questions that are asked until the answer has changed.
void wait_a_moment();

// What was asked got no answer.
bool is_away(const Error& error);
// Returns the exit code.
int print_answer(const Error& error, bool json);

}  // namespace proffer::batch
