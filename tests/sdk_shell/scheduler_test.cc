// A scheduler inside another program: calls from its threads, its descriptors, its log, and
// forbidden actions in callbacks. No master is needed: none answers here.

#include "sdk/scheduler.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include "common/text.h"
#include "sdk/shell/posted_calls.h"
#include "sdk/shell/watchdog.h"

namespace proffer::sdk::scheduler_test {
namespace {

using testing::HasSubstr;

// No process listens on this port.
SchedulerOptions alone() { return {.name = "hello", .master = "127.0.0.1:1"}; }

// Both ends of a pipe, closed at the end.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  std::array<int, 2> ends = {};
};

// --- post ----------------------------------------------------------------------------------------

TEST(Post, CallsInOrderOnTheThreadOfTheLoop) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  Scheduler scheduler(alone());
  const pthread_t loop = pthread_self();
  std::vector<int> heard;
  EXPECT_TRUE(scheduler.post([&] { heard.push_back(-1); }));  // also before run()
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(scheduler.post([&, thread, i] {
          EXPECT_TRUE(pthread_equal(pthread_self(), loop));
          heard.push_back(thread * kEach + i);
          if (heard.size() == 1 + kThreads * kEach) scheduler.detach(5);
        }));
      }
    });
  }
  EXPECT_EQ(scheduler.run(), 5);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard.front(), -1);
  std::array<int, kThreads> last;
  last.fill(-1);
  for (size_t i = 1; i < heard.size(); ++i) {
    EXPECT_EQ(heard[i] % kEach, ++last.at(static_cast<size_t>(heard[i] / kEach)));
  }
  EXPECT_FALSE(scheduler.post([] { FAIL() << "after run()"; }));
}

TEST(Post, TakesNoMoreThanMayWait) {
  Scheduler scheduler(alone());
  size_t called = 0;
  for (size_t i = 0; i < PostedCalls::kWaitingMax; ++i) {
    ASSERT_TRUE(scheduler.post([&] {
      if (++called == PostedCalls::kWaitingMax) scheduler.detach();
    })) << i;
  }
  EXPECT_FALSE(scheduler.post([] {}));
  scheduler.run();
  EXPECT_EQ(called, PostedCalls::kWaitingMax);
}

TEST(Post, WhatPostsAgainLetsOtherEventsHappen) {
  Scheduler scheduler(alone());
  std::function<void()> again = [&] { scheduler.post(again); };
  again();
  scheduler.after(milliseconds(1), [&] { scheduler.detach(); });
  EXPECT_EQ(scheduler.run(), 0);
}

// --- watch ---------------------------------------------------------------------------------------

TEST(Watch, CallsWhileADescriptorIsReadableUntilItIsDestroyed) {
  const Pipe pipe;
  Scheduler scheduler(alone());
  std::string heard;
  std::optional<Watch> held;
  Result<Watch> watch = scheduler.watch(pipe.ends[0], {.readable = true}, [&](WatchEvents found) {
    EXPECT_TRUE(found.readable);
    char c = 0;
    ASSERT_EQ(read(pipe.ends[0], &c, 1), 1);
    heard += c;
    if (heard.size() < 3) return;
    held.reset();  // one byte remains, and is not reported
    scheduler.after(milliseconds(1), [&] { scheduler.detach(); });
  });
  ASSERT_TRUE(watch) << watch.error();
  held = *std::move(watch);
  ASSERT_EQ(write(pipe.ends[1], "abcd", 4), 4);
  scheduler.run();
  EXPECT_EQ(heard, "abc");
}

TEST(Watch, TellsWhenADescriptorIsWritableAndMayOutliveTheScheduler) {
  const Pipe pipe;
  Watch held;
  {
    Scheduler scheduler(alone());
    Result<Watch> watch = scheduler.watch(pipe.ends[1], {.writable = true}, [&](WatchEvents found) {
      EXPECT_TRUE(found.writable);
      scheduler.detach();
    });
    ASSERT_TRUE(watch) << watch.error();
    held = *std::move(watch);
    scheduler.run();
  }
}

