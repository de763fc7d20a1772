// The event loop: the order of timers, deferred functions, hooks, descriptors, signals and workers.

#include "net/loop.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/net/support.h"

namespace proffer::loop_test {
namespace {

using net_test::run_until;

TEST(Loop, TimeDoesNotGoBack) {
  const Loop loop;
  Time last = loop.now();
  for (int i = 0; i < 10'000; ++i) {
    const Time now = loop.now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Loop, RunsTimersInTheOrderOfTheirTimes) {
  Loop loop;
  std::string order;
  Timer third(loop, [&] { order += 'c'; });
  Timer first(loop, [&] { order += 'a'; });
  Timer second(loop, [&] { order += 'b'; });
  const Time now = loop.now();
  third.arm(now + milliseconds(3));
  second.arm(now - milliseconds(5));
  first.arm(now - milliseconds(10));
  EXPECT_TRUE(run_until(loop, [&] { return order.size() == 3; }));
  EXPECT_EQ(order, "abc");
  EXPECT_FALSE(third.is_armed());
}

TEST(Loop, NeverCallsATimerBeforeItsTime) {
  Loop loop;
  const Time due = loop.now() + microseconds(2'300);
  Time called;
  Timer timer(loop, [&] { called = loop.now(); });
  timer.arm(due);
  ASSERT_TRUE(run_until(loop, [&] { return called != Time(); }));
  EXPECT_GE(called, due);
}

TEST(Loop, CallsATimerArmedForNowInTheVeryNextTurn) {
  Loop loop;
  int turns = 0;
  int turn_of_arming = -1;
  int turn_of_call = -1;
  Timer timer(loop, [&] { turn_of_call = turns; });
  TurnHook hook(loop, [&] {
    ++turns;
    if (turns == 1) {
      timer.arm(loop.now());
      turn_of_arming = turns;
    }
  });
  ASSERT_TRUE(run_until(loop, [&] { return turn_of_call >= 0; }));
  // counted at the turn's end: these are the next turn's timers
  EXPECT_EQ(turn_of_call, turn_of_arming);
}

TEST(Loop, DisarmedAndReplacedTimersStaySilent) {
  Loop loop;
  int calls = 0;
  bool done = false;
  Timer disarmed(loop, [&] { calls += 100; });
  Timer replaced(loop, [&] { ++calls; });
  Timer end(loop, [&] { done = true; });
  const Time now = loop.now();
  disarmed.arm(now);
  disarmed.arm(std::nullopt);
  replaced.arm(now);
  replaced.arm(now + milliseconds(1));
  {
    Timer destroyed(loop, [&] { calls += 1000; });
    destroyed.arm(now);
  }
  end.arm(now + milliseconds(20));
  ASSERT_TRUE(run_until(loop, [&] { return done; }));
  EXPECT_EQ(calls, 1);
}

TEST(Loop, ATimerMayDisarmAnotherThatIsDueToo) {
  Loop loop;
  int calls = 0;
  std::unique_ptr<Timer> second;
  Timer first(loop, [&] {
    ++calls;
    second.reset();
  });
  second = std::make_unique<Timer>(loop, [&] { calls += 100; });
  bool done = false;
  Timer end(loop, [&] { done = true; });
  const Time now = loop.now();
  first.arm(now);
  second->arm(now);
  end.arm(now + milliseconds(5));
  ASSERT_TRUE(run_until(loop, [&] { return done; }));
  EXPECT_EQ(calls, 1);
}

TEST(Loop, ATimerMayDestroyItself) {
  Loop loop;
  int calls = 0;
  std::unique_ptr<Timer> timer;
  timer = std::make_unique<Timer>(loop, [&] {
    timer.reset();
    ++calls;
  });
  timer->arm(loop.now());
  ASSERT_TRUE(run_until(loop, [&] { return calls == 1; }));
  EXPECT_EQ(timer, nullptr);
}

TEST(Loop, ATimerThatAlwaysRearmsDoesNotStarveDescriptors) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  Timer busy(loop, [&] { busy.arm(loop.now()); });
  busy.arm(loop.now());
  int received = 0;
  FdWatcher watcher(loop, reading.get(), {.readable = true}, [&](FdWatcher::Events) {
    char byte = 0;
    ASSERT_EQ(read(reading.get(), &byte, 1), 1);
    if (++received < 100) {
      ASSERT_EQ(write(writing.get(), "x", 1), 1);
    }
  });
  ASSERT_EQ(write(writing.get(), "x", 1), 1);
  EXPECT_TRUE(run_until(loop, [&] { return received == 100; }));
}

TEST(Loop, DeferredFunctionsRunAfterTimersAndBeforeHooks) {
  Loop loop;
  std::string order;
  Timer timer(loop, [&] { order += 't'; });
  TurnHook hook(loop, [&] {
    if (order.size() == 2) order += 'h';
  });
  loop.defer([&] { order += 'd'; });
  timer.arm(loop.now());
  ASSERT_TRUE(run_until(loop, [&] { return order.size() == 3; }));
  EXPECT_EQ(order, "tdh");
}

TEST(Loop, DeferringForEverBlocksNothing) {
  Loop loop;
  int rounds = 0;
  std::function<void()> again = [&] {
    ++rounds;
    loop.defer(again);
  };
  loop.defer(again);
  bool timer_ran = false;
  Timer timer(loop, [&] { timer_ran = true; });
  timer.arm(loop.now() + milliseconds(2));
  EXPECT_TRUE(run_until(loop, [&] { return timer_ran && rounds > 10; }));
}

TEST(Loop, TakesFunctionsFromOtherThreads) {
  Loop loop;
  const auto home = pthread_self();
  int calls = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      loop.post([&] {
        if (pthread_self() == home) ++calls;
      });
    }
  });
  EXPECT_TRUE(run_until(loop, [&] { return calls == 1000; }));
  other.join();
}

