#pragma once

// One task of a job, from its work item to its outcome. It blocks, and runs beside the executor's
// event loop.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/element.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/sources.h"

namespace proffer::batch {

struct TaskSetting {
  std::string framework = {};
  std::string task = {};     // the task's id
  std::string sandbox = {};  // absolute; the working directory
  OwnAgent agent = {};
  std::map<std::string, std::string> environment = {};  // from the agent, without our secrets
  std::map<std::string, std::string> devices = {};      // its GPUs, which no job may change
  int64_t sort_bytes = int64_t{64} << 20;               // of memory for sorting
  const std::atomic<bool>* stopped = nullptr;           // set before our children are signalled
  ElementGroup* group = nullptr;                        // for a range: runs its commands
  Duration grace = kKillGrace;                          // of a command after its timeout
  // Receives each status that the command reports, on another thread.
  std::function<void(const std::string&)> on_task_status = {};
  std::atomic<int64_t>* done = nullptr;  // progress, of kProgressWhole; see note_done
};

// The phases of a map or reduce task, as parts of kProgressWhole. A reduce that fetches still has
// most of its work to do.
struct Phase {
  int64_t begin = 0;
  int64_t end = kProgressWhole;
};
inline constexpr Phase kFeedPhase = {0, 9'000};  // of a map, before its output is sorted
inline constexpr Phase kFetchPhase = {0, 3'000};
inline constexpr Phase kReducePhase = {3'000, kProgressWhole};
// Notes the progress in this phase; it is reported to the scheduler now and then.
void note_done(const TaskSetting& setting, const Phase& phase, int64_t part, int64_t whole);

struct TaskOutcome {
  std::optional<TaskResult> result = {};  // it finished
  std::optional<RangeResult> range = {};  // for a finished range
  std::optional<PlanResult> plan = {};    // for a finished plan task
  std::string message = {};               // else the reason of the failure, in one line
  TaskFailure failure = {};
};

// Leaves no process of the task behind.
TaskOutcome run_task(const Work& work, const TaskSetting& setting);

// --- its parts ---------------------------------------------------------------------------------

// A failure in a task: an Error, map outputs that could not be fetched, or its command.
struct TaskTrouble {
  std::string message = {};
  std::vector<MapAttempt> fetch_failed = {};
  Blame blame = Blame::kAttempt;
};
inline TaskTrouble trouble(const Error& error) { return {.message = error.message()}; }

// "NAME=value" for the user's command: the agent's variables, LC_ALL=C, its input (`split` of a map
// task), the job's variables, its devices.
std::vector<std::string> command_environment(const WorkCommon& common, const TaskSetting& setting,
                                             const Split* split = nullptr);
// The same for a command of an array, without LC_ALL and the input, and with the variables of the
// shell that submitted it.
std::map<std::string, std::string> element_environment(const WorkCommon& common,
                                                       const TaskSetting& setting,
                                                       const proto::Environment& exported);
// The failure of an ended command; none if its exit code is accepted. `what` as in "the mapper".
std::optional<TaskTrouble> trouble_of(std::string_view what, const ExitStatus& status,
                                      const WorkCommon& common);
// A directory in the sandbox for files that only this task uses.
std::string scratch_directory(const TaskSetting& setting);
// Errors: kUnavailable from the system.
Result<void> make_scratch_directory(const TaskSetting& setting);
// Renames a directory, unless the new name exists. Errors: kAlreadyExists, kNotFound, kUnavailable.
Result<void> move_directory(const std::string& from, const std::string& to);
// Makes the job's plan if the job awaits it, and moves the job's directory to its place
// (core/plan.h). If that is done already, returns the plan's result again.
std::optional<TaskTrouble> make_plan(const PlanWork& work, PlanResult& result);
// A directory, and a path to it that stays valid if it is renamed while it is open. Errors:
// kUnavailable from the system.
Result<Fd> open_directory(const std::string& path);
std::string path_of(const Fd& directory);
// Removes the leftovers of a job without a plan from its output, unless another job's plan is
// there.
void remove_scratch(const std::string& output);
// An entry of the job's plan. Errors: kNotFound, kUnavailable, kCorruption.
Result<std::string> read_plan(const WorkCommon& common, uint32_t entry);
// The variables of the shell that submitted the job; none if it exported none. Errors: as
// read_plan().
Result<proto::Environment> read_exported(const WorkCommon& common);
// Writes the shipped files, executable, into the sandbox. Errors: kNotFound and kCorruption for a
// plan or a copy that is gone or was changed; kUnavailable from the system.
Result<void> write_files(const WorkCommon& common, const TaskSetting& setting);

// Writes all of `from` as this task's part of the output, at first under a temporary name, each
// line with its newline; counts it in records_out and bytes_out. Errors: kUnavailable from the
// system.
Result<void> write_part(const WorkCommon& common, const TaskSetting& setting, int from,
                        TaskResult& result);
// Puts the part in place atomically. The first attempt that commits a part wins; later ones are
// dropped.
Result<void> commit_part(const WorkCommon& common, const TaskSetting& setting);

// All parts exist: moves them to their place, writes _SUCCESS and removes _temporary. Does nothing
// if that is done. Errors: kFailedPrecondition names a part that is missing; kAlreadyExists: the
// place is taken.
Result<void> commit_output(const EndWork& work);
// These two do nothing to a directory without the job's plan, since it is not, or no longer, this
// job's. Moves the existing output to `place`. Errors: kAlreadyExists, kUnavailable.
Result<void> set_output_aside(const EndWork& work);
// Removes the directory with its contents. Errors: kUnavailable names the file that cannot be
// removed.
Result<void> remove_output(const EndWork& work);

// Runs an array's elements, one after the other, as many as there is time for.
std::optional<TaskTrouble> run_range(const RangeWork& work, const TaskSetting& setting,
                                     RangeResult& result);
// Makes OUTPUT/index.tsv (core/results.h), and _SUCCESS if the work says so; removes _temporary.
// Does nothing if that is done. Errors: kFailedPrecondition if results are missing.
Result<void> gather(const GatherWork& work, TaskResult& result);

std::optional<TaskTrouble> run_map(const MapWork& work, const TaskSetting& setting, int stderr_fd,
                                   TaskResult& result);
std::optional<TaskTrouble> run_reduce(const ReduceWork& work, const TaskSetting& setting,
                                      int stderr_fd, TaskResult& result);

}  // namespace proffer::batch
