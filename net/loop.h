#pragma once

// The loop of a process: timers, messages, descriptors, signals, and work for other threads.
//
// A *turn* is: wait for I/O; handle it (descriptors, then messages of each socket, at most
// kMessagesPerTurn and until kTurnTimeMax has passed); run the timers that are due; run deferred
// functions; run the turn hooks. So a timer that is armed with `now` while messages are handled
// runs once, after all available messages, and no later than in the next turn: this is when a core
// decides (DESIGN §2).
//
// Everything except post() must be called in the thread of run(). Handlers may destroy the object
// that called them. Objects that use a Loop must be destroyed before it.

#include <functional>
#include <memory>
#include <optional>

#include "common/time.h"

namespace proffer {

class Loop;
class TimeHistogram;

// The maximum time for messages of one socket before timers run, since the answer to one message
// may take milliseconds.
inline constexpr Duration kTurnTimeMax = milliseconds(10);

// A source of messages that is called in every turn while it is awake (see PITFALLS: the descriptor
// of a ZeroMQ socket signals only once, and only that there may be something). Only sockets need to
// be pumps.
class Pump {
 public:
  virtual ~Pump() = default;
  // Handles a limited batch of available messages. Never blocks.
  virtual void pump() = 0;
  // Called at the end of a turn, after everything that may send: sends the messages of the turn.
  virtual void flush() {}
  // Called before the loop blocks: whether pump() could handle something.
  virtual bool is_pending() = 0;
  // Whether it sleeps once nothing is pending, so that thousands of idle sockets cost nothing. It
  // must then call Loop::wake for everything that makes something pending, and after each call into
  // ZeroMQ outside pump() and flush(), which may consume the descriptor's signal.
  virtual bool may_sleep() const { return false; }

 private:
  friend class Loop;
  bool is_awake_ = false;
};

class Loop {
 public:
  Loop();
  // Waits for running work (its on_done is not called) and for lingering sockets.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The wall clock at the creation of the loop plus the time passed since on the monotonic clock,
  // so it never decreases. Read at each call. Any thread.
  Time now() const;

  // Runs turns until stop(). May be called again afterwards.
  void run();
  // run() returns at the end of this turn, or of its first turn if it is not running.
  void stop();

  // Runs `fn` in the loop's thread in a later turn. Any thread, never blocks. The queue is
  // unbounded: callers are limited by other means (connections, running work).
  void post(std::function<void()> fn);
  // Runs `fn` at the end of this turn, or of the next one if the end is already being processed.
  void defer(std::function<void()> fn);
  // Runs `on_worker` in a thread of the worker pool (four threads, shared by all loops), then
  // `on_done` in the loop. For fsync, files, and pure functions on values that do not change
  // meanwhile.
  void work(std::function<void()> on_worker, std::function<void()> on_done);
  // Calls `fn` in the loop for each delivery of `signal`; replaces an earlier function. An empty
  // one restores the default of the signal. Bursts may be merged into one call.
  void on_signal(int signal, std::function<void()> fn);

  // For sockets. `pump` must be removed before it is destroyed.
  void add(Pump* pump);
  void remove(Pump* pump);
  // Calls `pump` in this turn, and until nothing is pending. O(1).
  void wake(Pump* pump);
  // The busy time of each turn: all of it except the wait for I/O. Loop thread.
  const TimeHistogram& turns() const;
  // Keeps one object until the end of the loop, for sockets that share it (net/zmq_socket.h).
  std::shared_ptr<void>& companion();

 private:
  friend class Timer;
  friend class TurnHook;
  friend class FdWatcher;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Calls `fn` once at the time it was armed for. Re-armable, also from within `fn`.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> fn);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Arms it for `due`; it runs at most about a millisecond late on an idle machine. A time that has
  // passed is due at the end of this turn, or of the next one if a timer, a deferred function or a
  // turn hook armed it. The next turn checks I/O without blocking, so re-arming for ever does not
  // starve I/O. None disarms. Replaces an earlier time. O(log timers).
  void arm(std::optional<Time> due);
  bool is_armed() const;

 private:
  friend class Loop;
  Loop& loop_;
  struct State;
  std::shared_ptr<State> state_;
};

// Calls `fn` at the end of every turn, after messages, timers and deferred functions and before the
// loop blocks: for group commit and for statistics. Hooks run in the order of their creation.
class TurnHook {
 public:
  TurnHook(Loop& loop, std::function<void()> fn);
  ~TurnHook();
  TurnHook(const TurnHook&) = delete;
  TurnHook& operator=(const TurnHook&) = delete;

 private:
  Loop& loop_;
  std::shared_ptr<std::function<void()>> fn_;
};

// Watches a descriptor (pipe, socket, pidfd; not a regular file) level-triggered until it is
// destroyed. It does not own the descriptor: destroy the watcher before closing it. One watcher per
// descriptor.
class FdWatcher {
 public:
  struct Events {
    bool readable = false;  // also if the other end has closed, or on an error
    bool writable = false;
  };
  FdWatcher(Loop& loop, int fd, Events wanted, std::function<void(Events)> fn);
  ~FdWatcher();
  FdWatcher(const FdWatcher&) = delete;
  FdWatcher& operator=(const FdWatcher&) = delete;

  void want(Events wanted);

 private:
  struct Impl;
  Impl* impl_;  // the loop frees it when libuv has released it
};

}  // namespace proffer