TEST(Watch, RefusesWhatCannotBeWatched) {
  const Pipe pipe;
  Scheduler scheduler(alone());
  const auto code_of = [&](int descriptor, WatchEvents wanted) {
    const Result<Watch> watch = scheduler.watch(descriptor, wanted, [](WatchEvents) {});
    EXPECT_FALSE(watch);
    EXPECT_THAT(watch.error().message(), HasSubstr(text("descriptor ", descriptor)));
    return watch.error().code();
  };
  EXPECT_EQ(code_of(pipe.ends[0], {}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(-1, {.readable = true}), ErrorCode::kInvalidArgument);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(code_of(file, {.readable = true}), ErrorCode::kUnsupported);
  close(file);
  {
    const Result<Watch> watch = scheduler.watch(pipe.ends[0], {.readable = true}, [](auto) {});
    ASSERT_TRUE(watch);
    EXPECT_EQ(code_of(pipe.ends[0], {.readable = true}), ErrorCode::kAlreadyExists);
  }
  EXPECT_TRUE(scheduler.watch(pipe.ends[0], {.readable = true}, [](auto) {}));
}

// --- forbidden calls -----------------------------------------------------------------------------

TEST(SchedulerDeathTest, AMemberOnAnotherThreadEndsTheProgramAndNamesPost) {
  EXPECT_EXIT(
      {
        Scheduler scheduler(alone());
        std::thread([&] { scheduler.withdraw(AskName("web")); }).join();
      },
      testing::KilledBySignal(SIGABRT),
      "error: Scheduler::withdraw\\(\\) was called on the wrong thread.*\n"
      "  hint: to call it from another thread: scheduler.post\\(");
  EXPECT_EXIT(
      {
        // Then the thread of run() is the scheduler's thread.
        Scheduler scheduler(alone());
        scheduler.after(Duration(), [&] {
          scheduler.figures();
          std::thread([&] { scheduler.now(); }).join();
          scheduler.detach();
        });
        std::thread([&] { scheduler.run(); }).join();
      },
      testing::KilledBySignal(SIGABRT),
      "error: Scheduler::now\\(\\) was called on the wrong thread");
}

// An author's function throws this; ours never throw.
template <class Exception>
void fail(Exception exception) {
  std::rethrow_exception(std::make_exception_ptr(std::move(exception)));
}

TEST(SchedulerDeathTest, AnExceptionOutOfACallbackEndsTheProgramAndNamesTheCallback) {
  const auto run = [](const std::function<void(Scheduler&)>& install) {
    Scheduler scheduler(alone());
    install(scheduler);
    scheduler.run();
  };
  const auto aborted = testing::KilledBySignal(SIGABRT);
  EXPECT_EXIT(run([](Scheduler& s) {
                s.on_update([](const proto::TaskStatus&) { fail(std::runtime_error("no luck")); });
                s.launch({.slices = {{.resources = {.amounts = ResourceVector::of(1, 1)}}}},
                         "true");
              }),
              aborted, "error: on_update threw: no luck\n  hint: a callback must not throw");
  EXPECT_EXIT(run([](Scheduler& s) { s.after(Duration(), [] { fail(7); }); }), aborted,
              "error: after threw: not a std::exception");
  EXPECT_EXIT(run([](Scheduler& s) { s.post([] { fail(std::runtime_error("x")); }); }), aborted,
              "error: post threw: x");
  EXPECT_EXIT(run([](Scheduler& s) { s.run_aside([] { fail(std::runtime_error("x")); }, [] {}); }),
              aborted, "error: the work of run_aside threw: x");
}

// Collects the watchdog's messages, and waits for them.
class Said {
 public:
  void add(std::string_view callback, Duration ran) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(callback, ran);
    changed_.notify_one();
  }
  std::vector<std::pair<std::string, Duration>> wait_for(size_t lines) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.size() >= lines; });
    return lines_;
  }
  void wait_for(std::string_view callback) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return std::any_of(lines_.begin(), lines_.end(),
                         [&](const auto& line) { return line.first == callback; });
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, Duration>> lines_;
};

TEST(Watchdog, TellsOfACallbackWhileItRunsAndAgainWhenItHasRunTwiceAsLong) {
  constexpr Duration kPatience = milliseconds(10);
  Said said;
  Watchdog dog(kPatience,
               [&](std::string_view callback, Duration ran) { said.add(callback, ran); });
  dog.callback_begins("on_offer");
  const auto first = said.wait_for(3);
  dog.callback_ends();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first[i].first, "on_offer");
    EXPECT_GE(first[i].second, kPatience * (int64_t{1} << i));
  }
  EXPECT_GE(first[1].second, first[0].second);
  // A later callback is reported again.
  dog.callback_begins("on_update");
  said.wait_for("on_update");
  dog.callback_ends();
}

// --- the log -------------------------------------------------------------------------------------

// Collects the calls of the log hook during its lifetime.
class Logged {
 public:
  explicit Logged(LogLevel least) {
    set_log(
        [this](LogLevel level, std::string_view what) {
          const std::lock_guard lock(mutex_);
          lines_.push_back(text(to_text(level), ": ", what));
        },
        least);
  }
  ~Logged() { set_log({}); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Runs until connection attempts have failed.
void look_for_a_master(const std::function<bool()>& enough) {
  Scheduler scheduler(alone());
  std::function<void()> look = [&] {
    if (enough()) return scheduler.detach();
    scheduler.after(milliseconds(1), look);
  };
  look();
  scheduler.run();
}

TEST(Log, GoesToTheAuthorsFunction) {
  Logged logged(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  look_for_a_master([&] { return !logged.lines().empty(); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(logged.lines().size(), 1u);
  EXPECT_THAT(logged.lines()[0],
              testing::StartsWith("warning: cannot reach the master at 127.0.0.1:1: "));
}

TEST(Log, LeavesOutWhatIsBelowItsLevelAndIsPrintedByDefault) {
  {
    Logged logged(LogLevel::kError);
    int looks = 0;
    look_for_a_master([&] { return ++looks == 100; });
    EXPECT_TRUE(logged.lines().empty());
  }
  testing::internal::CaptureStderr();
  std::string printed;
  look_for_a_master([&] {
    printed += testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
    return !printed.empty();
  });
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, testing::StartsWith("warning: cannot reach the master at 127.0.0.1:1: "));
}

}  // namespace
}  // namespace proffer::sdk::scheduler_test
