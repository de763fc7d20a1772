// The story of a job: hear feeds the core, batch_script is what its tasks do on the machines.

#include "sim/batch_workload.h"

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/work.h"

namespace proffer::sim {
namespace {

// Of a map task's records each reducer gets some.
constexpr int64_t kRecordBytes = 100;

}  // namespace

BatchWorkload::BatchWorkload(BatchWorkloadOptions options) : options_(std::move(options)) {
  Prng chance(options_.seed);
  batch::JobOptions job;
  job.spec.name = options_.name;
  job.spec.role = options_.role;
  job.spec.map = "map";
  job.spec.reduce = "reduce";
  job.spec.inputs = {"/in"};
  job.spec.output = "/out";
  job.spec.reducers = options_.reducers;
  job.spec.resources = ResourceVector::of(chance.between(1, 4) * 250, 128'000);
  job.spec.attempts = 100;  // Executors crash here more often than anywhere.
  job.fetch_rounds = 1'000;
  for (size_t i = 0; i < options_.maps; ++i) {
    const int64_t bytes = chance.between(1, 1'000) * kRecordBytes;
    job.splits.push_back({{{.path = text("/in/", i), .offset = 0, .length = bytes}}});
    input_bytes_ += bytes;
  }
  job_ = std::make_unique<batch::Job>(std::move(job));
}

sdk::DriverOptions BatchWorkload::options() const {
  sdk::DriverOptions options;
  options.name = options_.name;
  options.role = options_.role;
  options.failover_timeout = options_.failover_timeout;
  return options;
}

void BatchWorkload::hear(const sdk::Notification& notification, Time now, Commands& out) {
  handle(batch::JobEvent(notification), now, out);
}

void BatchWorkload::tick(Time now, Commands& out) { handle(batch::Tick{}, now, out); }

std::optional<Time> BatchWorkload::next_deadline() const { return job_->next_deadline(); }

void BatchWorkload::handle(const batch::JobEvent& event, Time now, Commands& out) {
  if (finished_) return;
  batch::JobOutbox outbox;
  job_->handle(event, now, outbox);
  for (sdk::Command& command : outbox.commands) out.push_back(std::move(command));
  if (!outbox.finished) return;
  finished_ = true;
  if (!*outbox.finished) {
    // A framework that was torn down is refused, and that is the end of its job.
    const auto* heard = std::get_if<sdk::Notification>(&event);
    if (heard == nullptr || !std::holds_alternative<sdk::Refused>(*heard)) {
      found_.push_back({text("the job failed: ", outbox.finished->error().message())});
    }
    return;
  }
  const batch::JobStatus status = job_->status(now);
  if (status.map.bytes_in != input_bytes_) {
    found_.push_back({text("the maps read ", status.map.bytes_in, " bytes of ", input_bytes_)});
  }
  if (status.map.done != status.map.total || status.reduce.done != options_.reducers) {
    found_.push_back(
        {text("finished with ", status.map.done, " maps and ", status.reduce.done, " reduces")});
  }
  if (status.reduce.bytes_in != status.map.bytes_out) {
    found_.push_back({text("the reducers read ", status.reduce.bytes_in, " bytes, the maps wrote ",
                           status.map.bytes_out)});
  }
  out.push_back(proto::Teardown{});
}

std::vector<Violation> BatchWorkload::violations() const {
  std::vector<Violation> found = found_;
  for (Violation& violation : job_->violations()) found.push_back(std::move(violation));
  return found;
}

std::string BatchWorkload::progress() const {
  const batch::JobStatus status = job_->status(Time());
  return text(batch::to_text(status.phase), ", maps ", status.map.done, " of ", status.map.total,
              ", reduces ", status.reduce.done, " of ", status.reduce.total);
}

// A map task writes, for each reducer, as many bytes as its split has; so what reducers have read
// in the end must be what the maps wrote, neither more nor less.
TaskScript batch_script(const proto::RunTask& run, const AgentId& machine, const Shuffle& shuffle,
                        Prng& chance) {
  const Result<batch::Work> work = batch::decode_work(run.spec.data);
  CHECK(work.has_value()) << work.error().message();
  TaskScript script;
  script.task.runs = milliseconds(chance.between(100, 10'000));
  if (const auto* map = std::get_if<batch::MapWork>(&*work)) {
    const int64_t bytes = map->split.bytes();
    shuffle.write({run.framework, run.spec.id}, bytes);
    script.data = batch::encode_result({.records_in = bytes / kRecordBytes,
                                        .bytes_in = bytes,
                                        .records_out = bytes / kRecordBytes * map->reducers,
                                        .bytes_out = bytes * map->reducers,
                                        .http_address = text(machine.str(), ":5081")});
    return script;
  }
  const auto& reduce = std::get<batch::ReduceWork>(*work);
  batch::TaskResult result;
  batch::TaskFailure failure;
  for (uint32_t number = 0; number < reduce.maps.size(); ++number) {
    const batch::MapOutput& output = reduce.maps[number];
    const TaskKey map(run.framework, TaskId(batch::map_task_id(number, output.attempt)));
    const std::optional<int64_t> bytes = shuffle.read(reduce.addresses.at(output.agent), map);
    if (bytes) {
      result.bytes_in += *bytes;
    } else if (failure.fetch_failed.size() < batch::kFetchFailedMax) {
      failure.fetch_failed.push_back({number, output.attempt});
    }
  }
  if (failure.fetch_failed.empty()) {
    script.data = batch::encode_result(result);
  } else {
    script.task.exit_code = 1;
    script.data = batch::encode_failure(failure);
  }
  return script;
}

}  // namespace proffer::sim
