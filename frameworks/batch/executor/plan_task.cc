// The first task of a job that is planned in the cluster: `make_plan`. Attempts at it may run at
// the same time: the plan of the first one counts, and each of them tells what that says.

#include <filesystem>
#include <system_error>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/text.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/executor/posix.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/input.h"
#include "frameworks/batch/planning/plan_files.h"

namespace proffer::batch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kResultBytesMax = 1'024;

// What nobody can mend by trying again.
TaskTrouble hopeless(const Error& error) {
  return {.message = error.message(), .blame = Blame::kInput};
}

// `made` is a directory that only this attempt knows. `order` is empty unless the job is an array.
std::optional<TaskTrouble> write_plan(const PlanRequest& request, const std::string& order,
                                      const std::string& made) {
  std::vector<Split> splits;
  std::vector<std::string> arguments;
  PlanResult result;
  if (!order.empty()) {
    Result<std::vector<std::string>> found = find_arguments(request.lines_of, request.inputs);
    if (!found) {
      const bool is_too_much = found.error().code() == ErrorCode::kInvalidArgument ||
                               found.error().code() == ErrorCode::kResourceExhausted;
      return is_too_much ? hopeless(found.error()) : trouble(found.error());
    }
    arguments = *std::move(found);
    result.elements = static_cast<int64_t>(arguments.size());
  } else {
    const Result<std::vector<InputFile>> files = find_input(request.inputs, request.allow_empty);
    if (!files) return trouble(files.error());
    Result<std::vector<Split>> cut = make_splits(*files, request.split_bytes, request.by_file);
    if (!cut) return hopeless(cut.error());
    splits = *std::move(cut);
    if (splits.empty()) splits.emplace_back();
    result.maps = static_cast<int64_t>(splits.size());
    for (const Split& split : splits) result.input_bytes += split.bytes();
  }
  if (::mkdir(made.c_str(), 0777) != 0) {
    return trouble(system_error(text("making ", quoted(made)), errno));
  }
  Result<void> ok = write_plan_files(made, splits, arguments, request.files);
  if (ok && !order.empty()) {
    const Result<JobOrder> awaits = decode_order(order);
    if (!awaits || !awaits->awaits_plan()) {
      return hopeless(Error::corruption("the order in the job's plan was changed"));
    }
    const Result<JobOrder> planned = planned_order(*awaits, result);
    if (!planned) return hopeless(planned.error());
    ok = write_whole(made + "/order", encode_order(*planned));
  }
  if (ok) ok = write_whole(made + "/result", encode_plan_result(result));
  if (!ok) return trouble(ok.error());
  return std::nullopt;
}

std::optional<TaskTrouble> plan_in(const std::string& directory, const PlanWork& work) {
  const std::string request_path = directory + "/request";
  const std::string made = made_plan(directory);
  if (!exists(request_path) || exists(made)) return std::nullopt;
  const Result<std::string> bytes = read_file(request_path, kPlanRequestBytesMax);
  if (!bytes) return trouble(bytes.error());
  const Result<PlanRequest> request = decode_plan_request(*bytes);
  if (!request) return hopeless(request.error());
  std::string order;
  if (const std::string path = directory + "/order"; exists(path)) {
    Result<std::string> read = read_file(path, kOrderBytesMax);
    if (!read) return trouble(read.error());
    order = *std::move(read);
  }
  const std::string own = text(made, "-", work.common.attempt);
  std::error_code ignored;
  fs::remove_all(own, ignored);  // of an attempt of this number that an agent has launched twice
  if (auto wrong = write_plan(*request, order, own)) return wrong;
  const Result<void> moved = move_directory(own, made);
  if (!moved && moved.error().code() != ErrorCode::kAlreadyExists) return trouble(moved.error());
  return std::nullopt;
}

}  // namespace

std::optional<TaskTrouble> make_plan(const PlanWork& work, PlanResult& result) {
  const std::string waiting = plan_directory(work.common.output, work.common.plan);
  const std::string placed = plan_directory(work.place, work.common.plan);
  const bool waits = work.common.output != work.place && exists(waiting);
  if (waits) {
    if (auto wrong = plan_in(waiting, work)) return wrong;
    const Result<void> moved = move_directory(work.common.output, work.place);
    // Another attempt may have done it in between.
    if (!moved && (exists(waiting) || !exists(placed))) {
      return moved.error().code() == ErrorCode::kAlreadyExists ? hopeless(moved.error())
                                                               : trouble(moved.error());
    }
  } else if (!exists(placed)) {
    return trouble(Error::not_found(text("there is no plan in ", quoted(work.common.output), " or ",
                                         quoted(work.place),
                                         "; the output directory must be the same on all agents")));
  }
  const std::string told = made_plan(placed) + "/result";
  if (!exists(told)) return std::nullopt;  // Its plan was known before.
  const Result<std::string> bytes = read_file(told, kResultBytesMax);
  if (!bytes) return trouble(bytes.error());
  const Result<PlanResult> read = decode_plan_result(*bytes);
  if (!read) return hopeless(read.error());
  result = *read;
  return std::nullopt;
}

}  // namespace proffer::batch
