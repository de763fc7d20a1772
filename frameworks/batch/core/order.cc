#include "frameworks/batch/core/order.h"

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/bytes.h"
#include "proto/batch_status.h"

namespace proffer::batch {
namespace {

constexpr std::string_view kOrderTag = "PBj3";
constexpr std::string_view kPlainOrderTag = "PBj2";  // for a job whose shuffle is not packed
constexpr std::string_view kArrayOrderTag = "PBw2";
constexpr int64_t kCountMax = std::numeric_limits<int32_t>::max();

// The job of the order, without the parts that an order lacks.
JobSpec spec_of(const JobOrder& order) {
  JobSpec spec;
  spec.name = order.name;
  spec.role = order.role;
  spec.band = order.band;
  spec.priority = order.priority;
  spec.map = order.map;
  spec.reduce = order.reduce;
  spec.map_accepts = order.map_accepts;
  spec.reduce_accepts = order.reduce_accepts;
  if (!order.array) spec.inputs = {"/"};  // they are in the plan
  spec.output = order.output;
  spec.reducers = order.reducers;
  spec.shuffle = order.shuffle;
  spec.fetch = order.fetch;
  spec.env = order.env;
  spec.resources = order.resources;
  spec.attempts = order.attempts;
  spec.time_limit = order.time_limit;
  spec.array = order.array;
  return spec;
}

}  // namespace

JobOrder make_order(const JobSpec& spec, const std::vector<Split>& splits, std::string plan) {
  JobOrder order;
  order.name = spec.name;
  order.role = spec.role;
  order.band = spec.band;
  order.priority = spec.priority;
  order.map = spec.map;
  order.reduce = spec.reduce;
  order.map_accepts = spec.map_accepts;
  order.reduce_accepts = spec.reduce_accepts;
  order.output = spec.output;
  order.plan = std::move(plan);
  order.maps = static_cast<int64_t>(splits.size());
  order.reducers = spec.reducers;
  order.shuffle = spec.shuffle;
  for (const Split& split : splits) order.input_bytes += split.bytes();
  order.fetch = spec.fetch;
  order.env = spec.env;
  order.resources = spec.resources;
  order.attempts = spec.attempts;
  order.time_limit = spec.time_limit;
  order.fail_if_impossible = spec.fail_if_impossible;
  order.speculates = spec.speculates;
  if (spec.array) {
    order.array = spec.array;
    order.reducers = 0;
    if (spec.array->has_arguments) order.maps = argument_entries(spec.array->size());
  }
  return order;
}

Result<JobOrder> planned_order(JobOrder order, const PlanResult& plan) {
  CHECK(order.awaits_plan());
  if (order.array) {
    const auto elements = static_cast<uint32_t>(plan.elements);
    order.array->indices = {{.first = 1, .step = 1, .count = elements}};
    order.maps = argument_entries(elements);
  } else {
    order.maps = plan.maps;
    order.input_bytes = plan.input_bytes;
    order.locality = planned_locality(order.locality, plan.locality);
  }
  if (order.awaits_plan() || (order.array && plan.elements == 0)) {
    return Error::invalid_argument("the plan of the job has nothing to do");
  }
  if (Result<void> ok = check_order(order); !ok) return std::move(ok).error();
  return order;
}

Result<void> check_order(const JobOrder& order) {
  if (Result<void> ok = check_job(spec_of(order)); !ok) return ok;
  if (order.array) {
    const int64_t entries = order.array->has_arguments ? argument_entries(order.array->size()) : 0;
    if (order.maps != entries || order.reducers != 0 || order.input_bytes != 0) {
      return Error::invalid_argument(text("an array has neither map nor reduce tasks"));
    }
  } else if (order.maps < 0 || order.maps > static_cast<int64_t>(kMapsMax) ||
             (order.awaits_plan() && order.input_bytes != 0)) {
    return Error::invalid_argument(
        text("a job has from 1 to ", kMapsMax, " map tasks, or awaits its plan; not ", order.maps));
  }
  if (order.output.find_first_not_of('/') == std::string::npos) {
    return Error::invalid_argument("the output cannot be the root directory");
  }
  if (!is_valid_name(order.plan) || order.plan.size() > kPlanBytesMax) {
    return Error::invalid_argument(text("the name of a plan must be of A-Z a-z 0-9 . _ - and of ",
                                        "at most ", kPlanBytesMax, " bytes, not ",
                                        quoted(order.plan)));
  }
  if (order.array && !order.locality.maps.empty()) {
    return Error::invalid_argument("elements of an array cannot have hosts of their own");
  }
  if (Result<void> ok = check_locality(order.locality, order.maps); !ok) return ok;
  const size_t bytes = encode_order(order).size();
  if (bytes > kOrderBytesMax) {
    return Error::invalid_argument(text("the description of the job has ", bytes,
                                        " bytes; at most ", kOrderBytesMax, " are allowed"))
        .with_hint(
            "shorten its commands, environment, fetched files or the list of hosts for inputs");
  }
  return {};
}

std::string encode_order(const JobOrder& order) {
  ByteWriter out(order.array               ? kArrayOrderTag
                 : order.shuffle.is_packed ? kOrderTag
                                           : kPlainOrderTag);
  out.bytes(order.name);
  out.bytes(order.role.str());
  out.number(static_cast<uint64_t>(order.band));
  out.signed_number(order.priority + proto::kBatchPriorityMax);
  out.bytes(order.map);
  out.bytes(order.reduce);
  write_exit_codes(out, order.map_accepts);
  write_exit_codes(out, order.reduce_accepts);
  out.bytes(order.output);
  out.bytes(order.plan);
  out.signed_number(order.maps);
  out.signed_number(order.reducers);
  out.signed_number(order.input_bytes);
  out.number(order.fetch.size());
  for (const proto::FetchedFile& file : order.fetch) {
    out.bytes(file.uri);
    out.bytes(file.sha256);
    out.bytes(file.name);
    out.number((file.is_executable ? 1 : 0) | (file.is_extracted ? 2 : 0) |
               (file.is_cached ? 4 : 0));
  }
  out.pairs(order.env);
  for (const ResourceKind kind : kResourceKinds) out.signed_number(order.resources[kind]);
  out.signed_number(order.attempts);
  const bool has_limit = order.time_limit != Duration();
  const bool has_hosts = !order.locality.empty();
  out.number((order.fail_if_impossible ? 1 : 0) | (order.speculates ? 0 : 2) | (has_limit ? 4 : 0) |
             (has_hosts ? 8 : 0));
  if (has_limit) out.signed_number(order.time_limit.nanos());
  if (has_hosts) write(out, order.locality);
  if (order.array) {
    write(out, *order.array);
  } else if (order.shuffle.is_packed) {
    write(out, order.shuffle);
  }
  return std::move(out).take();
}

Result<JobOrder> decode_order(std::string_view bytes) {
  const bool is_array = bytes.starts_with(kArrayOrderTag);
  const bool is_plain = bytes.starts_with(kPlainOrderTag);
  ByteReader in(bytes, is_array ? kArrayOrderTag : is_plain ? kPlainOrderTag : kOrderTag);
  JobOrder order;
  order.shuffle.is_packed = !is_plain;
  order.name = in.bytes(kNameBytesMax);
  order.role = RoleName(std::string(in.bytes(kRoleBytesMax)));
  order.band = static_cast<Band>(in.number(kBandCount - 1));
  order.priority =
      static_cast<int32_t>(in.amount(2 * proto::kBatchPriorityMax) - proto::kBatchPriorityMax);
  order.map = in.bytes(kStreamCommandBytesMax);
  order.reduce = in.bytes(kStreamCommandBytesMax);
  order.map_accepts = read_exit_codes(in, kAcceptedExitCodesMax);
  order.reduce_accepts = read_exit_codes(in, kAcceptedExitCodesMax);
  order.output = in.bytes(kPathBytesMax);
  order.plan = in.bytes(kPlanBytesMax);
  order.maps = in.amount(static_cast<int64_t>(kMapsMax));
  order.reducers = in.amount(kReducersMax);
  order.input_bytes = in.amount();
  const size_t files = in.count(kFetchedFilesMax);
  for (size_t i = 0; in.ok() && i < files; ++i) {
    proto::FetchedFile file;
    file.uri = in.bytes(kUriBytesMax);
    file.sha256 = in.bytes(kSha256TextBytes);
    file.name = in.bytes(kPathBytesMax);
    const uint64_t flags = in.number(7);
    file.is_executable = (flags & 1) != 0;
    file.is_extracted = (flags & 2) != 0;
    file.is_cached = (flags & 4) != 0;
    order.fetch.push_back(std::move(file));
  }
  order.env = in.pairs(kJobEnvironmentBytesMax, kJobEnvironmentBytesMax);
  for (const ResourceKind kind : kResourceKinds) order.resources[kind] = in.amount(kAmountMax);
  order.attempts = static_cast<int32_t>(in.amount(kCountMax));
  const uint64_t flags = in.number(15);
  order.fail_if_impossible = (flags & 1) != 0;
  order.speculates = (flags & 2) == 0;
  if ((flags & 4) != 0) {
    order.time_limit = nanoseconds(in.amount(kTimeLimitMax.nanos()));
    if (order.time_limit == Duration()) in.fail();  // there is only one encoding of no limit
  }
  if ((flags & 8) != 0) order.locality = read_locality(in);
  if (is_array) {
    order.array = read_array(in);
  } else if (!is_plain) {
    order.shuffle = read_shuffle(in);
  }
  if (!in.ended_well()) return corrupt("an order");
  if (Result<void> ok = check_order(order); !ok) return std::move(ok).error();
  return order;
}

}  // namespace proffer::batch
