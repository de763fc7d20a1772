#pragma once

// Virtual time: a clock, a queue of future events, and the nodes that live in it. One process, one
// thread. All random choices come from one seed, so a seed identifies a run permanently.
//
// Events at one instant are handled in the order in which they were planned. Cores that are due are
// ticked only when no event of the instant is left. So decisions have their own moment (DESIGN §2).

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/prng.h"
#include "common/result.h"
#include "common/time.h"
#include "sim/history.h"

namespace proffer::sim {

class Node;

class World {
 public:
  // Events are printed to `live` as they happen, with times since `zero`.
  explicit World(uint64_t seed, std::ostream* live = nullptr, Time zero = {})
      : seed_(seed), history_(live, zero) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Time now() const { return now_; }
  uint64_t seed() const { return seed_; }
  // A separate random source for each purpose, so that leaving out one fault does not change the
  // others.
  Prng chance(std::string_view purpose) const;

  // Requires at >= now().
  void at(Time at, std::function<void()> what);
  void after(Duration duration, std::function<void()> what) {
    at(now_ + duration, std::move(what));
  }

  // Runs until `until` (then now() == until), or until `done` holds between two instants, or until
  // a violation. True if `done` held.
  bool run_until(Time until, const std::function<bool()>& done);

  History& history() { return history_; }
  const History& history() const { return history_; }
  void note(const std::string& who, TraceEvent event) { history_.add(now_, who, std::move(event)); }

  // The run ends with the present step.
  void violated(const std::string& who, const Violation& violation);
  const std::vector<Violation>& violations() const { return violations_; }

  // A core's violations() are checked after every `steps` of its steps; 1: after each.
  void set_check_every(uint64_t steps) { check_every_ = steps; }
  uint64_t steps() const { return steps_; }

 private:
  friend class Node;
  struct Event {
    Time at = {};
    uint64_t number = 0;
    std::function<void()> what = {};
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return std::pair(b.at, b.number) < std::pair(a.at, a.number);
    }
  };

  size_t add(Node* node);
  void arm(Node& node);
  void stepped(Node& node);
  // The first event of both queues, or nullptr.
  const Event* first_event() const;
  Event take_first_event();
  void handle_instant();
  void tick_instant();
  void tick(const std::vector<size_t>& ready);
  // The time of the next event.
  std::optional<Time> next();
  // The first of all deadlines.
  std::optional<std::pair<Time, size_t>> first_due();
  void queue_deadline(size_t index, Time at);

  uint64_t seed_;
  History history_;
  Time now_;
  uint64_t numbers_ = 0;
  // Future events: mostly frames that arrive after equal delays, hence in order; the rest is a
  // heap.
  std::deque<Event> in_order_;
  std::vector<Event> queue_;
  std::vector<Node*> nodes_;
  // Deadlines by node. Most steps move a deadline to later (a heartbeat after a message) without a
  // change of the queue: an entry that is too early is corrected when it comes first.
  std::vector<std::optional<Time>> deadlines_;
  std::vector<std::optional<Time>> queued_;   // the node's entry; its other entries are stale
  std::vector<std::pair<Time, size_t>> due_;  // a heap
  std::vector<Violation> violations_;
  uint64_t check_every_ = 1;
  uint64_t steps_ = 0;
};

// A process: a core and its shell. It ends and begins again as another life; events planned for an
// earlier life do not happen. A node outlives its world's last run.
class Node {
 public:
  Node(World& world, std::string name);
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  bool is_up() const { return up_; }
  // SIGSTOP: it does nothing until thaw(), and then handles all waiting events at once. For a
  // process that is up; ends with its life.
  void freeze();
  // If `late`, the events of its deadlines come before those that waited.
  void thaw(bool late);
  bool is_frozen() const { return frozen_; }
  // kill -9 in the middle of the step after `steps` others.
  void arm_crash(uint64_t steps) { crash_in_ = steps + 1; }
  bool is_crash_armed() const { return crash_in_ > 0; }
  // The deadline of the core; called while up.
  virtual std::optional<Time> next_deadline() const = 0;
  virtual void tick() = 0;
  virtual std::vector<Violation> violations() const = 0;

 protected:
  World& world() { return world_; }
  const World& world() const { return world_; }
  Time now() const { return world_.now(); }
  void begin_life();
  void end_life();
  void later(Duration duration, std::function<void()> what);
  // Now, or when it is awake again.
  void when_awake(std::function<void()> what);
  // Call it once for each step of the core; true if the core crashes in this one.
  bool crashes_now() { return crash_in_ > 0 && --crash_in_ == 0; }
  // Call it after each step of the core: arms its deadline and checks its invariants.
  void stepped() { world_.stepped(*this); }
  void note(TraceEvent event) { world_.note(name_, std::move(event)); }
  void note(std::vector<TraceEvent>& trace);

 private:
  friend class World;
  World& world_;
  std::string name_;
  size_t index_;
  bool up_ = false;
  bool frozen_ = false;
  std::vector<std::function<void()>> waiting_;  // while frozen
  uint64_t crash_in_ = 0;                       // 0: not armed
  uint64_t life_ = 0;
  uint64_t steps_ = 0;
  Time ticked_at_ = Time::from_nanos(-1);
  int ticks_ = 0;  // at ticked_at_
};

// 32 hexadecimal digits.
Secret random_secret(Prng& prng);

}  // namespace proffer::sim
