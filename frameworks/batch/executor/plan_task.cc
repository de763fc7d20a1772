// The first task of a job that is planned in the cluster: `make_plan`. Attempts may run at the same
// time: the plan of the first one counts, and all return its result.

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
#include "frameworks/batch/planning/lanes.h"
#include "frameworks/batch/planning/plan_files.h"

namespace proffer::batch {
namespace {

namespace fs = std::filesystem;

// A failure that no retry can help.
TaskTrouble hopeless(const Error& error) {
  return {.message = error.message(), .blame = Blame::kInput};
}

// `made` is a directory that only this attempt knows. `order` is empty unless the job is an array.
std::optional<TaskTrouble> write_plan(const PlanRequest& request, const HostsOfPaths& hosts,
                                      const std::string& order, const std::string& made) {
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
    const Result<std::vector<InputFile>> files =
        find_input(request.inputs, request.allow_empty, request.decompresses);
    if (!files) return trouble(files.error());
    Result<std::vector<Split>> cut =
        make_splits(*files, request.split_bytes, request.by_file, request.format);
    if (!cut) return hopeless(cut.error());
    splits = *std::move(cut);
    if (splits.empty()) splits.emplace_back();
    result.maps = static_cast<int64_t>(splits.size());
    for (const Split& split : splits) result.input_bytes += split.bytes();
    if (request.locality_wait) {
      Result<Locality> locality = locate(splits, hosts, {}, *request.locality_wait);
      if (!locality) return hopeless(locality.error());
      result.locality = *std::move(locality);
      if (const size_t bytes = encode_plan_result(result).size(); bytes > kPlanResultBytesMax) {
        return hopeless(Error::resource_exhausted(
            text("the list of the map tasks' hosts has ", bytes, " bytes; at most ",
                 kPlanResultBytesMax, " are allowed for a job that waits for others or for the ",
                 "clock. Name larger directories in the locality file, or use prefer_hosts")));
      }
    }
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
  const Result<bool> is_asked = is_there(request_path);
  if (!is_asked) return trouble(is_asked.error());
  const Result<bool> is_made = is_there(made);
  if (!is_made) return trouble(is_made.error());
  if (!*is_asked || *is_made) return std::nullopt;
  const Result<std::string> bytes = read_file(request_path, kPlanRequestBytesMax);
  if (!bytes) return trouble(bytes.error());
  const Result<PlanRequest> request = decode_plan_request(*bytes);
  if (!request) return hopeless(request.error());
  std::string order;
  const std::string order_path = directory + "/order";
  const Result<bool> has_order = is_there(order_path);
  if (!has_order) return trouble(has_order.error());
  if (*has_order) {
    Result<std::string> read = read_file(order_path, kOrderBytesMax);
    if (!read) return trouble(read.error());
    order = *std::move(read);
  }
  HostsOfPaths hosts;
  if (request->locality_wait) {
    const Result<std::string> lines = read_file(directory + "/hosts", kLocalityFileBytesMax);
    if (!lines) return trouble(lines.error());
    Result<HostsOfPaths> parsed = parse_hosts_of_paths(*lines);
    if (!parsed) return hopeless(Error(parsed.error()).in("the hosts in the job's plan"));
    hosts = *std::move(parsed);
  }
  const std::string own = text(made, "-", work.common.attempt);
  std::error_code ignored;
  fs::remove_all(own, ignored);  // of an attempt that an agent launched twice
  if (auto wrong = write_plan(*request, hosts, order, own)) return wrong;
  const Result<void> moved = move_directory(own, made);
  if (!moved && moved.error().code() != ErrorCode::kAlreadyExists) return trouble(moved.error());
  return std::nullopt;
}

// The order of an array is that of the firing, not of its schedule.
std::optional<TaskTrouble> change_order(const std::string& path, const PlanWork& work) {
  const Result<std::string> bytes = read_file(path, kOrderBytesMax);
  if (!bytes) return trouble(bytes.error());
  Result<JobOrder> order = decode_order(*bytes);
  if (!order) return hopeless(Error(order.error()).in("the order in the schedule's plan"));
  order->output = work.place;
  order->plan = work.common.plan;
  order->env = work.common.env;
  std::error_code error;
  fs::remove(path, error);
  if (error) {
    return trouble(Error::unavailable(text("removing ", quoted(path), ": ", error.message())));
  }
  if (Result<void> ok = write_whole(path, encode_order(*order)); !ok) return trouble(ok.error());
  return std::nullopt;
}

// Copies a schedule's plan. Large files get a further name (a hard link); they are copied only if
// the file system has no links.
Result<void> copy_plan(const fs::path& model, const fs::path& plan) {
  const auto failed = [&](const std::error_code& error) {
    return Error::unavailable(text("copying ", quoted(model.string()), " to ",
                                   quoted(plan.string()), ": ", error.message()));
  };
  const Result<std::vector<std::string>> names = names_in(model.string());
  if (!names) return names.error();
  std::error_code error;
  for (const std::string& name : *names) {
    const bool is_large = name == "files";
    const auto links = is_large ? fs::copy_options::create_hard_links : fs::copy_options::none;
    fs::copy(model / name, plan / name, fs::copy_options::recursive | links, error);
    if (!error) continue;
    if (!is_large) return failed(error);
    fs::remove_all(plan / name, error);
    if (!error) fs::create_directory(plan / name, error);
    if (error) return failed(error);
    const Result<std::vector<std::string>> files = names_in((model / name).string());
    if (!files) return files.error();
    for (const std::string& file : *files) {
      const fs::path from = model / name / file;
      const fs::path copy = plan / name / file;
      fs::copy_file(from, copy, error);
      const auto modified = error ? fs::file_time_type() : fs::last_write_time(from, error);
      if (!error) fs::last_write_time(copy, modified, error);
      if (error) return failed(error);
    }
  }
  return {};
}

// Puts a copy of a schedule's plan atomically where the job's directory waits.
std::optional<TaskTrouble> copy_model(const PlanWork& work) {
  const Result<bool> has_model = is_there(work.model);
  if (!has_model) return trouble(has_model.error());
  if (!*has_model) {
    return hopeless(Error::not_found(text("the schedule's directory ", quoted(work.model),
                                          " no longer exists; submit the schedule again")));
  }
  const std::string own = text(work.common.output, "-", work.common.attempt);
  const std::string plan = plan_directory(own, work.common.plan);
  std::error_code error;
  fs::remove_all(own, error);  // from an attempt with this number that an agent has launched twice
  fs::create_directories(plan, error);
  std::optional<TaskTrouble> wrong;
  if (error) {
    wrong = trouble(Error::unavailable(text("making ", quoted(plan), ": ", error.message())));
  } else if (const Result<void> copied = copy_plan(work.model, plan); !copied) {
    wrong = trouble(copied.error());
  } else if (const Result<bool> has_order = is_there(plan + "/order"); !has_order) {
    wrong = trouble(has_order.error());
  } else if (*has_order) {
    wrong = change_order(plan + "/order", work);
  }
  if (!wrong) {
    const Result<void> moved = move_directory(own, work.common.output);
    if (moved) return std::nullopt;
    if (moved.error().code() != ErrorCode::kAlreadyExists) wrong = trouble(moved.error());
  }
  fs::remove_all(own, error);
  return wrong;
}

}  // namespace

std::optional<TaskTrouble> make_plan(const PlanWork& work, PlanResult& result) {
  const std::string waiting = plan_directory(work.common.output, work.common.plan);
  const std::string placed = plan_directory(work.place, work.common.plan);
  Result<bool> is_waiting = is_there(waiting);
  Result<bool> is_placed = is_there(placed);
  if (!is_waiting) return trouble(is_waiting.error());
  if (!is_placed) return trouble(is_placed.error());
  if (!work.model.empty() && !*is_waiting && !*is_placed) {
    if (auto wrong = copy_model(work)) return wrong;
    is_waiting = is_there(waiting);
    is_placed = is_there(placed);
    if (!is_waiting) return trouble(is_waiting.error());
    if (!is_placed) return trouble(is_placed.error());
  }
  const bool waits = work.common.output != work.place && *is_waiting;
  if (waits) {
    if (auto wrong = plan_in(waiting, work)) return wrong;
    const Result<void> moved = move_directory(work.common.output, work.place);
    // Another attempt may have done it in between.
    is_waiting = is_there(waiting);
    is_placed = is_there(placed);
    const bool is_done = is_waiting && !*is_waiting && is_placed && *is_placed;
    if (!moved && !is_done) {
      return moved.error().code() == ErrorCode::kAlreadyExists ? hopeless(moved.error())
                                                               : trouble(moved.error());
    }
  } else if (!*is_placed) {
    return trouble(
        Error::not_found(text("no plan in ", quoted(work.common.output), " or ", quoted(work.place),
                              "; the output directory must be the same on all agents")));
  }
  const std::string told = made_plan(placed) + "/result";
  const Result<bool> is_told = is_there(told);
  if (!is_told) return trouble(is_told.error());
  if (!*is_told) return std::nullopt;  // its plan was known before
  const Result<std::string> bytes = read_file(told, kPlanResultBytesMax);
  if (!bytes) return trouble(bytes.error());
  const Result<PlanResult> read = decode_plan_result(*bytes);
  if (!read) return hopeless(read.error());
  result = *read;
  return std::nullopt;
}

}  // namespace proffer::batch
