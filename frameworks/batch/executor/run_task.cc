// The common parts of a job's tasks: the sandbox, the environment, standard error, the end. Read
// `run_task` first.

#include <algorithm>

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/text.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "net/process_settings.h"

namespace proffer::batch {
namespace {

std::vector<std::string> to_list(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> list;
  for (const auto& [name, value] : environment) list.push_back(text(name, "=", value));
  return list;
}

// The agent's variables, then the task's id and `own`, then the job's, then its devices: of equal
// names the last one counts.
std::map<std::string, std::string> environment_of(const WorkCommon& common,
                                                  const TaskSetting& setting,
                                                  const std::map<std::string, std::string>& own) {
  std::map<std::string, std::string> environment = setting.environment;
  environment["PROFFER_TASK_ID"] = setting.task;
  for (const auto* table : {&own, &common.env, &setting.devices}) {
    for (const auto& [name, value] : *table) environment[name] = value;
  }
  return environment;
}

}  // namespace

std::map<std::string, std::string> element_environment(const WorkCommon& common,
                                                       const TaskSetting& setting,
                                                       const proto::Environment& exported) {
  std::map<std::string, std::string> environment = environment_of(common, setting, {});
  for (const auto& [name, value] : exported) {
    const bool is_set = common.env.contains(name) || setting.devices.contains(name) ||
                        (name.starts_with("PROFFER_") && environment.contains(name));
    if (!is_set) environment[name] = value;
  }
  return environment;
}

// Uses the names of Hadoop Streaming where there are any.
std::vector<std::string> command_environment(const WorkCommon& common, const TaskSetting& setting,
                                             const Split* split) {
  const std::string number = std::to_string(common.number);
  std::map<std::string, std::string> own = {
      {"LC_ALL", "C"}, {"PROFFER_TASK_INDEX", number}, {"mapreduce_task_partition", number}};
  if (split != nullptr && split->chunks.size() == 1) {
    const Chunk& chunk = split->chunks.front();
    own["mapreduce_map_input_file"] = chunk.path;
    own["mapreduce_map_input_start"] = std::to_string(chunk.offset);
    own["mapreduce_map_input_length"] = std::to_string(chunk.length);
  }
  return to_list(environment_of(common, setting, own));
}

void note_done(const TaskSetting& setting, const Phase& phase, int64_t part, int64_t whole) {
  if (setting.done == nullptr || whole <= 0) return;
  // In thousandths of the phase, so that no product exceeds 63 bits.
  const int64_t share = part >= whole ? 1'000 : part / std::max<int64_t>(whole / 1'000, 1);
  const int64_t done =
      phase.begin + (phase.end - phase.begin) * std::min<int64_t>(share, 1'000) / 1'000;
  setting.done->store(done, std::memory_order_relaxed);
}

std::optional<TaskTrouble> trouble_of(std::string_view what, const ExitStatus& status,
                                      const WorkCommon& common) {
  if (status.ok()) return std::nullopt;
  TaskTrouble trouble{.message = text(what, " ", to_text(status))};
  if (status.signal != 0) return trouble;
  const std::vector<int32_t>& accepts = common.accepts;
  if (std::find(accepts.begin(), accepts.end(), status.code) != accepts.end()) return std::nullopt;
  switch (status.code) {
    case 2:   // used by shells, awk, grep and Python for a command that they cannot parse
    case 64:  // EX_USAGE
      trouble.blame = Blame::kCommand;
      trouble.message += " (usually: the command was used wrongly)";
      break;
    case 126:
      trouble.blame = Blame::kCommand;
      trouble.message += ": it cannot be executed";
      break;
    case 127:
      trouble.blame = Blame::kCommand;
      trouble.message += ": it was not found";
      break;
    default:
      break;
  }
  return trouble;
}

std::string scratch_directory(const TaskSetting& setting) {
  return text(setting.sandbox, "/.proffer");
}

Result<void> make_scratch_directory(const TaskSetting& setting) {
  const std::string path = scratch_directory(setting);
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return system_error(text("making ", quoted(path)), errno);
}

// The files of an array's results have the file mode mask of the shell that submitted it. Without
// its plan they have the usual one.
void take_mask(const WorkCommon& common) {
  const Result<proto::Environment> exported = read_exported(common);
  if (!exported) return;
  std::vector<std::string> mask;
  for (const auto& [name, value] : *exported) {
    if (name == kUmaskVariable) mask.push_back(text(name, "=", value));
  }
  apply_settings(mask);
}

TaskOutcome run_task(const Work& work, const TaskSetting& setting) {
  TaskOutcome outcome;
  const auto failed = [&](const Error& error) {
    outcome.message = error.message();
    return outcome;
  };
  if (const auto* end = std::get_if<EndWork>(&work)) {
    take_mask(end->common);
    const Result<void> done = end->kind == EndWork::Kind::kCommit     ? commit_output(*end)
                              : end->kind == EndWork::Kind::kSetAside ? set_output_aside(*end)
                                                                      : remove_output(*end);
    if (!done) return failed(done.error());
    outcome.result.emplace();
    return outcome;
  }
  if (const auto* last = std::get_if<GatherWork>(&work)) {
    take_mask(last->common);
    TaskResult result;
    if (Result<void> done = gather(*last, result); !done) return failed(done.error());
    outcome.result = std::move(result);
    return outcome;
  }
  if (const auto* plan = std::get_if<PlanWork>(&work)) {
    PlanResult result;
    if (std::optional<TaskTrouble> trouble = make_plan(*plan, result)) {
      outcome.message = std::move(trouble->message);
      outcome.failure.blame = trouble->blame;
    } else {
      outcome.plan = result;
    }
    return outcome;
  }
  if (const auto* range = std::get_if<RangeWork>(&work)) {
    if (Result<void> ok = write_files(range->common, setting); !ok) return failed(ok.error());
    RangeResult result;
    if (std::optional<TaskTrouble> trouble = run_range(*range, setting, result)) {
      outcome.message = std::move(trouble->message);
    } else {
      outcome.range = std::move(result);
    }
    return outcome;
  }
  const auto* map = std::get_if<MapWork>(&work);
  const WorkCommon& common = map != nullptr ? map->common : std::get<ReduceWork>(work).common;
  if (Result<void> ok = write_files(common, setting); !ok) {
    const ErrorCode code = ok.error().code();
    const bool is_gone = code == ErrorCode::kNotFound || code == ErrorCode::kCorruption;
    if (is_gone) outcome.failure.blame = Blame::kJob;
    return failed(ok.error());
  }
  Result<Pipe> errors = make_pipe();
  if (!errors) return failed(errors.error());
  const Shuffle& shuffle = map != nullptr ? map->shuffle : std::get<ReduceWork>(work).shuffle;
  StderrTail tail(std::move(errors->read), kStderrTailBytesMax, shuffle.is_packed,
                  setting.on_task_status);

  TaskResult result;
  std::optional<TaskTrouble> trouble =
      map != nullptr ? run_map(*map, setting, errors->write.get(), result)
                     : run_reduce(std::get<ReduceWork>(work), setting, errors->write.get(), result);
  // Background processes of the command could hold the pipe open forever.
  signal_group(SIGKILL);
  errors->write.reset();
  outcome.failure.stderr_tail = tail.join();
  if (trouble) {
    outcome.message = std::move(trouble->message);
    outcome.failure.fetch_failed = std::move(trouble->fetch_failed);
    outcome.failure.blame = trouble->blame;
  } else {
    result.counters = tail.counters();
    outcome.result = std::move(result);
  }
  return outcome;
}

}  // namespace proffer::batch
