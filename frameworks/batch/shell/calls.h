#pragma once

// Requests of the command line to the scheduler, through the master, and the printing of answers
// and errors.

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/shell/commands.h"
#include "net/terminal.h"
#include "proto/json/batch_json.h"

namespace proffer::batch {

// How long the command waits for an answer.
inline constexpr Duration kAnswerMax = seconds(10);

inline constexpr int kRefusedCode = 1;
inline constexpr int kUsageCode = 2;
inline constexpr int kUnreachableCode = 3;

// Errors: the scheduler's; kUnavailable and kTimeout if the master or the scheduler stayed away
// during all retries (`patience`). Each has a hint.
Result<std::string> ask(const CommandOptions& options, const proto::BatchCall& call,
                        const RoleName& role = {}, Duration patience = {});
Result<proto::BatchJob> ask_for_job(const CommandOptions& options, const proto::BatchCall& call,
                                    const RoleName& role = {}, Duration patience = {});
// All pages, oldest job first: all jobs, or the stages of a pipeline.
Result<std::vector<proto::BatchJob>> ask_for_list(const CommandOptions& options, bool with_ended,
                                                  const std::string& pipeline = {},
                                                  Duration patience = {});

// Sleeps between two requests that are repeated until the answer has changed.
void wait_a_moment();

// True if the request got no answer.
bool is_away(const Error& error);
// Returns the exit code.
int print_answer(const Error& error, bool json);

}  // namespace proffer::batch
