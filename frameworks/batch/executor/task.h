#pragma once

// One task of a job, from its work item to its outcome. Blocks; runs beside the executor's
// loop.

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
  std::map<std::string, std::string> environment = {};  // what the agent gave, without our secrets
  std::map<std::string, std::string> devices = {};      // of it: its GPUs, which no job may change
  int64_t sort_bytes = int64_t{64} << 20;               // of memory for sorting
  const std::atomic<bool>* stopped = nullptr;           // set before our children are signalled
  ElementGroup* group = nullptr;                        // of a range: where its commands run
  // Hears each status that the command reports, on another thread.
  std::function<void(const std::string&)> on_task_status = {};
  std::atomic<int64_t>* done = nullptr;  // how far a map or reduce is, of kProgressWhole; note_done
};

// What a map or reduce task goes through, as parts of kProgressWhole. A reduce that fetches has
// most of its work before it.
struct Phase {
  int64_t begin = 0;
  int64_t end = kProgressWhole;
};
inline constexpr Phase kFeedPhase = {0, 9'000};  // of a map: then its output is sorted and written
inline constexpr Phase kFetchPhase = {0, 3'000};
inline constexpr Phase kReducePhase = {3'000, kProgressWhole};
// So much of the work of this phase is done; the scheduler is told now and then.
void note_done(const TaskSetting& setting, const Phase& phase, int64_t part, int64_t whole);

struct TaskOutcome {
  std::optional<TaskResult> result = {};  // it finished
  std::optional<RangeResult> range = {};  // a range did
  std::optional<PlanResult> plan = {};    // a plan task did
  std::string message = {};               // else why it failed, in one line
  TaskFailure failure = {};
};

// Leaves no process of the task behind.
TaskOutcome run_task(const Work& work, const TaskSetting& setting);

// --- its parts ---------------------------------------------------------------------------------

// What goes wrong in a task: an Error, map outputs that cannot be had, or its command.
struct TaskTrouble {
  std::string message = {};
  std::vector<MapAttempt> fetch_failed = {};
  Blame blame = Blame::kAttempt;
};
inline TaskTrouble trouble(const Error& error) { return {.message = error.message()}; }

// "NAME=value" for the user's command: the agent's, LC_ALL=C, what it works on (`split` of a map
// task), the job's, its devices.
std::vector<std::string> command_environment(const WorkCommon& common, const TaskSetting& setting,
                                             const Split* split = nullptr);
// The same for a command of an array: without LC_ALL and what it works on.
std::map<std::string, std::string> element_environment(const WorkCommon& common,
                                                       const TaskSetting& setting);
// Of a command that has ended; nothing if its exit code is one with which its work is done.
// `what` as in "the mapper".
std::optional<TaskTrouble> trouble_of(std::string_view what, const ExitStatus& status,
                                      const WorkCommon& common);
// In the sandbox, for what a task makes and nobody else reads.
std::string scratch_directory(const TaskSetting& setting);
// Errors: kUnavailable from the system.
Result<void> make_scratch_directory(const TaskSetting& setting);
// A directory gets another name, unless something has that. Errors: kAlreadyExists, kNotFound,
// kUnavailable.
Result<void> move_directory(const std::string& from, const std::string& to);
// Makes the job's plan, if it awaits that, and moves its directory to its place (core/plan.h). If
// that is done, tells again what the plan says.
std::optional<TaskTrouble> make_plan(const PlanWork& work, PlanResult& result);
// A directory, and a path to it that stays right if it gets another name while it is open. Errors:
// kUnavailable from the system.
Result<Fd> open_directory(const std::string& path);
std::string path_of(const Fd& directory);
// Removes what a job whose plan is gone has left in its output, unless another job's plan is there.
void remove_scratch(const std::string& output);
// An entry of the job's plan. Errors: kNotFound, kUnavailable, kCorruption.
Result<std::string> read_plan(const WorkCommon& common, uint32_t entry);
// The shipped files, executable, into the sandbox. Errors: kNotFound and kCorruption for a plan or
// a copy that is gone or was changed; kUnavailable from the system.
Result<void> write_files(const WorkCommon& common, const TaskSetting& setting);

// All that `from` gives becomes this task's part of the output, aside at first, each line with its
// newline; counted in records_out and bytes_out. Errors: kUnavailable from the system.
Result<void> write_part(const WorkCommon& common, const TaskSetting& setting, int from,
                        TaskResult& result);
// Puts the part in place atomically. The first attempt that commits a part wins; later ones are
// dropped.
Result<void> commit_part(const WorkCommon& common, const TaskSetting& setting);

// All parts are there: moves them to where they belong, writes _SUCCESS and removes _temporary;
// does nothing of that if it is done. Errors: kFailedPrecondition names a part that is not there,
// kAlreadyExists: something else is where they belong.
Result<void> commit_output(const EndWork& work);
// These two do nothing to a directory without the job's plan: it is not, or no longer, this job's.
// Moves what is there to `place`. Errors: kAlreadyExists, kUnavailable.
Result<void> set_output_aside(const EndWork& work);
// Removes the directory with all that is in it. Errors: kUnavailable names what cannot be removed.
Result<void> remove_output(const EndWork& work);

// An array's elements, one after the other, as many as there is time for.
std::optional<TaskTrouble> run_range(const RangeWork& work, const TaskSetting& setting,
                                     RangeResult& result);
// Makes OUTPUT/index.tsv (core/results.h), and _SUCCESS if the work says so; removes _temporary. If
// that is done, does nothing. Errors: kFailedPrecondition if results are missing.
Result<void> gather(const GatherWork& work, TaskResult& result);

std::optional<TaskTrouble> run_map(const MapWork& work, const TaskSetting& setting, int stderr_fd,
                                   TaskResult& result);
std::optional<TaskTrouble> run_reduce(const ReduceWork& work, const TaskSetting& setting,
                                      int stderr_fd, TaskResult& result);

}  // namespace proffer::batch
