#include "proto/json/batch_json.h"

#include <cstdint>
#include <limits>

#include "common/hex.h"
#include "proto/json/json_text.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<BatchStage>& stage) {
  f.whole("total", stage.total);
  f.whole("done", stage.done);
  f.whole("running", stage.running);
  f.whole("failed", stage.failed);
  f.whole("recomputed", stage.recomputed);
  f.whole("copies", stage.copies);
  f.whole("near", stage.near);
  f.whole("far", stage.far);
  f.whole("records_in", stage.records_in);
  f.whole("bytes_in", stage.bytes_in);
  f.whole("records_out", stage.records_out);
  f.whole("bytes_out", stage.bytes_out);
  f.seconds("cpu_s", stage.cpu);
  f.seconds("left_s", stage.eta);
}

template <class F>
void fields(F& f, typename F::template Of<BatchElements>& array) {
  f.whole("total", array.total);
  f.whole("done", array.done);
  f.whole("failed", array.failed);
  f.whole("running", array.running);
  f.whole("tasks", array.tasks);
  f.whole("failed_attempts", array.failed_attempts);
  f.whole("waiting", array.waiting);
  f.whole("skipped", array.skipped);
  f.whole("bytes_out", array.bytes_out);
  f.seconds("left_s", array.eta);
}

template <class F>
void fields(F& f, typename F::template Of<BatchDependency>& one) {
  f.text("job", one.job);
  f.text("on", one.on);
  f.text("fate", one.fate);
}

template <class F>
void fields(F& f, typename F::template Of<BatchCounter>& counter) {
  f.text("group", counter.group);
  f.text("name", counter.name);
  f.whole("amount", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
          counter.amount);
}

template <class F>
void fields(F& f, typename F::template Of<BatchJob>& job) {
  f.text("job", job.job);
  f.text_if_any("owner", job.owner);
  f.text("role", job.role);
  f.whole("priority", -kBatchPriorityMax, kBatchPriorityMax, job.priority);
  f.word("phase", parse_batch_phase, job.phase);
  f.text("framework", job.framework);
  f.value("map", job.map);
  f.value("reduce", job.reduce);
  f.value("array", job.array);
  f.whole("input_bytes", job.input_bytes);
  f.whole("retries", job.retries);
  f.text_if_any("pipeline", job.pipeline);
  f.text_if_any("stage", job.stage);
  f.rows_if_any("after", job.after);
  f.seconds("submitted_at_s", job.submitted_at);
  f.seconds("started_at_s", job.started_at);
  f.seconds("ended_at_s", job.ended_at);
  f.seconds("retry_until_s", job.retry_until);
  f.texts_if_any("avoided_agents", job.avoided_agents);
  f.rows_if_any("counters", job.counters);
  f.text_if_any("task_status", job.task_status);
  f.text_if_any("output", job.output);
  f.text_if_any("note", job.note);
  f.text_if_any("error", job.error);
  f.text_if_any("hint", job.hint);
  f.text_if_any("failed_task", job.failed_task);
}

template <class F>
void fields(F& f, typename F::template Of<BatchPage>& page) {
  f.rows("jobs", page.jobs);
  f.text_if_any("next", page.next);
}

std::string batch_job_json(const BatchJob& job) { return print_value(job); }
Result<BatchJob> parse_batch_job(std::string_view json) { return parse_value<BatchJob>(json); }

std::string batch_page_json(const BatchPage& page) { return print_value(page); }
Result<BatchPage> parse_batch_page(std::string_view json) { return parse_value<BatchPage>(json); }

std::string batch_call_json(const BatchCall& call) {
  Json out = {{"verb", call.verb}};
  if (!call.job.empty()) out["job"] = call.job;
  if (!call.order.empty()) out["order"] = to_hex(call.order);
  if (call.ended) out["ended"] = true;
  if (!call.after.empty()) out["after"] = call.after;
  if (!call.pipeline.empty()) out["pipeline"] = call.pipeline;
  if (call.count != 1) out["count"] = call.count;
  if (!call.phase.empty()) out["phase"] = call.phase;
  if (call.wait > Duration()) out["wait_s"] = print_seconds(call.wait);
  return to_json_text(out);
}

Result<BatchCall> parse_batch_call(std::string_view json) {
  BatchCall call;
  std::string order;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.only({"verb", "job", "order", "ended", "after", "pipeline", "count", "phase", "wait_s"});
    in.require("verb");
    in.text("verb", call.verb);
    in.text("job", call.job);
    in.text("order", order);
    in.truth("ended", call.ended);
    in.text("after", call.after);
    in.text("pipeline", call.pipeline);
    in.whole("count", 0, 100, call.count);
    in.text("phase", call.phase);
    in.seconds("wait_s", call.wait);
  });
  if (!parsed) return std::move(parsed).error();
  std::optional<std::string> bytes = from_hex(order);
  if (!bytes) return Error::invalid_argument("order is not hexadecimal");
  call.order = *std::move(bytes);
  return call;
}

}  // namespace proffer::proto
