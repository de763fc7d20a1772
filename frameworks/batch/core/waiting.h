#pragma once

// What a job waits for: how other jobs end. A pipeline is several jobs, its stages, that are
// submitted together and wait for each other; they share its id and are jobs like any others.

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

// Each maximum with its reason.
inline constexpr size_t kStagesMax = 50;          // a pipeline is kept by one request to the store
inline constexpr size_t kDependenciesMax = 20;    // they are told with each picture of the job
inline constexpr size_t kStageNameBytesMax = 40;  // it is part of the job's id
inline constexpr size_t kPipelineNameBytesMax = 40;  // so is this
// What stages say together is sent as one request.
inline constexpr size_t kSubmissionBytesMax = kOrderBytesMax;

// How another job is to end.
enum class Condition : uint8_t {
  kFinished,  // its work is done
  kFailed,    // it failed or was cancelled
  kEnded,     // in whatever way
  kEach,      // both are arrays: element i waits for element i of the other one (jobs_each.cc)
};
std::string_view to_text(Condition condition);  // "finished", "failed", "ended", "each"

enum class Fate : uint8_t {
  kOpen,
  kMet,
  kNever,
};
std::string_view to_text(Fate fate);  // "open", "met", "never"

// By a phase in which a job has ended. A job that was skipped has not failed: it has only ended.
// With kEach this is about the job: that it may begin, and look at elements.
Fate fate_of(Condition condition, proto::BatchPhase ended);

struct Dependency {
  JobId job = {};
  Condition on = Condition::kFinished;
  Fate fate = Fate::kOpen;
  bool operator==(const Dependency&) const = default;
};

// Of a job that waits, or has waited, or is a stage, or was started by a schedule.
struct Waiting {
  std::string pipeline = {};  // its id; empty: the job is no stage
  std::string stage = {};
  std::vector<Dependency> after = {};
  bool takes_any = false;   // it begins once one of them is met; else once all are
  bool is_planned = false;  // its directory is in its place
  // Of a job that a schedule has started: its name, and the directory of the plan that the first
  // task makes a copy of (schedule.h).
  std::string schedule = {};
  std::string model = {};
  bool operator==(const Waiting&) const = default;
};

// Whether it may begin, or never may. What waits for nothing may.
Fate verdict(const Waiting& waiting);
// "etl-clean-8 to finish": what is still open, or with kNever what can never be met any more.
std::string waits_for(const Waiting& waiting, Fate fate);

std::string encode(const Waiting& waiting);
// Errors: kCorruption, for anything that encode() does not make.
Result<Waiting> decode_waiting(std::string_view bytes);

// --- submissions -------------------------------------------------------------------------------

struct StageDependency {
  std::string job = {};  // a stage of the same pipeline, or a job that there is
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
  std::string pipeline = {};  // its name; empty: it is one job, without the name of a stage
  std::vector<StageOrder> stages = {};
  bool operator==(const Submission&) const = default;
};

// A submission comes from a process of a user: it is hostile until this has looked at it. Errors:
// kInvalidArgument.
Result<void> check_submission(const Submission& submission);
// The same of what stages wait for, before they have orders: names and dependencies only.
Result<void> check_stages(const Submission& submission);
// Whether the elements of one array can wait for those of the other, as far as that is known: the
// size of one that is planned in the cluster is not. Errors: kInvalidArgument, kFailedPrecondition.
Result<void> check_each(const JobOrder& order, const std::string& other_name,
                        const JobOrder& other);
Error other_size(uint32_t size, const std::string& other_name, int64_t other);

std::string encode_submission(const Submission& submission);
bool is_submission(std::string_view bytes);
// Errors: kCorruption if it is none; as check_submission if it is one that cannot be.
Result<Submission> decode_submission(std::string_view bytes);

}  // namespace proffer::batch
