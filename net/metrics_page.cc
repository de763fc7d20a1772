#include "net/metrics_page.h"

#include <ctime>
#include <utility>

#include "net/process_figures.h"

namespace proffer {
namespace {

void write_process(const ProcessFigures& process, int64_t descriptors, MetricsText& page) {
  page.family(MetricType::kCounter, "process_cpu_seconds_total",
              "CPU time of this process, user and system.");
  page.sample_seconds(process.cpu);
  page.gauge("process_resident_memory_bytes", "Resident memory of this process.",
             process.resident_bytes);
  page.gauge("process_virtual_memory_bytes", "Address space of this process.",
             process.virtual_bytes);
  page.gauge("process_threads", "Threads of this process.", process.threads);
  page.gauge("process_open_fds", "Open file descriptors of this process.", descriptors);
  page.family(MetricType::kGauge, "process_max_fds",
              "Maximum open file descriptors of this process; absent: no limit.");
  if (process.descriptors_max) page.sample(*process.descriptors_max);
  page.gauge_seconds("process_start_time_seconds",
                     "Start time of this process, in seconds since the Unix epoch.",
                     process.started_at - Time());
}

// The loop's clock continues from the wall clock at the start of the process.
Duration clock_step(const Loop& loop) {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return Time::from_nanos(int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec) - loop.now();
}

}  // namespace

void respond_metrics(Loop& loop, MetricsText page, HttpResponder responder) {
  page.family(MetricType::kHistogram, "proffer_loop_turn_seconds",
              "Busy time of a turn of the main loop, during which no other request is served.");
  page.sample(loop.turns());
  page.gauge_seconds(
      "proffer_clock_step_seconds",
      "Change of the wall clock since this process started; its own clock is not affected.",
      clock_step(loop));
  write_process(read_process_figures(), open_descriptors(loop), page);
  responder.respond(200, content_type(page.format()), page.take());
}

}  // namespace proffer