TEST(Loop, WorksInAnotherThreadAndComesBack) {
  Loop loop;
  const auto home = pthread_self();
  pthread_t worker = home;
  pthread_t finisher = 0;
  bool done = false;
  loop.work([&] { worker = pthread_self(); },
            [&] {
              finisher = pthread_self();
              done = true;
            });
  ASSERT_TRUE(run_until(loop, [&] { return done; }));
  EXPECT_NE(worker, home);
  EXPECT_EQ(finisher, home);
}

TEST(Loop, WaitsForWorkUnderWayWhenItEnds) {
  std::atomic<bool> worked = false;
  bool told = false;
  {
    Loop loop;
    loop.work([&] { worked = true; }, [&] { told = true; });
  }
  EXPECT_TRUE(worked);
  EXPECT_FALSE(told);
}

TEST(Loop, DeliversSignals) {
  Loop loop;
  int hangups = 0;
  loop.on_signal(SIGHUP, [&] { ++hangups; });
  loop.defer([] { raise(SIGHUP); });
  EXPECT_TRUE(run_until(loop, [&] { return hangups == 1; }));
}

TEST(Loop, AWatcherMayDestroyItselfWhileCalled) {
  Loop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd reading(ends[0]);
  const Fd writing(ends[1]);
  std::unique_ptr<FdWatcher> watcher;
  int calls = 0;
  watcher = std::make_unique<FdWatcher>(loop, reading.get(), FdWatcher::Events{.readable = true},
                                        [&](FdWatcher::Events events) {
                                          EXPECT_TRUE(events.readable);
                                          watcher.reset();
                                          ++calls;
                                        });
  ASSERT_EQ(write(writing.get(), "x", 1), 1);
  EXPECT_TRUE(run_until(loop, [&] { return calls == 1; }));
  net_test::run_for(loop, milliseconds(5));
  EXPECT_EQ(calls, 1);
}

struct Sleeper : Pump {
  int asked = 0;
  int pending = 0;
  void pump() override {
    ++asked;
    if (pending > 0) --pending;
  }
  bool is_pending() override { return pending > 0; }
  bool may_sleep() const override { return true; }
};

TEST(Loop, AsksAPumpThatSleepsOnlyOnceItIsWoken) {
  Loop loop;
  Sleeper sleeper;
  loop.add(&sleeper);
  int turns = 0;
  Timer timer(loop, [&] {
    ++turns;
    timer.arm(loop.now());
  });
  timer.arm(loop.now());
  const auto run_turns = [&](int count) {
    const int until = turns + count;
    ASSERT_TRUE(run_until(loop, [&] { return turns >= until; }));
  };
  run_turns(10);
  EXPECT_LE(sleeper.asked, 1);  // a new hook is awake

  sleeper.asked = 0;
  sleeper.pending = 5;
  run_turns(10);
  EXPECT_EQ(sleeper.asked, 0);
  loop.wake(&sleeper);
  loop.wake(&sleeper);
  run_turns(10);
  EXPECT_EQ(sleeper.asked, 5);

  sleeper.pending = 5;
  loop.wake(&sleeper);
  loop.remove(&sleeper);
  loop.wake(&sleeper);
  run_turns(10);
  EXPECT_EQ(sleeper.asked, 5);
}

TEST(Loop, StopsFromWithinAndRunsAgain) {
  Loop loop;
  int stops = 0;
  Timer timer(loop, [&] {
    ++stops;
    loop.stop();
  });
  timer.arm(loop.now());
  loop.run();
  timer.arm(loop.now() + milliseconds(1));
  loop.run();
  EXPECT_EQ(stops, 2);
}

}  // namespace
}  // namespace proffer::loop_test
