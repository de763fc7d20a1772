#pragma once

// The shared state of the processes of cluster_bench: one mapping that all forks share. Counters
// are atomic; times are nanoseconds of the monotonic clock, which is the same for all processes of
// a machine.

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
// Further samples are counted, but not kept.
inline constexpr size_t kSamplesMax = size_t{1} << 20;
// Slots of one agent that are free and not offered again yet: far more than an agent has.
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

// The slots of one agent in the order in which they became free. The n-th slot that is offered
// counts as the n-th that was free, so no message needs to identify it.
struct FreedSlots {
  std::atomic<uint64_t> freed;
  std::atomic<uint64_t> offered;  // including those that were free from the start
  std::array<std::atomic<int64_t>, kFreedKept> at;
};

// Messages and resources that one group of processes has sent to the master and used.
struct Side {
  std::atomic<uint64_t> frames;
  std::atomic<uint64_t> bytes;
};

struct Shared {
  std::atomic<int> agents_registered;
  std::atomic<int64_t> registrations;  // all, including repeated ones
  std::atomic<int> frameworks_subscribed;
  std::atomic<int> frameworks_done;
  std::atomic<bool> go;
  std::atomic<bool> stop;
  std::atomic<bool> frameworks_stop;
  std::atomic<int64_t> first_ask_at;
  std::atomic<int64_t> last_end_at;
  std::atomic<int64_t> launched;
  std::atomic<int64_t> running;  // updates with state running
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

// Zeroed. It is shared by this process and all its forks while it exists.
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

// The time of a paced phase or an echo before samples are taken, since all peers start at once.
inline constexpr int64_t kWarmNanos = 1'000'000'000;

// One phase of the run.
struct Phase {
  int agents = 0;
  int agent_processes = 1;
  int frameworks = 0;
  int framework_processes = 1;
  int64_t slots = 0;  // of each agent: tasks that it holds
  int64_t tasks = 0;  // in total
  // How long a task runs; zero: it ends at once. The first tasks on each agent take a random part
  // of it, so that ends are spread over time.
  int64_t task_nanos = 0;
  // Tasks that all frameworks ask for per second; zero: all at once at the start.
  int64_t asks_per_second = 0;
  bool is_paced() const { return task_nanos > 0 || asks_per_second > 0; }
  uint16_t master_port = 0;
  int standbys = 0;                      // that follow the event log
  std::optional<ClusterKeys> keys = {};  // none: all peers connect without encryption
};

// Bodies of forked processes: `index` of `agent_processes` or `framework_processes`. They begin
// when Shared::go is set. Agents end after Shared::stop is set, when all their updates are
// acknowledged; frameworks, which acknowledge them, end when Shared::frameworks_stop is set.
void run_agents(const Phase& phase, int index, Shared& shared);
void run_frameworks(const Phase& phase, int index, Shared& shared);
// A standby that follows the event log until Shared::frameworks_stop is set.
void run_standby(const Phase& phase, int index, Shared& shared);
// One more framework, which asks for one task when Shared::probe_go is set.
void run_probe(const Phase& phase, Shared& shared);

// The lower bound: the same sockets and rates without a master's work. `peers` Dealers send frames
// of `frame_bytes` at `frames_per_second` in total to a Router that returns each; round trips are
// stored in Shared::round_trip.
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
