#include "bench/run_once.h"

#include "common/check.h"
#include "sdk/scheduler.h"

namespace proffer::bench {

using Clock = std::chrono::steady_clock;

int64_t micros_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

Latency run_once(const std::string& master) {
  Latency latency;
  const Clock::time_point begin = Clock::now();
  sdk::Scheduler scheduler(
      {.name = "latency", .master = master, .failover_timeout = kAttachedFailoverTimeout});
  scheduler.ask("run", "cpus:1;mem:128", 1);
  scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "true"); });
  scheduler.on_update([&](const proto::TaskStatus& status) {
    if (status.state == proto::TaskState::kRunning) latency.running = micros_since(begin);
    if (!proto::is_terminal(status.state)) return;
    CHECK(status.state == proto::TaskState::kFinished) << status.message;
    latency.finished = micros_since(begin);
    scheduler.stop();
  });
  CHECK_EQ(scheduler.run(), 0);
  return latency;
}

}  // namespace proffer::bench
