// proffer batch logs: finds the attempt, and runs `proffer logs` for the rest.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/shell/calls.h"
#include "proto/json/json.h"
#include "sdk/shell/master_call.h"

namespace proffer::batch {
namespace {

// "map-3", "map-00003-2": the attempt is 0 if none is named.
std::optional<TaskName> parse_task(const JobId& job, std::string_view given) {
  const std::vector<std::string_view> words = split(given, '-');
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  constexpr int64_t kMax = std::numeric_limits<uint32_t>::max();
  const auto number = parse_whole("number", words[1], 0, kMax);
  const auto attempt = words.size() == 3 ? parse_whole("attempt", words[2], 1, kMax) : 0;
  if (!number || !attempt) return std::nullopt;
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce, TaskKind::kEnd}) {
    if (to_text(kind) != words[0]) continue;
    return TaskName{.job = job,
                    .kind = kind,
                    .number = static_cast<uint32_t>(*number),
                    .attempt = static_cast<uint32_t>(*attempt)};
  }
  return std::nullopt;
}

// The last attempt that was launched, among those that the master knows.
Result<TaskId> last_attempt(const CommandOptions& options, const proto::BatchJob& job,
                            TaskName name) {
  name.attempt = 1;
  std::string prefix = to_task_id(name).str();
  prefix.pop_back();
  const Result<Masters> masters = sdk::masters_at(options.master);
  if (!masters) return masters.error();
  const Result<sdk::MasterReply> answer = sdk::call_master(
      *masters, "tasks",
      proto::task_query_json({.prefix = text(job.framework.str(), "/", prefix), .ended = true}),
      kAnswerMax);
  if (!answer) return answer.error();
  const Result<std::vector<proto::TaskRow>> rows = proto::parse_tasks(answer->json);
  if (!rows) return Error(rows.error()).in("the master's answer");
  std::optional<TaskName> last;
  for (const proto::TaskRow& row : *rows) {
    const std::optional<TaskName> one = parse_task_id(row.task);
    if (one && (!last || one->attempt > last->attempt)) last = one;
  }
  if (last) return to_task_id(*last);
  return Error::not_found(
             text("the master knows no attempt of task ", prefix.substr(0, prefix.size() - 1)))
      .with_hint(
          "the task has not started, or ended long ago; list tasks with proffer tasks --all");
}

Result<TaskId> find_attempt(const CommandOptions& options, const proto::BatchJob& job,
                            const std::string& task) {
  // Output that is not this user's is not shown.
  if (job.output.empty()) {
    return Error::permission_denied(
               text("job ", quoted(job.job), " belongs to user ", quoted(job.owner)))
        .with_hint("only that user and operators may see the output of its tasks");
  }
  if (job.array) {
    return Error::failed_precondition(
               text("job ", quoted(job.job), " is an array: its output is in its results"))
        .with_hint(text("see the output of ended elements with: proffer batch results ", job.job,
                        "; of failed ones with --failed --stderr, when the job has ended"));
  }
  if (task.empty()) {
    if (!job.failed_task.empty()) return TaskId(job.failed_task);
    return Error::not_found(text("no task of job ", quoted(job.job), " has failed"))
        .with_hint(text("name a task, for example: proffer batch logs ", job.job, " map-0"));
  }
  const std::optional<TaskName> name = parse_task(JobId(job.job), task);
  if (!name) {
    return Error::invalid_argument(text(quoted(task), " is not a task of a job"))
        .with_hint("write map-3 or reduce-0; map-3-2 is the second attempt");
  }
  if (name->attempt == 0) return last_attempt(options, job, *name);
  return to_task_id(*name);
}

// The program `proffer` is beside this one.
std::string proffer_program() {
  const char* variable = std::getenv("PROFFER_BIN_DIR");
  if (variable != nullptr && *variable != '\0') return text(variable, "/proffer");
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "proffer";
}

}  // namespace

int show_logs(const std::string& name, const LogsOptions& logs, const CommandOptions& options) {
  const Result<proto::BatchJob> job = ask_for_job(options, {.verb = "status", .job = name});
  if (!job) return print_answer(job.error(), options.json);
  const Result<TaskId> attempt = find_attempt(options, *job, logs.task);
  if (!attempt) return print_answer(attempt.error(), options.json);
  std::vector<std::string> words = {proffer_program(), "logs", "--master", options.master,
                                    text(job->framework.str(), "/", attempt->str())};
  if (!logs.use_stdout) words.emplace_back("--stderr");
  if (logs.follow) words.emplace_back("--follow");
  if (options.json) words.emplace_back("--json");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv.front(), argv.data());
  return print_error(
      Error::internal(text("cannot start ", quoted(words.front()), ": ", std::strerror(errno))),
      options.json);
}

}  // namespace proffer::batch
