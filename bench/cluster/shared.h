#pragma once

// What the processes of cluster_bench have in common: one mapping that all forks share. Counters
// are atomic; times are nanoseconds of the monotonic clock, which is one for the machine.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/cluster/keys.h"

namespace proffer::bench {

inline constexpr size_t kAgentsMax = 10'000;
inline constexpr size_t kSimFrameworksMax = 1'000;
inline constexpr int64_t kTasksMax = 4'000'000;
// More samples than this are counted, not kept.
inline constexpr size_t kSamplesMax = size_t{1} << 20;
// Slots of one agent that were freed and not offered again yet: far more than an agent has.
inline constexpr size_t kFreedKept = 4'096;

int64_t monotonic_nanos();

struct Samples {
  std::atomic<uint64_t> count;
  std::array<int64_t, kSamplesMax> nanos;

  void add(int64_t value) {
    const uint64_t at = count.fetch_add(1, std::memory_order_relaxed);
    if (at < kSamplesMax) nanos[at] = value;
  }
  std::vector<int64_t> values() const;
};

// The slots of one agent in the order in which they became free. The n-th slot that is offered is
// taken for the n-th that was free, so no message needs to say which it is.
struct FreedSlots {
  std::atomic<uint64_t> freed;
  std::atomic<uint64_t> offered;  // with those that were free from the start
  std::array<std::atomic<int64_t>, kFreedKept> at;
};

// What one group of processes has sent to the master and used.
struct Side {
  std::atomic<uint64_t> frames;
  std::atomic<uint64_t> bytes;
};

struct Shared {
  std::atomic<int> agents_registered;
  std::atomic<int64_t> registrations;  // all, also those after another
  std::atomic<int> frameworks_subscribed;
  std::atomic<int> frameworks_done;
  std::atomic<bool> go;
  std::atomic<bool> stop;
  std::atomic<bool> frameworks_stop;
  std::atomic<int64_t> first_ask_at;
  std::atomic<int64_t> last_end_at;
  std::atomic<int64_t> launched;
  std::atomic<int64_t> running;  // updates that say so
  std::atomic<int64_t> finished;
  std::atomic<int64_t> not_finished;  // ended in another way
  std::atomic<int64_t> updates_unacknowledged;
  std::atomic<int64_t> disconnects;
  std::atomic<bool> probe_go;
  std::atomic<int64_t> probe_offered_at;
  std::atomic<int64_t> probe_running_at;
  std::atomic<int> echo_port;
  std::atomic<int> echo_connected;
  Side agents;
  Side frameworks;
  std::atomic<uint64_t> echoed;
  std::atomic<uint64_t> events_followed;  // by all standbys
  Samples ask_to_offer;
  Samples launch_to_running;
  Samples free_to_offer;
  Samples round_trip;
  std::array<FreedSlots, kAgentsMax> slots;
};

// Zeroed; for this process and all that it forks while it is there.
class SharedMapping {
 public:
  SharedMapping();
  ~SharedMapping();
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  Shared& operator*() const { return *shared_; }
  Shared* operator->() const { return shared_; }

 private:
  Shared* shared_;
};

// Of a paced phase and of the echo, before samples are taken: everybody starts at once.
inline constexpr int64_t kWarmNanos = 1'000'000'000;

// One phase of the run.
struct Phase {
  int agents = 0;
  int agent_processes = 1;
  int frameworks = 0;
  int framework_processes = 1;
  int64_t slots = 0;  // of each agent: how many tasks it holds
  int64_t tasks = 0;  // in all
  // How long a task runs; zero: it ends at once. The first ones on each agent take a random part of
  // it, so that ends are spread over time.
  int64_t task_nanos = 0;
  // Tasks asked for in a second by all frameworks; zero: all at once at the start.
  int64_t asks_per_second = 0;
  bool is_paced() const { return task_nanos > 0 || asks_per_second > 0; }
  uint16_t master_port = 0;
  int standbys = 0;                      // that follow the event log
  std::optional<ClusterKeys> keys = {};  // none: everybody connects plainly
};

// Bodies of forked processes: `index` of `agent_processes` or `framework_processes`. They begin
// when Shared::go is set. Agents end after Shared::stop is set, when all their updates are
// acknowledged; frameworks, which acknowledge them, when Shared::frameworks_stop is.
void run_agents(const Phase& phase, int index, Shared& shared);
void run_frameworks(const Phase& phase, int index, Shared& shared);
// A master that stands by and follows the event log until Shared::frameworks_stop is set.
void run_standby(const Phase& phase, int index, Shared& shared);
// One framework more, which asks for one task when Shared::probe_go is set.
void run_probe(const Phase& phase, Shared& shared);

// The floor: the same sockets and rates without a master's work. `peers` Dealers send frames of
// `frame_bytes` at `frames_per_second` in all to a Router that sends each back; round trips go to
// Shared::round_trip.
struct Echo {
  int peers = 0;
  int64_t frame_bytes = 0;
  int64_t frames_per_second = 0;
  uint16_t port = 0;
};
// Serves at Shared::echo_port.
void run_echo_server(Shared& shared);
void run_echo_clients(const Echo& echo, Shared& shared);

}  // namespace proffer::bench
