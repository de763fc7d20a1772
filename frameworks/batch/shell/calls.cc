#include "frameworks/batch/shell/calls.h"

#include <chrono>
#include <thread>

#include "common/text.h"
#include "proto/json/json.h"
#include "sdk/request.h"

namespace proffer::batch {
namespace {

bool says(const Error& error, std::string_view words) {
  return error.message().find(words) != std::string::npos;
}

// The master knows no framework of the scheduler's name or id.
bool has_no_scheduler(const Error& error) {
  return error.code() == ErrorCode::kNotFound && says(error, "no framework");
}

}  // namespace

void wait_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

Result<std::string> ask(const CommandOptions& options, const proto::BatchCall& call,
                        const RoleName& role, Duration patience) {
  Result<std::string> answer = sdk::request({.master = options.master,
                                             .framework = options.framework,
                                             .role = role,
                                             .timeout = kAnswerMax + call.wait,
                                             .patience = patience},
                                            proto::batch_call_json(call));
  if (answer) return answer;
  if (has_no_scheduler(answer.error())) {
    return std::move(answer).error().with_hint(
        "start the scheduler with `proffer batch scheduler --session-file FILE` (proffer dev and "
        "the installed package do so), or name another with --framework");
  }
  if (is_away(answer.error()) && !says(answer.error(), "cannot reach a master")) {
    return std::move(answer).error().with_hint(
        "its tasks keep running; start the scheduler again with the same --session-file (proffer "
        "dev and the installed package do so), then try again");
  }
  return answer;
}

Result<proto::BatchJob> ask_for_job(const CommandOptions& options, const proto::BatchCall& call,
                                    const RoleName& role, Duration patience) {
  const Result<std::string> answer = ask(options, call, role, patience);
  if (!answer) return answer.error();
  Result<proto::BatchJob> job = proto::parse_batch_job(*answer);
  if (!job) return std::move(job).error().in("the scheduler's answer");
  return job;
}

Result<std::vector<proto::BatchJob>> ask_for_list(const CommandOptions& options, bool with_ended,
                                                  const std::string& pipeline, Duration patience) {
  std::vector<proto::BatchJob> all;
  std::string after;
  do {
    const Result<std::string> answer =
        ask(options, {.verb = "list", .ended = with_ended, .after = after, .pipeline = pipeline},
            {}, patience);
    if (!answer) return answer.error();
    Result<proto::BatchPage> page = proto::parse_batch_page(*answer);
    if (!page) return std::move(page).error().in("the scheduler's answer");
    for (proto::BatchJob& job : page->jobs) all.push_back(std::move(job));
    after = page->next;
  } while (!after.empty());
  return all;
}

bool is_away(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kTimeout;
}

int print_error(const Error& error, bool json) {
  if (json) {
    print_json(proto::error_json(error), stderr);
  } else {
    print_error_text(error);
  }
  return error.code() == ErrorCode::kInvalidArgument ? kUsageCode : kRefusedCode;
}

int print_answer(const Error& error, bool json) {
  const int code = print_error(error, json);
  return is_away(error) || has_no_scheduler(error) ? kUnreachableCode : code;
}

}  // namespace proffer::batch
