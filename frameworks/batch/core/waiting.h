#pragma once

// The conditions that a job waits for: the ends of other jobs. A pipeline is several jobs, its
// stages, that are submitted together and wait for each other. They share its id, and are otherwise
// ordinary jobs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/work.h"
#include "proto/batch_status.h"

namespace proffer::batch {

// Each maximum, with its reason.
inline constexpr size_t kStagesMax = 50;             // one request to the store stores a pipeline
inline constexpr size_t kDependenciesMax = 20;       // they are in each status of the job
inline constexpr size_t kStageNameBytesMax = 40;     // it is part of the job's id
inline constexpr size_t kPipelineNameBytesMax = 40;  // so is this
// All stages together are sent as one request.
inline constexpr size_t kSubmissionBytesMax = kOrderBytesMax;

// The required end of another job.
enum class Condition : uint8_t {
  kFinished,  // it finished
  kFailed,    // it failed or was cancelled
  kEnded,     // it ended in any way
  kEach,      // both are arrays: element i waits for element i of the other (jobs_each.cc)
};
std::string_view to_text(Condition condition);  // "finished", "failed", "ended", "each"

enum class Fate : uint8_t {
  kOpen,
  kMet,
  kNever,
};
std::string_view to_text(Fate fate);  // "open", "met", "never"

// The fate for a phase in which a job has ended. A skipped job has not failed; it has only ended.
// With kEach this is about the job: it may begin, and check its elements.
Fate fate_of(Condition condition, proto::BatchPhase ended);

struct Dependency {
  JobId job = {};
  Condition on = Condition::kFinished;
  Fate fate = Fate::kOpen;
  bool operator==(const Dependency&) const = default;
};

// For a job that waits or has waited, is a stage, or was started by a schedule.
struct Waiting {
  std::string pipeline = {};  // id of its pipeline; empty: the job is not a stage
  std::string stage = {};
  std::vector<Dependency> after = {};
  bool takes_any = false;   // it begins when one of the conditions is met; else when all are
  bool is_planned = false;  // its directory is at its final place
  // For a job that a schedule has started: the schedule's name, and the directory of the plan that
  // the first task copies (schedule.h).
  std::string schedule = {};
  std::string model = {};
  bool operator==(const Waiting&) const = default;
};

// Whether the job may begin, or never may. A job without conditions may.
Fate verdict(const Waiting& waiting);
// "etl-clean-8 to finish": the conditions that are open, or with kNever those that can never be
// met.
std::string waits_for(const Waiting& waiting, Fate fate);

std::string encode(const Waiting& waiting);
// Errors: kCorruption, for any bytes that encode() does not make.
Result<Waiting> decode_waiting(std::string_view bytes);

// --- submissions -------------------------------------------------------------------------------

struct StageDependency {
  std::string job = {};  // a stage of the same pipeline, or an existing job
  Condition on = Condition::kFinished;
  bool operator==(const StageDependency&) const = default;
};

struct StageOrder {
  std::string stage = {};
  JobOrder order = {};
  std::vector<StageDependency> after = {};
  bool takes_any = false;
  bool operator==(const StageOrder&) const = default;
};

// One job that waits for others, or a pipeline.
struct Submission {
  std::string pipeline = {};  // its name; empty: a single job, without a stage name
  std::vector<StageOrder> stages = {};
  bool operator==(const Submission&) const = default;
};

// Checks a submission, which comes from a user's process and may be hostile. Errors:
// kInvalidArgument.
Result<void> check_submission(const Submission& submission);
// Checks only names and dependencies, before the stages have orders.
Result<void> check_stages(const Submission& submission);
// Checks that the elements of one array can wait for those of the other, as far as is known: the
// size of an array that is planned in the cluster is not. Errors: kInvalidArgument,
// kFailedPrecondition.
Result<void> check_each(const JobOrder& order, const std::string& other_name,
                        const JobOrder& other);
Error other_size(uint32_t size, const std::string& other_name, int64_t other);

std::string encode_submission(const Submission& submission);
bool is_submission(std::string_view bytes);
// Errors: kCorruption if the bytes are not a submission; those of check_submission if it is not
// valid.
Result<Submission> decode_submission(std::string_view bytes);

}  // namespace proffer::batch
