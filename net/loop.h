#pragma once

// The one loop of a process: timers, messages, descriptors, signals, and work for other threads.
//
// A *turn* is: wait for I/O; handle it (descriptors, then messages of each socket, at most
// kMessagesPerTurn and until kTurnTimeMax has passed); run the timers that are due; run what was
// deferred; run the turn hooks. Whatever arms a timer with `now` while messages are handled is
// therefore called once, after all messages at hand, and never later than the next turn: this is
// the moment in which a core decides (DESIGN §2).
//
// Everything belongs to the thread that calls run(), except post(). Handlers may destroy the object
// that called them. Every object that was given a Loop must be destroyed before it.

#include <functional>
#include <memory>
#include <optional>

#include "common/time.h"

namespace proffer {

class Loop;
class TimeHistogram;

// Messages of one socket are handled so long at most before timers have their turn: the answer to
// one message may take milliseconds.
inline constexpr Duration kTurnTimeMax = milliseconds(10);

// A source of messages that is asked in every turn while it is awake (see PITFALLS: a ZeroMQ
// socket's descriptor only says "look", and only once). Sockets are pumps; nobody else needs to be.
class Pump {
 public:
  virtual ~Pump() = default;
  // Handles a bounded batch of what is there. Never blocks.
  virtual void pump() = 0;
  // The end of a turn, after everything that may send: what this turn said leaves now.
  virtual void flush() {}
  // The last look before the loop blocks: is anything left that pump() could handle?
  virtual bool is_pending() = 0;
  // Whether it sleeps once nothing is pending, so that thousands of idle sockets cost nothing. Then
  // it calls Loop::wake for all that makes something pending, also for all that asks ZeroMQ
  // anything outside pump() and flush(), which may take the word of the descriptor.
  virtual bool may_sleep() const { return false; }

 private:
  friend class Loop;
  bool is_awake_ = false;
};

class Loop {
 public:
  Loop();
  // Waits for work under way (its on_done is not called) and for lingering sockets.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // The wall clock when the loop was made plus what has passed since on the monotonic clock, so it
  // never goes back. Read anew at each call. Any thread.
  Time now() const;

  // Turns until stop(). May be called again afterwards.
  void run();
  // run() returns at the end of this turn, or of its first one if it is not running.
  void stop();

  // Runs `fn` in the loop's thread in a coming turn. Any thread, never blocks. The queue has no
  // bound of its own: callers are bounded by theirs (connections, work under way).
  void post(std::function<void()> fn);
  // Runs `fn` at the end of this turn (in the next one if that end is already being run).
  void defer(std::function<void()> fn);
  // Runs `on_worker` in a thread of the worker pool (four, shared by all loops), then `on_done` in
  // the loop. For fsync, files, and pure functions on values that nobody changes meanwhile.
  void work(std::function<void()> on_worker, std::function<void()> on_done);
  // Calls `fn` in the loop for each delivery of `signal`; replaces the function given before, and
  // an empty one gives the signal its default back. Bursts may be merged into one call.
  void on_signal(int signal, std::function<void()> fn);

  // For sockets. `pump` must be removed before it dies.
  void add(Pump* pump);
  void remove(Pump* pump);
  // Asks `pump` in this turn, and until nothing is pending. O(1).
  void wake(Pump* pump);
  // How long each turn was busy: all of it but the wait for I/O. Loop thread.
  const TimeHistogram& turns() const;
  // Keeps one thing until the loop has ended, for sockets that share it (net/zmq_socket.h).
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

  // At `due`, at most about a millisecond late on an idle machine; a time that has come is due at
  // the end of this turn, or of the next one if armed by a timer, a deferred function or a turn
  // hook. The next turn looks at I/O without blocking, so re-arming for ever starves nobody.
  // Nothing disarms. Replaces what was armed before. O(log timers).
  void arm(std::optional<Time> due);
  bool is_armed() const;

 private:
  friend class Loop;
  Loop& loop_;
  struct State;
  std::shared_ptr<State> state_;
};

// Calls `fn` at the end of every turn, after messages, timers and deferred functions and before the
// loop blocks: for group commit and for statistics. Hooks run in the order in which they were made.
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

// Watches a descriptor (pipe, socket, pidfd; not a regular file) level-triggered until destroyed.
// Does not own it: destroy the watcher before closing the descriptor. One watcher per descriptor.
class FdWatcher {
 public:
  struct Events {
    bool readable = false;  // also when the other end has closed, or on an error
    bool writable = false;
  };
  FdWatcher(Loop& loop, int fd, Events wanted, std::function<void(Events)> fn);
  ~FdWatcher();
  FdWatcher(const FdWatcher&) = delete;
  FdWatcher& operator=(const FdWatcher&) = delete;

  void want(Events wanted);

 private:
  struct Impl;
  Impl* impl_;  // freed by the loop once libuv has let go of it
};

}  // namespace proffer
