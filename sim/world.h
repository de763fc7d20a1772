#pragma once

// Virtual time: a clock, a queue of what will happen, and the nodes that live in it. One process,
// one thread; everything that is left to chance comes from one seed, so a seed names a run for
// good.
//
// What happens at one instant is handled in the order in which it was planned; only when nothing of
// the instant is left are cores ticked that are due. So decisions have a moment of their own
// (DESIGN §2).

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
  // Chance of its own for each purpose, so that taking one fault away does not change the others.
  Prng chance(std::string_view purpose) const;

  // Needs at >= now().
  void at(Time at, std::function<void()> what);
  void after(Duration duration, std::function<void()> what) {
    at(now_ + duration, std::move(what));
  }

  // Runs until `until` (then now() == until), or until `done` holds between two instants, or
  // something is violated. True if `done` held.
  bool run_until(Time until, const std::function<bool()>& done);

  History& history() { return history_; }
  const History& history() const { return history_; }
  void note(const std::string& who, TraceEvent event) { history_.add(now_, who, std::move(event)); }

  // The run ends with the step that does this.
  void violated(const std::string& who, const Violation& violation);
  const std::vector<Violation>& violations() const { return violations_; }

  // A core's violations() are asked after every so many steps of it; 1: after each.
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
  // When something happens next.
  std::optional<Time> next();
  // The first deadline of all.
  std::optional<std::pair<Time, size_t>> first_due();
  void queue_deadline(size_t index, Time at);

  uint64_t seed_;
  History history_;
  Time now_;
  uint64_t numbers_ = 0;
  // What will happen: mostly frames that arrive after as long as those before, hence in order; the
  // rest is a heap.
  std::deque<Event> in_order_;
  std::vector<Event> queue_;
  std::vector<Node*> nodes_;
  // By node. Most steps move a deadline to later (a heartbeat after a message), which the queue is
  // not told: an entry that is too early is put right when it comes first.
  std::vector<std::optional<Time>> deadlines_;
  std::vector<std::optional<Time>> queued_;   // the node's entry; others of it are stale
  std::vector<std::pair<Time, size_t>> due_;  // a heap
  std::vector<Violation> violations_;
  uint64_t check_every_ = 1;
  uint64_t steps_ = 0;
};

// A process: a core and the shell around it. It ends and begins again as another life; what was
// planned for an earlier life does not happen. A node outlives its world's last run.
class Node {
 public:
  Node(World& world, std::string name);
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const std::string& name() const { return name_; }
  bool is_up() const { return up_; }
  // SIGSTOP: it does nothing until thaw(), and then everything that waited at once. Of a process
  // that is up; ends with its life.
  void freeze();
  // With `late`, what its deadlines ask for comes before what waited.
  void thaw(bool late);
  bool is_frozen() const { return frozen_; }
  // kill -9 in the middle of the step that comes after `steps` others.
  void arm_crash(uint64_t steps) { crash_in_ = steps + 1; }
  bool is_crash_armed() const { return crash_in_ > 0; }
  // Of the core; asked while up.
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
  // Once for each step of the core: whether it crashes in this one.
  bool crashes_now() { return crash_in_ > 0 && --crash_in_ == 0; }
  // After each step of the core: its deadline is armed, its invariants are looked at.
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
