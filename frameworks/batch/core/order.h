#pragma once

// The part of a JobSpec that a scheduler needs. The rest, which only its tasks read, is in the
// job's plan (plan.h). The CLI makes and sends the order, and the scheduler stores it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/result.h"
#include "frameworks/batch/core/job.h"
#include "frameworks/batch/core/locality.h"
#include "frameworks/batch/core/splits.h"
#include "frameworks/batch/core/work.h"
#include "proto/messages.h"

namespace proffer::batch {

struct JobOrder {
  std::string name = {};
  RoleName role = {};  // the role that is charged; empty: the scheduler chooses
  Band band = Band::kBatch;
  int32_t priority = 0;
  std::string map = {};
  std::string reduce = {};  // empty if there are no reducers
  std::vector<int32_t> map_accepts = {};
  std::vector<int32_t> reduce_accepts = {};
  std::string output = {};
  std::string plan = {};  // name of its plan
  int64_t maps = 0;       // at least one, once the job is planned
  int64_t reducers = 0;
  int64_t input_bytes = 0;
  Shuffle shuffle = {};
  std::vector<proto::FetchedFile> fetch = {};
  proto::Environment env = {};
  ResourceVector resources = {};
  int32_t attempts = kAttempts;
  Duration time_limit = {};
  bool fail_if_impossible = false;
  bool speculates = true;
  Locality locality = {};
  // The job is an array: it has no map and no reduce, and `maps` is the number of the plan's
  // entries with arguments.
  std::optional<ArrayOrder> array = {};

  // Its input is not known yet: its first task makes the plan (plan.h).
  bool awaits_plan() const {
    return array ? array->has_arguments && array->indices.empty() : maps == 0;
  }
  int64_t parts() const { return reducers > 0 ? reducers : maps; }
  bool operator==(const JobOrder&) const = default;
};

// The most bytes of an order: it is stored as one entry of the store, and sent as one request.
inline constexpr size_t kOrderBytesMax = 120 * 1024;

// Without splits, or without indices of an array, for a job that awaits its plan.
JobOrder make_order(const JobSpec& spec, const std::vector<Split>& splits, std::string plan);
// The order of a job that awaited its plan, with the plan's result. Errors: as check_order.
Result<JobOrder> planned_order(JobOrder order, const PlanResult& plan);

// Checks an order, which comes from a user's process and may be hostile. Errors: kInvalidArgument.
Result<void> check_order(const JobOrder& order);

std::string encode_order(const JobOrder& order);
// Errors: kCorruption if the bytes are not an order; those of check_order if it is not valid.
Result<JobOrder> decode_order(std::string_view bytes);

}  // namespace proffer::batch
